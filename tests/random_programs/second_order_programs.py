"""Random programs for second derivatives by the engine `generated`: its source, run as plain Python.

The programs are those of `tests.random_programs.generated_programs`; two of five have decompositions and other
functions of matrices besides. The product of the Hessian with a vector, and the directional derivative, are compared
with those of the engine `matrix`; every fourth program also with differences of complex steps, which share no
derivative with contad. Of every fifth program the third derivatives are compared with those of duals over `matrix`.

    python -m tests.random_programs.second_order_programs --count 5000 --seed 1
"""

import sys

import numpy as np

import contad
from contad.engines.source.planning import store_plan
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents.tangent_writer import add_tangents
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.python_copy import python_twin
from contad.kernels import lanes
from tests.random_programs import generated_programs as first
from tests.random_programs.searching import parse_options


def product(function, args, v, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0):
    """(v . gradient, value) and the product of the Hessian with v, by the generated source, run as Python."""
    run = derivative(function, aux, store, fuse, calls, parts)
    (slope, value), found = run(*first.copied(args), *v)
    return slope, value, first.flat(found)


def several(function, args, directions, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0):
    """The same for several directions at once, in lanes: arrays with a row for each."""
    run = derivative(function, aux, store, fuse, calls, parts, len(directions))
    together = [np.stack([v[j] for v in directions], axis=-1) for j in range(len(directions[0]))]
    given = [lanes.as_lanes(x) if x.ndim > 1 else lanes.Lanes(x) for x in together]
    (slope, value), found = run(*first.copied(args), *given)
    rows = [first.flat([_lane_of(x, k) for x in found]) for k in range(len(directions))]
    return np.array([lanes.lane(slope, k) for k in range(len(directions))]), value, np.array(rows)


def _lane_of(x, k):
    """One lane of a number or an array."""
    return np.vectorize(lambda e: lanes.lane(e, k), otypes=[float])(x)


def cotangents(function, args, seeds, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0):
    """The gradient times each of several seeds, as cotangents at once."""
    run = derivative(function, aux, store, fuse, calls, parts, len(seeds), "vjp")
    found = run(tuple(first.copied(args)), lanes.Lanes(seeds))
    return np.array([first.flat([_lane_of(x, k) for x in found]) for k in range(len(seeds))])


def third(function, args, v, aux=False, store=store_plan.STORE, fuse=True, calls=False, parts=0):
    """The gradient of the second derivative along v."""
    run = derivative(function, aux, store, fuse, calls, parts, order=2)
    return first.flat(run(*first.copied(args), *v, *v)[1])


def derivative(function, aux, store, fuse, calls, parts, count=1, mode="hvp", order=1):
    """`run` of the generated source: (args, tangents) one after the other, or the vjp of (args, cotangent).

    With order 2 there are two tangents, for third derivatives.
    """
    with first.planned(store, calls, parts):

        def transform(program):
            program.returned = value = program.returned[0] if aux else program.returned
            for _ in range(order if mode == "hvp" else 0):
                add_tangents(program, first.ARGNUMS)
                program.returned = tangent = program.returned[0]
            program.returned = (tangent, value) if mode == "hvp" else value

        program = read(function, first.KINDS, transform=transform)
        options = (True, "value_and_grad") if mode == "hvp" else (False, mode)
        made = DerivativeWriter(program, first.ARGNUMS, *options, fuse=fuse, lanes=count)
        return first.run_text(made.source(), made.constants())["run"]


def eager(function, args, v, maker):
    """The same by the engine `matrix`."""
    twin = python_twin(function, dict(first.TWINS))

    def f(*given):
        return twin(*given)[0] if maker.aux else twin(*given)

    rest = args[len(first.ARGNUMS) :]
    slope = contad.jvp(lambda *x: f(*x, *rest), args[: len(first.ARGNUMS)], v)[1]
    return slope, first.flat(contad.hvp(f, first.ARGNUMS)(*args, v))


def eager_third(function, args, v, maker):
    """The gradient of the second derivative along v, by duals over the engine `matrix`."""
    twin = python_twin(function, dict(first.TWINS))
    rest = args[len(first.ARGNUMS) :]

    def product(*given):
        return contad.hvp(lambda *x: twin(*x)[0] if maker.aux else twin(*x), first.ARGNUMS)(*given, *rest, v)

    return first.flat(contad.jvp(product, tuple(args[: len(first.ARGNUMS)]), v)[1])


def directions(seed):
    rng = np.random.default_rng(seed + 10**6)
    v = [rng.standard_normal(np.shape(x)) for x in first.arguments(seed)[: len(first.ARGNUMS)]]
    return tuple(x if x.ndim else float(x) for x in v)


def stepped(text, seed, args, v):
    """The product by central differences of complex steps along v."""
    h = 1e-5
    found = []
    for sign in (h, -h):
        moved = [x + sign * d for x, d in zip(args, v, strict=False)] + args[len(v) :]
        found.append(first.complex_step(text, seed, moved))
    return (found[0] - found[1]) / (2.0 * h)


