"""Names of the room, each with its file."""

from .base import (
    DRIVER_KEYS as DRIVER_KEYS,
    Counted as Counted,
    Engine as Engine,
    EngineSettings as EngineSettings,
    Released as Released,
)
from .files import FilesEngine as FilesEngine
from .fold import TooManyKeysError as TooManyKeysError
from .memory import MemoryEngine as MemoryEngine
from .open import (
    ENGINES as ENGINES,
    engine_for as engine_for,
    first_rows as first_rows,
    loaded as loaded,
    open_table as open_table,
    read_classes as read_classes,
    with_population as with_population,
)
from .scan import ScanEngine as ScanEngine
from .spark import SparkEngine as SparkEngine
from .sql.engine import SqlEngine as SqlEngine
from .sql.recoded import RecodedTable as RecodedTable
