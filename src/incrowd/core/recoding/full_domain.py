"""Full-domain recoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from incrowd.core.errors import ParameterError, those_are
from incrowd.core.lazy import NDArray, np
from incrowd.core.recoding.base import Recoding
from incrowd.core.recoding.cells import level_cells, with_suppressed

if TYPE_CHECKING:
    from incrowd.core.table.frequency import FrequencyTable


@dataclass(frozen=True, eq=False, repr=False)
class FullDomain(Recoding):
    """Full-domain recoding: all values of a column climb the same number of levels.

    Attributes
    ----------
    levels
        Steps climbed per quasi-identifier; 0 leaves the values as they are. A column without hierarchy
        has the levels 0 (value) and 1 (``*``).
    """

    levels: tuple[int, ...]
    kind: ClassVar[str] = "full-domain"

    @classmethod
    def build(
        cls,
        frequency: FrequencyTable,
        levels: Mapping[str, int] | Sequence[int],
        suppressed: NDArray[np.bool_] | None = None,
    ) -> FullDomain:
        """Recode every quasi-identifier to a level of a hierarchy.

        Parameters
        ----------
        levels
            Level per quasi-identifier, by name or in order; 0 .. height.
        suppressed
            bool[keys]: keys whose records are suppressed.

        Raises
        ------
        ParameterError
            When a level is missing, unknown or too high.
        """
        names = [domain.name for domain in frequency.domains]
        if isinstance(levels, Mapping):
            for name in levels:
                if name not in names:
                    raise ParameterError(f"levels: {name!r} is no quasi-identifier; {those_are(names, name)}")
            levels = [levels.get(name, 0) for name in names]
        if len(levels) != len(names):
            raise ParameterError(f"levels: {len(levels)} given for {len(names)} quasi-identifiers")
        if suppressed is None:
            suppressed = np.zeros(frequency.keys, np.bool_)
        of_key = list(frequency.codes)
        if suppressed.any():
            of_key = [np.where(suppressed, -1, codes.astype(np.int64)) for codes in frequency.codes]
        cells = tuple(
            with_suppressed(codes, level_cells(domain, level), domain.size)
            for domain, codes, level in zip(frequency.domains, of_key, levels, strict=True)
        )
        return cls(frequency.domains, frequency.codes, cells, suppressed, tuple(levels))

    def decisions(self) -> dict[str, Any]:
        """Return the level of each quasi-identifier."""
        names = (domain.name for domain in self.domains)
        return {"levels": dict(zip(names, self.levels, strict=True))}
