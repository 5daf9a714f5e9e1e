"""super() in the methods of copies continues in the order of the user's classes, as plain Python does."""

import abc
import math
import types
from typing import Generic, TypeVar

import numpy as np
import pytest

import contad
from tests.judges import ways

X = np.array([0.5, 1.2, 0.7])
T = TypeVar("T")


class Plain:
    def loss(self, x):
        return np.sum(x**2)

    def again(self, x):
        return 2.0 * self.loss(x)


class Child(Plain):
    def loss(self, x):
        return math.sin(x[0]) * super().loss(x)


class ByName(Plain):
    def loss(self, x):
        return math.sin(x[0]) * super(ByName, self).loss(x)  # noqa: UP008  (as it was written before Python 3)


class ByCell(Plain):
    def loss(self, x):
        own = __class__()
        return math.sin(x[0]) * super(__class__, own).loss(x) + super().loss(x)


class Doubled:
    def loss(self, x):
        return super().loss(x) * 2.0


class Logarithm:
    def loss(self, x):
        return math.log(x[0]) * x[1]


class Mixed(Doubled, Logarithm):
    pass


class Below(Doubled, Plain):
    def loss(self, x):
        return super().loss(x) + math.exp(x[0])


class Asking(Plain):
    def loss(self, x):
        found = [hasattr(super(), "only"), hasattr(super(), "again")]
        return getattr(super(), "only", math.cos)(x[0]) + found[1] * x[1] + 9.0 * found[0]

    def only(self, x):
        return 5.0 * x


class Setting:
    def __init__(self, x):
        super().__init__()
        self.v = x

    def __setattr__(self, name, value):
        super().__setattr__(name, 2.0 * value if name == "v" else value)

    def loss(self):
        return math.sin(self.v[0]) * self.v[1]


class Getting(Setting):
    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        return 3.0 * found if name == "v" else found


class Making:
    made = 0

    def __new__(cls, x):
        new = super().__new__(cls)
        Making.made += 1
        new.v = x * 2.0
        return new


class MakingMore(Making):
    def __new__(cls, x):
        before = Making.made
        new = super().__new__(cls, x * 1.5)
        new.v = new.v * math.exp(x[0]) * (Making.made - before)
        return new


class Counting:
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.k = getattr(cls, "k", 0) + 1

    def loss(self, x):
        return math.sin(x[0]) * self.k


class Counted(Counting):
    pass


def of_a_new_class(x):
    class New(Counted):
        pass

    return New().loss(x) * (isinstance(New(), Counted) and not isinstance(Counted(), New))


class OfBase:
    @classmethod
    def make(cls, x):
        new = cls()
        new.x = x
        return new

    @property
    def value(self):
        return math.exp(self.x[0]) * self.x[1]


class OfChild(OfBase):
    @classmethod
    def make(cls, x):
        return super().make(2.0 * x)

    @property
    def value(self):
        return super().value * self.x[2]


class Abstract(Child, abc.ABC):
    pass


class Typed(Generic[T]):
    def loss(self, x):
        return math.exp(x[0])


class Held(Typed[float]):
    def loss(self, x):
        return super().loss(x) * x[1]


class WithNumber:
    loss = 2.0


class Hidden(WithNumber, Logarithm):
    def value(self, x):
        return self.loss * math.exp(x[0]) + super().loss


class Slotted(Plain):
    __slots__ = ("w",)

    def __init__(self, w):
        super().__init__()
        self.w = w

    def loss(self, x):
        return super().loss(x) * math.exp(self.w[0])


def in_a_function(x):
    class A(Plain):
        def loss(self, x):
            return super(A, self).loss(x) + sum([f() for f in [lambda: super(A, self).loss(2.0 * x)]])  # noqa: UP008

        def again(self, x):
            return math.sin(super().again(x)) * isinstance(self, A)

    return A().again(x)


OBJECTS = types.SimpleNamespace(child=Child(), mixed=Mixed(), slotted=Slotted(X))
CHILD, MIXED, BELOW = Child(), Mixed(), Below()
LOSSES = {
    "a base of NumPy": lambda x: CHILD.loss(x), "bound": CHILD.loss, "a method of the base": lambda x: CHILD.again(x),
    "bound, of the base": CHILD.again, "by name": lambda x: ByName().again(x),
    "by __class__": lambda x: ByCell().loss(x),
    "a mixin": lambda x: MIXED.loss(x), "bound, of a mixin": MIXED.loss, "made": lambda x: Mixed().loss(x),
    "behind a mixin": lambda x: BELOW.loss(x), "asked": lambda x: Asking().again(x),
    "__setattr__": lambda x: Setting(x).loss(), "__getattribute__": lambda x: Getting(x).loss(),
    "__new__": lambda x: MakingMore(x).v.sum(), "__init_subclass__": lambda x: Counted().loss(x),
    "a class method": lambda x: OfChild.make(x).value, "a metaclass below": lambda x: Abstract().again(x),
    "generic": lambda x: Held().loss(x), "data before a method": lambda x: Hidden().value(x),
    "slots": lambda x: Slotted(x).loss(x), "in a namespace": lambda x: OBJECTS.child.loss(x) * OBJECTS.slotted.loss(x),
    "a class made inside": of_a_new_class, "a class in a function": in_a_function,
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_super_continues_where_python_does(name):
    f = LOSSES[name]
    value, slope = f(X), ways.differences(f, X)
    for engine in ("matrix", "records", "closures"):
        found, gradient = contad.value_and_grad(f, engine=engine)(X)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-8)
    assert contad.jvp(f, (X,), (X,)) == pytest.approx((value, slope @ X), rel=1e-7)


def test_second_derivatives_and_records_of_super():
    right = contad.hessian(lambda x: np.sin(x[0]) * np.sum(x**2))(X)
    np.testing.assert_allclose(contad.hessian(LOSSES["a base of NumPy"])(X), right, rtol=1e-12)
    recorded = contad.record(LOSSES["a mixin"], X)
    assert recorded(2.0 * X) == pytest.approx(MIXED.loss(2.0 * X), rel=1e-12)


def test_the_users_classes_are_neither_counted_nor_changed():
    for name in ("__init_subclass__", "generic"):
        contad.grad(LOSSES[name])(X)
    assert Counted.k == 1 and Counting.__subclasses__()[0] is Counted
    assert isinstance(Held(), Typed) and Held.__mro__[:2] == (Held, Typed)
