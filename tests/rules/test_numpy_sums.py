"""Sums of densities by lines of NumPy, beside the loops of Python's floats for the same arguments."""

import math

import numpy as np
import pytest

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.distributions.real_line import normal_log_density
from contad.rules import numpy_sums
from contad.rules.float_loops import LoopKey, float_loop
from contad.rules.numpy_sums import numpy_sum
from contad.stan import densities

FACES = {name: x for name, x in vars(densities).items() if isinstance(x, Face)}


def require_same(key, args):
    """The sum and its slopes are those of the loop of floats."""
    total, slopes = numpy_sum(key)(*args)
    expected, others = float_loop(key)(*(x.tolist() if isinstance(x, np.ndarray) else x for x in args))
    assert total.__class__ is float and total == pytest.approx(expected, rel=1e-11)
    for slope, other in zip(slopes, others, strict=True):
        assert slope.__class__ is (np.ndarray if isinstance(other, list) else float)
        np.testing.assert_allclose(slope, other, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("name", FACES)
def test_the_sum_and_its_slopes_are_those_of_floats(name):
    """Each argument is the array once, beside the numbers of the first point; then all are."""
    face = FACES[name]
    rule = face.formula
    columns = [np.resize(np.array(x, dtype=np.float64), 2 * len(rule.points)) for x in zip(*rule.points, strict=True)]
    point = [float(x) for x in rule.points[0]]
    for k in range(rule.arity):
        arrays = tuple([n == k for n in range(rule.arity)])
        args = [np.full(4, x) if n == k else x for n, x in enumerate(point)]
        require_same(LoopKey(rule, arrays, (True,) * rule.arity, face.conditions, True), args)
    require_same(LoopKey(rule, (True,) * rule.arity, (True,) * rule.arity, face.conditions, True), columns)


def test_some_arguments_have_no_partial():
    key = LoopKey(normal_log_density, (True, True, False), (False, True, False), (), True)
    require_same(key, [np.linspace(-1.0, 2.0, 90), np.linspace(3.0, 2.0, 90), 1.3])


def test_unusual_bodies_are_left_to_others():
    key = LoopKey(normal_log_density, (True, False, False), (True, True, True), ("p_2 > 0.0", "p_0 == p_0"), True)
    y = np.linspace(-1.0, 2.0, 90)
    assert numpy_sum(key)(y, 0.5, -2.0) is None
    assert numpy_sum(key)(np.where(y > 1.0, math.nan, y), 0.5, 2.0) is None
    assert numpy_sum(key)(np.where(y > 1.0, math.inf, y), 0.5, 2.0) is None  # a case of the formula
    assert numpy_sum(key)(y, 1e300, 1e-300) is None  # which overflows, and would warn
    assert numpy_sum(key._replace(conditions=()))(y, 0.5, 0.0) is None


def test_a_wrong_line_is_noticed(monkeypatch):
    """A planted fault: selections that take the other branch."""
    monkeypatch.setattr(np, "where", lambda test, x, y, found=np.where: found(test, y, x))
    numpy_sum.cache_clear()
    with pytest.raises(AssertionError):
        test_the_sum_and_its_slopes_are_those_of_floats("student_t_lpdf")
    numpy_sum.cache_clear()


def test_gradients_of_many_elements_are_lines_of_numpy(monkeypatch):
    asked = []
    known = numpy_sums._ArrayWriter.compile
    monkeypatch.setattr(numpy_sums._ArrayWriter, "compile", lambda self: asked.append(self.key) or known(self))
    numpy_sum.cache_clear()
    contad.engines.matrix.summed_formulas.recipe_of.cache_clear()
    y, mu = np.linspace(-1.0, 2.0, 200).reshape(2, 100), np.linspace(3.0, 2.0, 200).reshape(2, 100)
    value, (of_mu, of_sigma) = contad.value_and_grad(stan.normal_lpdf, (1, 2))(y, mu, 1.3)
    r = (y - mu) / 1.3
    assert len(asked) == 1
    np.testing.assert_allclose(of_mu, r / 1.3, rtol=1e-13)
    assert of_sigma == pytest.approx(np.sum(r * r - 1.0) / 1.3, rel=1e-12)
    assert value == pytest.approx(stan.normal_lpdf(y, mu, 1.3), rel=1e-13)
