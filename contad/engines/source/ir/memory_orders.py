"""Infers the memory layout that Numba's type of an array states."""

from contad.engines.source.ir.single_assignment import Choose, Product, Reshaped, Value, View

UNSEEN = ""


def order_of(array: Value) -> str:
    """"C" if Numba's type of an array says that it is C-contiguous; "other" if the type says otherwise."""
    o = array.operation
    if array.order or not array.is_array:
        return array.order
    if isinstance(o, Product):
        return "C"
    if isinstance(o, Reshaped):
        return order_of(o.inputs[0])
    if isinstance(o, Choose):
        orders = {order_of(x) for x in o.inputs[1:]}
        return orders.pop() if len(orders) == 1 else UNSEEN
    if isinstance(o, View):
        return _order_of_part(o)
    return UNSEEN


def _order_of_part(view: View) -> str:
    """The order of a transpose, of rows, and of the front of a vector; other slices are not analysed."""
    outer = order_of(view.inputs[0])
    if view.spec is None:
        return outer if view.result.kind.ndim == 1 else {"C": "other"}.get(outer, UNSEEN)
    places = list(view.spec)
    while places and isinstance(places[0], int):
        del places[0]
    is_row = all(part == (None, None, None) for part in places)
    is_front = len(view.spec) == 1 and isinstance(view.spec[0], tuple) and view.spec[0][2] is None
    return outer if view.spec and outer == "C" and (is_row or is_front) else UNSEEN