def outcome(maker, block, seed):
    """None if all agree, "raised alike", or what went wrong; raises Rejected where the program proves nothing."""
    text, independent = maker.source(block), seed % 4 == 0
    f = first.namespace(text, seed)["f"]
    args, v = first.arguments(seed), directions(seed)
    _, value, raised = first.meant(text, seed)
    store, fuse = first.VARIANTS[seed % len(first.VARIANTS)]
    parts = first.PARTS[seed % len(first.PARTS)]
    try:
        slope, got_value, got = product(f, args, v, maker.aux, store, fuse, seed % 2 == 1, parts)
    except Exception as error:
        return first.failure(error, raised)
    if raised is not None:
        return f"wrong: {type(raised).__name__} is not raised"
    if not first.close(got_value, value):
        return f"wrong value: {got_value} for {value}"
    wrong = compare_lanes(f, args, v, maker.aux, store, fuse, seed, parts, (slope, got))
    if wrong is not None:
        return wrong
    try:
        expected_slope, expected = eager(f, args, v, maker)
    except (UnsupportedError, LostDerivativeError):
        expected_slope, expected = slope, None
        if not first.is_stepped(text):
            raise first.Rejected("neither reference takes it") from None
        independent = True

    def unsteady():
        if expected is None:
            return True
        moved = eager(f, first.nudge(args, 0), v, maker)
        return not (first.close(moved[1], expected) and first.close(moved[0], expected_slope))

    if not np.all(np.isfinite(got)) and expected is not None and not np.all(np.isfinite(expected)):
        raise first.Rejected("not finite")
    if not first.close(slope, expected_slope):
        if unsteady():
            raise first.Rejected("ill-conditioned")
        return f"wrong slope (fuse {fuse}, store {store}): {slope} for {expected_slope}"
    if expected is not None and not first.close(got, expected):
        if unsteady():
            raise first.Rejected("ill-conditioned")
        return f"wrong product (fuse {fuse}, store {store}): {got} for {expected}"
    if seed % 5 == 2 and expected is not None:
        wrong = compare_third(f, args, v, maker, (store, fuse, seed % 2 == 1, parts))
        if wrong is not None:
            return wrong
    if independent and first.is_stepped(text):
        try:
            differences = stepped(text, seed, args, v)
        except (ArithmeticError, ValueError, IndexError, TypeError):  # what complex steps do not know
            return None
        if not first.close(got, differences, 1e-4):
            if expected is not None:  # differences across a kink
                raise first.Rejected("differences part")
            return f"differences tell another product: {got} for {differences}"
    return None


def compare_third(f, args, v, maker, plan):
    """What is wrong with the third derivatives along v, v."""
    try:
        got = third(f, args, v, maker.aux, *plan)
    except UnsupportedError as error:
        return None if "lines of source long" in str(error) else f"third refused: {error}"
    expected = eager_third(f, args, v, maker)
    if not np.all(np.isfinite(expected)) or first.close(got, expected, 1e-8):
        return None
    moved = [x * (1.0 + 1e-12) if np.asarray(x).dtype.kind == "f" else x for x in args]
    if not first.close(eager_third(f, moved, v, maker), expected, 1e-8):
        raise first.Rejected("ill-conditioned")
    return f"wrong third derivative: {got} for {expected}"


def compare_lanes(f, args, v, aux, store, fuse, seed, parts, expected):
    """What is wrong with several directions, or cotangents, at once; the given direction is among them."""
    count = (2, 4, 8)[seed % 3]
    rows = [tuple(np.multiply(x, 0.7 - k) for x in directions(seed + k)) for k in range(1, count)]
    rows.insert(seed % count, v)
    rows[-1 if seed % count != count - 1 else 0] = tuple(np.zeros(np.shape(x)) for x in v)
    plan = aux, store, fuse, seed % 2 == 1, parts
    try:
        slopes, _, products = several(f, args, rows, *plan)
        gradients = cotangents(f, args, np.arange(1.0, count + 1.0), *plan)
    except UnsupportedError as error:
        if "in one direction at a time" in str(error):
            return None
        return f"lanes refused: {error}"
    for k, row in enumerate(rows):
        slope, _, one = expected[0], 0.0, expected[1]
        if row is not v:
            slope, _, one = product(f, args, row, *plan)
        if not (first.close(slopes[k], slope, 1e-12) and _same(products[k], one)):
            return f"wrong lane {k} of {count} (fuse {fuse}, store {store}): {products[k]} for {one}"
        if not _same(gradients[k], (k + 1.0) * gradients[0]):
            return f"wrong cotangent {k} of {count}: {gradients[k]} for {(k + 1.0) * gradients[0]}"
    slope = sum(np.sum(a * b) for a, b in zip(v, _unflatten(gradients[0], v), strict=True))
    if np.isfinite(slope) and np.isfinite(expected[0]) and not first.close(slope, expected[0], 1e-9 * count):
        return f"wrong cotangents: {slope} for {expected[0]}"
    return None


def _same(x, y):
    """Whether numbers are the same up to rounding, infinities and nans included."""
    finite = np.isfinite(x) & np.isfinite(y)
    same = np.array_equal(np.where(finite, 0.0, x), np.where(finite, 0.0, y), equal_nan=True)
    return same and first.close(np.where(finite, x, 0.0), np.where(finite, y, 0.0), 1e-12)


def _unflatten(numbers, like):
    """A row of numbers as numbers and arrays of given shapes."""
    ends = np.cumsum([np.size(x) for x in like])
    return [part.reshape(np.shape(x)) for part, x in zip(np.split(numbers, ends[:-1]), like, strict=True)]


def check(seed, small=False):
    """The outcome of one program: None, "raised alike", what went wrong, or "rejected: why"."""
    return first.check(seed, small, outcome, 2 * first.SECONDS, objects=False, spectral=True)


if __name__ == "__main__":
    options = parse_options(__doc__, 1000, small="short programs")
    sys.exit(first.search(outcome, options, objects=False, spectral=True))
