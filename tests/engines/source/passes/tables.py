"""The tables of all passes: a new pass gets a module here with its own, and is tested by that."""

from tests.engines.source.passes.code_motion import HOIST
from tests.engines.source.passes.dead_stores import DEAD_STORES
from tests.engines.source.passes.hoist_allocations import HOIST_ALLOCATIONS
from tests.engines.source.passes.partial_dead_code import PARTIAL_DEAD_CODE
from tests.engines.source.passes.peel import PEEL
from tests.engines.source.passes.reassociation import REASSOCIATION
from tests.engines.source.passes.scalar_replacement import SCALAR_REPLACEMENT
from tests.engines.source.passes.stack_allocation import STACK_ALLOCATION
from tests.engines.source.passes.strip_mining import STRIP_MINING, STRIP_MINING_BY_DEFAULT
from tests.engines.source.passes.unrolling import UNROLLING

TABLES = [
    DEAD_STORES, PEEL, SCALAR_REPLACEMENT, HOIST_ALLOCATIONS, HOIST, PARTIAL_DEAD_CODE, STACK_ALLOCATION,
    STRIP_MINING, STRIP_MINING_BY_DEFAULT, REASSOCIATION, UNROLLING,
]  # fmt: skip
