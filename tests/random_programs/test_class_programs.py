"""Methods of random hierarchies of classes have the values of Python and the derivatives of NumPy."""

import numpy as np
import pytest

import contad
from contad.functions import callees, questions, stand_in_classes
from tests.judges.samples import shortened
from tests.random_programs.class_programs import modules
from tests.random_programs.searching import find_disagreement

X = np.array([0.6, -0.9])
ENGINES = ["matrix", "records", "closures"]


def disagreement(seed):
    """What is wrong with the classes of a seed; None where nothing is."""
    typed, explicit = modules(seed)
    value = typed.main(X)
    with contad.settings(rewrite=False):
        right, slope = contad.value_and_grad(explicit.main)(X)
    found, gradient = contad.value_and_grad(typed.main, engine=ENGINES[seed % 3])(X)
    moved, change = contad.jvp(typed.main, (X,), (X,))
    if not np.allclose([value, found, moved], right, rtol=1e-12, atol=1e-12):
        return f"values {value}, {found}, {moved}, {right}"
    if not np.allclose([*gradient, change], [*slope, slope @ X], rtol=1e-9, atol=1e-11):
        return f"gradients {gradient}, {slope}, {change}"
    return None


@pytest.mark.parametrize("count", shortened(60, 5000))
def test_random_classes(count):
    assert find_disagreement(disagreement, range(count)) is None


def before_the_class(cls, bases, is_told):
    own = [new for new, c in zip(bases, cls.__bases__, strict=True) if new is not c]
    about = {"__slots__": (), "_stands_for": cls}
    return stand_in_classes.make_class(stand_in_classes._metaclass(type(cls)), cls.__name__, (*own, cls), about)


FAULTS = {
    "stand-ins of all bases before the class": (callees, "stand_for_class", before_the_class),
    "super() with a class": (questions, "super_of_users", super),
    "code that names classes": (questions, "_gives_classes", lambda code: False),
    "subclasses that are noticed": (
        stand_in_classes, "make_class", lambda kind, name, bases, about: kind(name, bases, about)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name, monkeypatch):
    monkeypatch.setattr(*FAULTS[name])
    assert find_disagreement(disagreement, range(60)) is not None
