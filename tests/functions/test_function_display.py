"""Functions that contad has made, in a notebook."""

import functools
import xml.etree.ElementTree as ET

import numba
import numpy as np
import pytest

import contad


def loss(w, x):
    return np.sum((w * x) ** 2) if np.sum(w) < 3.0 else 0.0


@numba.njit
def product(x, y):
    return x * y


def text_of(made):
    return "".join(ET.fromstring(made._repr_html_()).itertext())


@pytest.mark.parametrize(("make", "expected"), [
    (contad.grad, ["contad.grad: loss", "loss(w, x)", "returns", "gradient", "engine", "matrix"]),
    (lambda f: contad.value_and_grad(f, (1, 0), has_aux=True), ["x, w", "((value, aux), gradient)"]),
    (lambda f: contad.grad(f, engine="closures"), ["closures, on variables"]),
    (contad.hessian, ["made by", "contad.hessian(f", "loss(w, x)"]),
    (contad.derivative, ["contad.derivative(f, 0)"]),
    (lambda f: contad.grad(functools.partial(f, x=2.0)), ["partial", __file__]),
])  # fmt: skip
def test_display_names_kind_and_place(make, expected):
    made = make(loss)
    text = text_of(made)
    assert all(x in text for x in expected)
    assert "if np.sum(w) < 3.0 else 0.0" in text  # its source
    assert str(made) == repr(made) and repr(made).startswith("<contad.")


def test_names_are_escaped():
    def f(x):
        return x * x

    f.__name__ = "<b>"
    tree = ET.fromstring(contad.grad(f)._repr_html_())
    assert "<b>" in "".join(tree.itertext()) and len(list(tree.iter("b"))) == 1


def test_compiled_derivatives_tell_of_what_is_compiled():
    gradient = contad.value_and_grad(product, (0, 1))
    assert "nothing is compiled" in text_of(gradient)
    gradient(2.0, 3.0)
    text = text_of(gradient)
    assert "float64, float64" in text and "generated" in text and "nothing is compiled" not in text


def test_functions_without_source():
    namespace = {}
    exec("def f(x):\n    return x * x", namespace)
    assert "f(x)" in text_of(contad.grad(namespace["f"]))
