"""The tables of all subjects: a new one is a module with the name of the file that it tests."""

from tests.engines.source.programs.appended_arrays import APPENDED_ARRAYS
from tests.engines.source.programs.bounded_buffers import FILLED_DICTS, GROWING_LISTS
from tests.engines.source.programs.buffer_bounds import LONGER_ARRAYS
from tests.engines.source.programs.constructs import CONSTRUCTS
from tests.engines.source.programs.copies import COPIES, ROWS_OF_TABLES
from tests.engines.source.programs.fresh_arrays import FRESH_ARRAYS, ONES_THAT_GROW, SHORTER_ARRAYS
from tests.engines.source.programs.fuse import FUSED_LOOPS
from tests.engines.source.programs.generators import LOOPS_OVER_GENERATORS
from tests.engines.source.programs.handlers import HANDLERS
from tests.engines.source.programs.hoist import CLIPPED_SLICES, HOISTED_READS
from tests.engines.source.programs.index_arrays import INDEX_ARRAYS
from tests.engines.source.programs.ladders import LONG_LADDERS
from tests.engines.source.programs.loop_products import LOOP_PRODUCTS, NO_LOOP_PRODUCTS
from tests.engines.source.programs.made_containers import MADE_CONTAINERS
from tests.engines.source.programs.missing_data import MISSING_DATA
from tests.engines.source.programs.numpy_calls import KERNELS, NUMPY_CALLS
from tests.engines.source.programs.points import POINTS
from tests.engines.source.programs.running_choice import RUNNING_CHOICES
from tests.engines.source.programs.sample_calls import SAMPLE_CALLS
from tests.engines.source.programs.scalar_expansion import NO_SCALAR_EXPANSION, SCALAR_EXPANSION
from tests.engines.source.programs.shape_calls import SHAPE_CALLS
from tests.engines.source.programs.shared_callees import SHARED_CALLEES
from tests.engines.source.programs.sinking import SUNK_ADJOINTS
from tests.engines.source.programs.statements import BEYOND_64_BITS, COMPUTED_BY_NUMBA, STATEMENTS
from tests.engines.source.programs.store_plan import CARRIED_NUMBERS
from tests.engines.source.programs.structured_arrays import RECORD_ARRAYS
from tests.engines.source.programs.traps import TRAPS
from tests.engines.source.programs.typed_containers import TYPED_CONTAINERS
from tests.engines.source.programs.unchanged import FILLED_TRIANGLES, OTHER_FILLINGS

TABLES = [
    APPENDED_ARRAYS, FILLED_DICTS, GROWING_LISTS, LONGER_ARRAYS, LOOPS_OVER_GENERATORS, HANDLERS,
    MADE_CONTAINERS, RECORD_ARRAYS, STATEMENTS, COMPUTED_BY_NUMBA, FRESH_ARRAYS, SHORTER_ARRAYS, ONES_THAT_GROW,
    LONG_LADDERS, POINTS, SHAPE_CALLS, INDEX_ARRAYS, NUMPY_CALLS, KERNELS, *CONSTRUCTS, TRAPS, RUNNING_CHOICES,
    COPIES, ROWS_OF_TABLES, FUSED_LOOPS, SCALAR_EXPANSION, NO_SCALAR_EXPANSION,
    SHARED_CALLEES, FILLED_TRIANGLES, OTHER_FILLINGS, MISSING_DATA, SAMPLE_CALLS, *TYPED_CONTAINERS,
    HOISTED_READS, CLIPPED_SLICES, SUNK_ADJOINTS, LOOP_PRODUCTS, NO_LOOP_PRODUCTS,
    CARRIED_NUMBERS, BEYOND_64_BITS,
]  # fmt: skip
