"""Copies of objects with slots: equal attributes, references that are counted, and nothing of what is weak."""

import gc
import sys
import weakref

import pytest

from contad.python_objects.slot_entries import make_copier


class Base:
    __slots__ = ("__weakref__", "first", "second")


class Child(Base):
    __slots__ = ("third",)


def test_attributes_are_the_same_objects():
    x, value = Child(), object()
    x.first, x.third = value, [1.0]
    seen = weakref.ref(x)
    before = sys.getrefcount(value)
    y = make_copier(Child)(x)
    assert type(y) is Child and y.first is value and y.third is x.third and not hasattr(y, "second")
    assert weakref.getweakrefcount(y) == 0 and seen() is x
    assert sys.getrefcount(value) == before + 1 and gc.is_tracked(y)
    del y
    assert sys.getrefcount(value) == before


def test_another_class_is_refused():
    copy = make_copier(Child)
    with pytest.raises(SystemError):
        copy(Base())
    with pytest.raises(TypeError):
        copy()
