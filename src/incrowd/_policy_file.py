"""The shape of a policy file, checked by pydantic; imported only when one is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
)

from incrowd.errors import PolicyError
from incrowd.schema import Kind, Role, Style

__all__ = ["PolicyFile", "validate"]


class ColumnTable(BaseModel):
    """One ``[columns.NAME]``."""

    model_config = ConfigDict(extra="forbid")
    role: Role
    kind: Kind = "auto"
    hierarchy: StrictStr | dict[str, Any] | None = None
    output: Style | None = None
    weight: float = Field(1.0, ge=0, allow_inf_nan=False, strict=True)
    levels: list[StrictInt] | None = Field(None, min_length=1, max_length=2)


class PolicyFile(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid")
    version: StrictInt
    max_suppression: float = Field(0.0, ge=0, le=1, strict=True)
    output: Style = "auto"
    shuffle: StrictBool = False
    seed: StrictInt = Field(0, ge=0)
    null_values: list[StrictStr] = []
    others: Literal["drop", "keep"] | None = None
    columns: dict[str, ColumnTable] = Field(min_length=1)
    models: list[dict[str, Any]] = Field(min_length=1)
    algorithm: dict[str, Any] = {}

    @field_validator("version")
    @classmethod
    def _is_known(cls, version: int) -> int:
        if version != 1:
            raise ValueError("must be 1, the only version that is read")
        return version


def validate(document: Mapping[str, Any], source: str) -> PolicyFile:
    """Check a document.

    Raises
    ------
    PolicyError
        With the place and the problem of every wrong setting.
    """
    try:
        checked = PolicyFile.model_validate(dict(document))
    except ValidationError as error:
        problems = []
        for problem in error.errors(include_url=False, include_input=False):
            place = ".".join(str(part) for part in problem["loc"])
            problems.append(f"{place}: {problem['msg']}")
        raise PolicyError(f"{source}: " + "; ".join(problems)) from None
    for number, model in enumerate(checked.models):
        if not isinstance(model.get("model"), str):
            raise PolicyError(f'{source}: models.{number}: name the model, e.g. model = "k-anonymity"')
    return checked
