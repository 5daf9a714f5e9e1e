"""Random programs of complex numbers and arrays, and the same programs in pairs of real numbers.

A program is a list of statements over variables: real and complex numbers, and arrays of three. `run` executes it with
one of two ways to compute: `AsComplex` is NumPy's, `AsPairs` knows real numbers only. Every result is scaled below 1,
so that all functions are smooth where they are used.
"""

import random
from typing import NamedTuple

import numpy as np

MASK = np.array([True, False, True])
MATRIX = np.array([[0.3 - 0.2j, 0.5, 0.1j], [0.4j, 0.2, -0.6 + 0.1j], [0.7, 0.3j, 0.2 - 0.4j]])
FOURIER = np.exp(-2j * np.pi * np.outer(range(3), range(3)) / 3.0)
CONSTANT = np.array([0.4 + 0.3j, -0.7j, 0.6])
NUMBER = 0.6 - 0.8j


class AsComplex:
    """NumPy's complex numbers."""

    def __init__(self):
        self.constant, self.number = CONSTANT, NUMBER

    @staticmethod
    def scaled(z):
        return z / (1.0 + abs(z))

    def add(self, a, b):
        return self.scaled(a + b)

    def subtract(self, a, b):
        return self.scaled(a - b)

    def multiply(self, a, b):
        return self.scaled(a * b)

    def divide(self, a, b):
        return self.scaled(a / (b + 2.0))

    def from_parts(self, a, b):
        return a + 1j * b

    def exp(self, a):
        return self.scaled(np.exp(a))

    def log(self, a):
        return self.scaled(np.log(a + 2.0))

    def sqrt(self, a):
        return self.scaled(np.sqrt(a + 2.0))

    def sin(self, a):
        return np.sin(a) * 0.5

    def tanh(self, a):
        return np.tanh(a) * 0.5

    def cube(self, a):
        return a**3

    def power(self, a):
        return self.scaled((a + 2.0) ** 1.7)

    def root(self, a):  # of numbers left of the cut's end, on both of its sides
        return self.scaled(np.sqrt(a - 2.0))

    def arctan(self, a):
        return np.arctan(a * 0.5)

    def negative(self, a):
        return -2.0 * a

    def flip(self, a):
        return 1.0 - a

    def conj(self, a):
        return np.conj(a)

    def real(self, a):
        return a.real

    def imag(self, a):
        return a.imag

    def abs(self, a):
        return np.abs(a + 2.0) * 0.3

    def angle(self, a):
        return np.angle(a + 2.0) * 0.5

    def zeros(self):
        return np.zeros(3, complex)

    def astype(self, a):
        return a.astype(complex)

    def collect(self, a, b):
        return np.array([a, b, NUMBER])

    def item(self, a, k):
        return a[k]

    def reverse(self, a):
        return a[::-1]

    def copy(self, a):
        return a.copy()

    def sum(self, a):
        return self.scaled(np.sum(a))

    def cumsum(self, a):
        return self.scaled(np.cumsum(a))

    def prod(self, a):
        return np.prod(a)

    def vdot(self, a, b):
        return self.scaled(np.vdot(a, b))

    def dot(self, a, b):
        return self.scaled(a @ b)

    def matmul(self, a):
        return self.scaled(MATRIX @ a)

    def fft(self, a):
        return self.scaled(np.fft.fft(a))

    def ifft(self, a):
        return np.fft.ifft(a, norm="ortho") * 0.5

    def rfft(self, x):
        return self.scaled(np.concatenate([np.fft.rfft(x), x[:1]]))

    def irfft(self, a):
        return self.scaled(np.fft.irfft(a, 3))

    def outer(self, a, b):
        return self.scaled(np.sum(np.outer(a, b), axis=0))

    def einsum(self, a, b):
        return self.scaled(np.einsum("i,i->i", a, np.conj(b)))

    def where(self, a, b):
        return np.where(MASK, a, b)

    def write_item(self, a, k, b):
        a[k] = b

    def write_masked(self, a, b):
        a[MASK] = b[MASK]

    def write_permuted(self, a, b):
        a[[2, 0, 1]] = b

    def turn_even(self, a, b):
        v = a[::2]
        v *= 0.5j
        v += b

    def swap_ends(self, a):
        a[0], a[2] = a[2], a[0]

    def add_at(self, a, b):
        np.add.at(a, [1, 1, 2], b)

    def out_of_product(self, a, b):
        np.multiply(a, b, out=a)

    def write_all(self, a, b):
        a[...] = b

    def write_part(self, a, b):
        a[1:] = b[:-1]

    def write_real(self, a, b):
        a.real = b

    def write_imag_item(self, a, k, b):
        a.imag[k] = b

    def scale_imag(self, a, b):
        a.imag *= b

    def write_in_view(self, x, k, b):
        x[k] = b

    def add_to_view(self, x, b):
        x[1:] += b[:-1]

    def add_in_place(self, a, b):
        a += b
        a *= 0.5

    def total(self, a):
        return np.sum(a.real) + 0.7 * np.sum(a.imag * a.imag) if np.iscomplexobj(a) else np.sum(a)


