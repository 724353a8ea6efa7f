"""Names of the room, each with its file."""

from .base import (
    DRIVER_KEYS as DRIVER_KEYS,
)
from .base import (
    Counted as Counted,
)
from .base import (
    Engine as Engine,
)
from .base import (
    EngineSettings as EngineSettings,
)
from .base import (
    Released as Released,
)
from .files import FilesEngine as FilesEngine
from .fold import TooManyKeysError as TooManyKeysError
from .memory import MemoryEngine as MemoryEngine
from .open import (
    ENGINES as ENGINES,
)
from .open import (
    engine_for as engine_for,
)
from .open import (
    first_rows as first_rows,
)
from .open import (
    loaded as loaded,
)
from .open import (
    open_table as open_table,
)
from .open import (
    read_classes as read_classes,
)
from .open import (
    with_population as with_population,
)
from .scan import ScanEngine as ScanEngine
from .spark import SparkEngine as SparkEngine
from .sql.engine import SqlEngine as SqlEngine
from .sql.recoded import RecodedTable as RecodedTable
