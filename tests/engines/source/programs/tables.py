"""The tables of all subjects: a new one is a module with the name of the file that it tests."""

from tests.engines.source.programs.appended_arrays import APPENDED_ARRAYS
from tests.engines.source.programs.bounded_buffers import FILLED_DICTS, GROWING_LISTS
from tests.engines.source.programs.buffer_bounds import LONGER_ARRAYS
from tests.engines.source.programs.generators import LOOPS_OVER_GENERATORS
from tests.engines.source.programs.handlers import HANDLERS, HANDLERS_ELSEWHERE
from tests.engines.source.programs.made_containers import MADE_CONTAINERS
from tests.engines.source.programs.record_arrays import RECORD_ARRAYS

TABLES = [
    APPENDED_ARRAYS, FILLED_DICTS, GROWING_LISTS, LONGER_ARRAYS, LOOPS_OVER_GENERATORS, HANDLERS, *HANDLERS_ELSEWHERE,
    MADE_CONTAINERS, RECORD_ARRAYS,
]  # fmt: skip