def _split(a):
    return a if isinstance(a, tuple) else (a, 0.0)


class AsPairs:
    """The same in real numbers: a complex variable is the tuple of its parts, which are numbers or arrays."""

    def __init__(self):
        self.constant, self.number = (CONSTANT.real, CONSTANT.imag), (NUMBER.real, NUMBER.imag)

    @staticmethod
    def scaled(a):
        if not isinstance(a, tuple):
            return a / (1.0 + abs(a))
        x, y = a
        r = 1.0 + np.hypot(x, y)
        return (x + 0.0 * y) / r, (y - 0.0 * x) / r

    @staticmethod
    def by_real(x, y, u):  # to NumPy u is u + 0j, which decides the signs of zeros
        return x * u - y * 0.0, x * 0.0 + y * u

    @staticmethod
    def shift(a):
        return (a[0] + 2.0, a[1]) if isinstance(a, tuple) else a + 2.0

    def add(self, a, b):
        if not isinstance(a, tuple) and not isinstance(b, tuple):
            return self.scaled(a + b)
        (x, y), (u, v) = _split(a), _split(b)
        return self.scaled((x + u, y + v))

    def negative(self, a):
        return self.by_real(*a, -2.0) if isinstance(a, tuple) else -2.0 * a

    def subtract(self, a, b):
        return self.add(a, tuple(-part for part in b) if isinstance(b, tuple) else -b)

    @staticmethod
    def times(a, b):
        if not isinstance(a, tuple) and not isinstance(b, tuple):
            return a * b
        (x, y), (u, v) = _split(a), _split(b)
        return x * u - y * v, x * v + y * u

    def multiply(self, a, b):
        return self.scaled(self.times(a, b))

    def divide(self, a, b):
        b = self.shift(b)
        if not isinstance(b, tuple):
            return self.scaled(tuple(part / b for part in a) if isinstance(a, tuple) else a / b)
        u, v = b
        r = u * u + v * v
        return self.scaled(self.times(a, (u / r, -v / r)))

    def from_parts(self, a, b):
        (x, y), (u, v) = _split(a), _split(b)
        return x - v + 0.0 * u, y + u + 0.0 * x

    def exp(self, a):
        if not isinstance(a, tuple):
            return self.scaled(np.exp(a))
        x, y = a
        return self.scaled((np.exp(x) * np.cos(y), np.exp(x) * np.sin(y)))

    def polar(self, a):
        x, y = self.shift(a)
        return np.sqrt(x * x + y * y), np.arctan2(y, x)

    def log(self, a):
        if not isinstance(a, tuple):
            return self.scaled(np.log(a + 2.0))
        r, t = self.polar(a)
        return self.scaled((np.log(r), t))

    def power_of(self, a, p):
        if not isinstance(a, tuple):
            return self.scaled((a + 2.0) ** p)
        r, t = self.polar(a)
        return self.scaled((r**p * np.cos(p * t), r**p * np.sin(p * t)))

    def sqrt(self, a):
        return self.power_of(a, 0.5)

    def power(self, a):
        return self.power_of(a, 1.7)

    def root(self, a):
        x, y = a[0] - 2.0, a[1]
        r, t = np.sqrt(x * x + y * y), np.arctan2(y, x)
        return self.scaled((np.sqrt(r) * np.cos(0.5 * t), np.sqrt(r) * np.sin(0.5 * t)))

    def arctan(self, a):
        if not isinstance(a, tuple):
            return np.arctan(a * 0.5)
        x, y = a[0] * 0.5, a[1] * 0.5
        r = x * x + y * y
        return 0.5 * np.arctan2(2.0 * x, 1.0 - r), 0.25 * np.log((1.0 + r + 2.0 * y) / (1.0 + r - 2.0 * y))

    def flip(self, a):
        return (1.0 - a[0], 0.0 - a[1]) if isinstance(a, tuple) else 1.0 - a

    def sin(self, a):
        if not isinstance(a, tuple):
            return np.sin(a) * 0.5
        x, y = a
        return self.by_real(np.sin(x) * np.cosh(y), np.cos(x) * np.sinh(y), 0.5)

    def tanh(self, a):
        if not isinstance(a, tuple):
            return np.tanh(a) * 0.5
        x, y = a
        d = np.cosh(2.0 * x) + np.cos(2.0 * y)
        return self.by_real(np.sinh(2.0 * x) / d, np.sin(2.0 * y) / d, 0.5)

    def cube(self, a):
        return self.times(self.times(a, a), a)

    def conj(self, a):
        return (a[0] * 1.0, -a[1]) if isinstance(a, tuple) else a * 1.0

    def real(self, a):
        return a[0]

    def imag(self, a):
        return a[1]

    def abs(self, a):
        return (self.polar(a)[0] if isinstance(a, tuple) else abs(a + 2.0)) * 0.3

    def angle(self, a):
        return (self.polar(a)[1] if isinstance(a, tuple) else 0.0 * a) * 0.5

    def zeros(self):
        return np.zeros(3), np.zeros(3)

    def astype(self, a):
        return (a[0] * 1.0, a[1] * 1.0) if isinstance(a, tuple) else (a * 1.0, a * 0.0)

    def collect(self, a, b):
        (x, y), (u, v) = _split(a), _split(b)
        return np.array([x, u, NUMBER.real]), np.array([y, v, NUMBER.imag])

    def each(self, f, *given):
        if not any(isinstance(a, tuple) for a in given):
            return f(*given)
        parts = [a if isinstance(a, tuple) else (a, 0.0 * a) for a in given]
        return tuple(f(*[part[k] for part in parts]) for k in (0, 1))

    def item(self, a, k):
        return self.each(lambda x: x[k], a)

    def reverse(self, a):
        return self.each(lambda x: x[::-1], a)

    def copy(self, a):
        return self.each(lambda x: x.copy(), a)

    def sum(self, a):
        return self.scaled(self.each(np.sum, a))

    def cumsum(self, a):
        return self.scaled(self.each(np.cumsum, a))

    def prod(self, a):
        return self.times(self.times(self.item(a, 0), self.item(a, 1)), self.item(a, 2))

    def dot(self, a, b):
        return self.scaled(self.each(np.sum, self.times(a, b)))

    def vdot(self, a, b):
        return self.dot(self.conj(a), b)

    @staticmethod
    def times_matrix(m, a):
        x, y = _split(a)
        if not isinstance(a, tuple):
            return m.real @ x, m.imag @ x
        return m.real @ x - m.imag @ y, m.real @ y + m.imag @ x

    def matmul(self, a):
        return self.scaled(self.times_matrix(MATRIX, a))

    def fft(self, a):
        return self.scaled(self.times_matrix(FOURIER, a))

    def ifft(self, a):
        return self.by_real(*self.times_matrix(np.conj(FOURIER) * 3.0**-0.5, a), 0.5)

    def rfft(self, a):
        x, y = self.times_matrix(FOURIER[:2], a)
        return self.scaled((np.concatenate([x, a[:1]]), np.concatenate([y, np.zeros(1)])))

    def irfft(self, a):
        x, y = _split(a)
        wave = np.arange(3) * 2.0 * np.pi / 3.0
        sine = np.sin(wave) * y[1] if isinstance(a, tuple) else 0.0
        return self.scaled((x[0] + 2.0 * (np.cos(wave) * x[1] - sine)) / 3.0)

    def outer(self, a, b):
        return self.scaled(self.times(self.each(np.sum, a), b))

    def einsum(self, a, b):
        z = self.times(a, self.conj(b))  # NumPy adds to 0.0, which makes 0.0 of -0.0
        return self.scaled(tuple(x + 0.0 for x in z) if isinstance(z, tuple) else z)

    def where(self, a, b):
        return self.each(lambda x, u: np.where(MASK, x, u), a, b)

    def write_item(self, a, k, b):
        for part, y in zip(_split(a), _split(b), strict=True):
            if isinstance(a, tuple) or part is a:
                part[k] = y

    def write_all(self, a, b):
        if not isinstance(a, tuple):
            a[...] = b
            return
        u, v = _split(b)
        a[0][...], a[1][...] = u * 1.0, v * 1.0

    def write_part(self, a, b):
        if not isinstance(a, tuple):
            a[1:] = b[:-1]
            return
        u, v = _split(b)
        a[0][1:], a[1][1:] = u[:-1], (v[:-1] if isinstance(b, tuple) else 0.0)

    def write_masked(self, a, b):
        u, v = _split(b)
        a[0][MASK], a[1][MASK] = u[MASK], (v[MASK] if isinstance(b, tuple) else 0.0)

    def write_permuted(self, a, b):
        u, v = _split(b)
        a[0][[2, 0, 1]], a[1][[2, 0, 1]] = u, v

    def turn_even(self, a, b):
        (x, y), (u, v) = a, _split(b)
        x[::2], y[::2] = -0.5 * y[::2] + u, 0.5 * x[::2] + v

    def swap_ends(self, a):
        for x in a:
            x[0], x[2] = x[2], x[0]

    def add_at(self, a, b):
        for x, u in zip(a, _split(b), strict=True):
            x[1] += u + u
            x[2] += u

    def out_of_product(self, a, b):
        a[0][...], a[1][...] = self.times(a, b)

    def write_real(self, a, b):
        a[0][...] = b

    def write_imag_item(self, a, k, b):
        a[1][k] = b

    def scale_imag(self, a, b):
        y = a[1]
        y *= b

    def write_in_view(self, x, k, b):
        x[k] = b

    def add_to_view(self, x, b):
        x[1:] += b[:-1]

    def add_in_place(self, a, b):
        if not isinstance(a, tuple):
            a += b
            a *= 0.5
            return
        (x, y), (u, v) = a, _split(b)
        x[...], y[...] = self.by_real(x + u, y + v, 0.5)

    def total(self, a):
        if not isinstance(a, tuple):
            return np.sum(a)
        return np.sum(a[0]) + 0.7 * np.sum(a[1] * a[1])


