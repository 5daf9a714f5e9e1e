"""The functions of contad that derivatives call, by module."""

from contad.engines.source.ir.known_matrix_functions import KERNELS
from contad.engines.source.ir.refusal import LIMIT

CALLEES = ("forward_of_", "reverse_of_", "value_of_", "share_")  # prefixes of functions that a derivative defines
RUNTIME: dict[str, tuple[str, ...]] = {
    "engines.source.writing.branchless": ("chain", "chain_slope", "larger", "select"),
    "engines.source.runtime.dependency_graph": ("note",),
    "engines.source.runtime.kept_parts": ("keep_part", "put_part_back", "root_of"),
    "engines.source.runtime.kept_values": tuple(
        f"{way}_{x}" for way in ("keep", "take") for x in ("number", "integer", "array", "integers")
    ),
    "engines.source.runtime.lent_arrays": ("lent_empty", "lent_zeros"),
    "engines.source.runtime.loop_strips": ("add_parts", "count_blocks", "make_parts", "part_of"),
    **{f"engines.source.runtime.{module}": tuple(names) for module, names in KERNELS.items()},
    "engines.source.runtime.workspace": ("grow", "integer", "kept_matrix", "put_integer", "workspace"),
    "engines.source.writing.small_products": ("small_zeros",),
    "errors": (LIMIT, "RuleError", "SingularPointError"),
    "elementary.elementary_table": ("elementary", "elementary_rows"),
    "elementary.rows": ("are_apart", "new_row", "place"),
    "kernels.gram_matrices": ("add_gram", "gram"),
    "kernels.lane_products": ("add_lanes_left", "add_lanes_right", "lanes_product"),
    "kernels.lanes": (
        "add_lanes", "copy_lanes", "lane_view", "lanes_at", "lanes_zeros", "put_lanes", "small_lanes_zeros",
    ),
    "compile.linked_code": ("link",),
    "compile.machine_code": ("njit",),
    "kernels.rows.product_rows": ("add_left", "add_right", "put_product"),
    "kernels.recalled_values": ("recall",),
    "compiled_rules.rules": ("value_function",),
    "kernels.single_lanes": ("add_to_lane", "at_lane", "put_in_lane"),
    "memory.threads": ("sharer",),
    "numba_functions.written_arrays": ("fill_with_zeros",),
    "rules.scalar_rule": ("rule",),
}  # fmt: skip
BUILTIN = ("abs", "bool", "float", "int", "len", "max", "min", "range")
# no user name may become one of these in a derivative
RESERVED = frozenset(("np", "math", "run", "work", "top", "prange", "memory", "marks", "args", "cotangent", *BUILTIN))
RESERVED |= {name for names in RUNTIME.values() for name in names}
