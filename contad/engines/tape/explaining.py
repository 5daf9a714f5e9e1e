"""What the tape does with a request, in words."""

from contad.engines.tape.active_numbers import is_array, leaves
from contad.numba_functions.request import Request


def explain(request: Request) -> str:
    """What is differentiated, and what is stored."""
    lines = ["variables run through the function, compiled for them, and push records"]
    for k in request.argnums:
        kinds = [(leaf.text, is_array(leaf.type)) for leaf in leaves(f"argument {k}", request.types[k])]
        lines += [f"  {text}: {'array of variables' if array else 'variable'}" for text, array in kinds]
    if request.mode == "jvp":
        lines[0] = "duals run through the function, compiled for them"
        lines.append("  every number carries its tangent (16 bytes); nothing is recorded")
    else:
        lines.append(
            "  stores, per operation on variables, two partials and two cells (24 bytes) and an adjoint (8 bytes)"
        )
    return "\n".join(lines)