# ---- programs --------------------------------------------------------------------------------------------------------
class Kind(NamedTuple):
    """The kind of a variable."""

    is_complex: bool
    is_array: bool


class Statement(NamedTuple):
    """name = function(operands): operands are names of variables, or "constant", "number", or positions."""

    function: str
    operands: tuple
    makes: bool  # a new variable; otherwise it writes to the first operand

    def __str__(self):
        return f"{self.function}({', '.join(map(str, self.operands))})"


ARGUMENTS = (Kind(True, True), Kind(False, True), Kind(True, False), Kind(False, False))  # z, x, c, r
ANY = ("exp", "log", "sqrt", "sin", "tanh", "cube", "power", "conj", "abs", "arctan", "negative", "flip")
OF_COMPLEX = ("angle", "root", "root")
OF_TWO = ("add", "subtract", "multiply", "divide")
OF_ARRAYS = ("reverse", "copy", "sum", "cumsum", "prod", "matmul", "astype", "fft", "ifft", "irfft")


def _allowed(is_array, real):
    """The kinds of values that may be assigned to a part, or to both."""
    return [Kind(False, is_array)] + ([] if real else [Kind(True, is_array)])


def make_program(seed, most=12):
    """A list of statements over the four arguments and earlier results."""
    rng = random.Random(seed)
    kinds = list(ARGUMENTS)
    made = []

    def pick(test):
        found = [k for k, kind in enumerate(kinds) if test(kind)]
        return rng.choice(found) if found else None

    def some(test=lambda kind: True):
        return rng.choice(("constant", "number")) if rng.randrange(5) == 0 else pick(test)

    def kind_of(a):
        return {"constant": Kind(True, True), "number": Kind(True, False)}[a] if isinstance(a, str) else kinds[a]

    def add(function, operands, kind=None):
        made.append(Statement(function, operands, kind is not None))
        if kind is not None:
            kinds.append(kind)

    for _ in range(rng.randint(3, most)):
        choice = rng.randint(0, 9)
        if choice <= 1:
            a = pick(lambda kind: True)
            function = rng.choice(ANY + OF_COMPLEX if kinds[a].is_complex else ANY)
            add(function, (a,), Kind(kinds[a].is_complex and function not in ("abs", "angle"), kinds[a].is_array))
        elif choice <= 3:
            a, b = pick(lambda kind: True), some()
            operands = (a, b) if rng.random() < 0.5 else (b, a)
            first, second = kind_of(a), kind_of(b)
            kind = Kind(first.is_complex or second.is_complex, first.is_array or second.is_array)
            add(rng.choice(OF_TWO), operands, kind)
        elif choice == 4:
            a = pick(lambda kind: kind.is_array)
            function = rng.choice(OF_ARRAYS)
            is_complex = kinds[a].is_complex or function in ("matmul", "astype", "fft", "ifft")
            is_complex = is_complex and function != "irfft"
            add(function, (a,), Kind(is_complex, function not in ("sum", "prod")))
        elif choice == 5:
            a, b = pick(lambda kind: kind.is_array), some(lambda kind: kind.is_array)
            b = "constant" if b == "number" else b
            function = rng.choice(("vdot", "dot", "where", "outer", "einsum"))
            is_array = function in ("where", "outer", "einsum")
            add(function, (a, b), Kind(kinds[a].is_complex or kind_of(b).is_complex, is_array))
        elif choice == 6:
            a, b = pick(lambda kind: not kind.is_array), pick(lambda kind: not kind.is_array)
            function = rng.choice(("from_parts", "collect"))
            add(function, (a, b), Kind(True, function == "collect"))
        elif choice == 7:
            a = pick(lambda kind: kind.is_complex)
            function = rng.choice(("real", "imag"))
            add(function, (a,), Kind(False, kinds[a].is_array))
            if rng.random() < 0.5:
                add("zeros", (), Kind(True, True))
            if kinds[a].is_array and rng.random() < 0.5:  # writes to a view of a part
                view = len(kinds) - 1 - (made[-1].function == "zeros")
                if rng.random() < 0.5:
                    number = pick(lambda kind: kind == Kind(False, False))
                    add("write_in_view", (view, f"[{rng.randint(0, 2)}]", number))
                else:
                    add("add_to_view", (view, pick(lambda kind: kind == Kind(False, True))))
        elif choice == 8:
            a = pick(lambda kind: kind.is_array)
            add("item", (a, rng.randint(0, 2)), Kind(kinds[a].is_complex, False))
        else:
            a = pick(lambda kind: kind.is_array and kind.is_complex)
            function = rng.choice((
                "write_item", "write_all", "write_part", "write_real", "write_imag_item", "add_in_place",
                "write_masked", "write_permuted", "turn_even", "swap_ends", "add_at", "out_of_product", "scale_imag",
                "rfft",
            ))  # fmt: skip
            k = rng.randint(0, 2)
            if function == "swap_ends":
                add(function, (a,))
            elif function == "rfft":
                add(function, (pick(lambda kind: kind == Kind(False, True)),), Kind(True, True))
            elif function in ("turn_even", "scale_imag", "add_at"):
                add(function, (a, pick(lambda kind, real=function == "scale_imag": kind in _allowed(False, real))))
            elif function in ("write_item", "write_imag_item"):
                b = pick(lambda kind, real=function == "write_imag_item": kind in _allowed(False, real))
                add(function, (a, f"[{k}]", b))
            else:
                b = pick(lambda kind, real=function == "write_real": kind in _allowed(True, real))
                if b != a:
                    add(function, (a, b))
    return made


def run(program, way, *args):
    """One real number: the result of a program, with one of the two ways to compute."""
    values = list(args)
    for statement in program:
        given = []
        for a in statement.operands:
            if statement.function == "item" and len(given) == 1:
                given.append(a)
            elif isinstance(a, str):
                given.append({"constant": way.constant, "number": way.number}[a] if a[0] != "[" else int(a[1:-1]))
            else:
                given.append(values[a])
        if statement.function == "zeros":  # by name, so that these functions of NumPy make arrays of variables
            result = way.zeros()
        elif statement.function == "collect":
            result = way.collect(*given)
        else:
            result = getattr(way, statement.function)(*given)
        if statement.makes:
            values.append(result)
    total = 0.0
    for k, a in enumerate(values):
        total = total + (0.3 + 0.1 * k) * way.total(a)
    return total
