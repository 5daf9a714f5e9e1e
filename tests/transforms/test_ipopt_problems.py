"""Problems as Ipopt asks for them: values in the order of the structure, and no element left out."""

import math
import warnings

import numba
import numpy as np
import pytest

import contad
from contad.errors import OutputError, ValueMismatchError


def cost(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.exp(x[0])


def bend(x):
    return x[1:-1] * x[2:] + np.sin(x[:-2])


def dense(places, values, shape):
    matrix = np.zeros(shape)
    matrix[places] = values
    return matrix


def test_values_are_in_the_order_of_the_structure():
    x, lagrange = np.array([0.5, -1.2, 0.7, 2.0, 0.3]), np.array([1.5, -0.4, 0.8])
    problem = contad.IpoptProblem(cost, bend, np.ones(5))
    assert problem.objective(x) == cost(x)
    np.testing.assert_allclose(problem.gradient(x), contad.grad(cost)(x))
    found = dense(problem.jacobianstructure(), problem.jacobian(x), (3, 5))
    np.testing.assert_allclose(found, contad.jacobian(bend)(x), rtol=1e-13)
    found = dense(problem.hessianstructure(), problem.hessian(x, lagrange, 2.0), (5, 5))
    expected = contad.hessian(lambda x: 2.0 * cost(x) + lagrange @ bend(x))(x)
    np.testing.assert_allclose(found, np.tril(expected), rtol=1e-12, atol=1e-13)


def test_newton_steps_by_its_matrices_meet_the_constraints():
    problem = contad.IpoptProblem(cost, bend, np.ones(5))
    x, lagrange = np.array([0.5, -1.2, 0.7, 2.0, 0.3]), np.zeros(3)
    for _ in range(30):
        a = dense(problem.jacobianstructure(), problem.jacobian(x), (3, 5))
        h = dense(problem.hessianstructure(), problem.hessian(x, lagrange, 1.0), (5, 5))
        h = h + np.tril(h, -1).T + 0.1 * np.eye(5)
        step = np.linalg.solve(np.block([[h, a.T], [a, np.zeros((3, 3))]]), -np.r_[problem.gradient(x), bend(x)])
        x, lagrange = x + step[:5], step[5:]
    np.testing.assert_allclose(bend(x), 0.0, atol=1e-9)
    np.testing.assert_allclose(problem.gradient(x) + lagrange @ contad.jacobian(bend)(x), 0.0, atol=1e-6)


def test_a_branch_that_the_structure_misses_is_an_error_and_may_be_joined():
    def branch(x):
        return x[1:] * x[:-1] if x[0] > 0.0 else x[1:] * x[0]

    x = np.array([-1.0, 2.0, 3.0])
    with pytest.raises(ValueMismatchError, match=r"the pattern misses element \(1, 0\)"):
        contad.IpoptProblem(cost, branch, np.ones(3)).jacobian(x)
    joined = contad.IpoptProblem(cost, branch, [np.ones(3), -np.ones(3)])
    found = dense(joined.jacobianstructure(), joined.jacobian(x), (2, 3))
    np.testing.assert_allclose(found, contad.jacobian(branch)(x))


@numba.njit
def compiled_cost(x):
    total = math.exp(x[0])
    for k in range(len(x) - 1):
        total += (x[k + 1] - x[k] ** 2) ** 2
    return total


@numba.njit
def compiled_bend(x):
    z = np.zeros(len(x) - 2)
    for k in range(len(z)):
        z[k] = x[k + 1] * x[k + 2] + math.sin(x[k])
    return z


def test_numba_functions_give_a_lagrangian_that_is_compiled():
    x, lagrange = np.array([0.5, -1.2, 0.7, 2.0, 0.3]), np.array([1.5, -0.4, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no Python copy
        problem = contad.IpoptProblem(compiled_cost, compiled_bend, np.ones(5))
        values = problem.hessian(x, list(lagrange), 2)
    plain = contad.IpoptProblem(cost, bend, np.ones(5))
    assert numba.extending.is_jitted(problem._hessian.function.f)
    np.testing.assert_allclose(values, plain.hessian(x, lagrange, 2.0), rtol=1e-12)
    np.testing.assert_array_equal(problem.hessianstructure(), plain.hessianstructure())
    np.testing.assert_allclose(problem.jacobian(x), plain.jacobian(x), rtol=1e-13)


def test_there_may_be_no_constraints_and_they_are_a_vector():
    problem = contad.IpoptProblem(cost, lambda x: np.zeros(0), np.ones(3))
    assert problem.jacobian(np.ones(3)).size == 0
    found = dense(problem.hessianstructure(), problem.hessian(np.ones(3), np.zeros(0), 1.0), (3, 3))
    np.testing.assert_allclose(found, np.tril(contad.hessian(cost)(np.ones(3))))
    with pytest.raises(OutputError, match="cost must return a vector of constraints, got an array of 0 axes"):
        contad.IpoptProblem(cost, cost, np.ones(3))
    with pytest.raises(OutputError, match="<lambda> must return a vector of constraints, got None"):
        contad.IpoptProblem(cost, lambda x: None, np.ones(3))
    with pytest.raises(OutputError, match="bend must return one number, got an array of 1 axes"):
        contad.IpoptProblem(bend, bend, np.ones(3))


def test_points_and_multipliers_of_another_length_are_named():
    with pytest.raises(ValueError, match="IpoptProblem: x0 must be a vector, or vectors of one length, got"):
        contad.IpoptProblem(cost, bend, [[1.0, 2.0], [1.0]])
    problem = contad.IpoptProblem(cost, bend, np.ones(4))
    with pytest.raises(ValueError, match=r"IpoptProblem.jacobian: x must have the 4 numbers of x0, got shape \(5,\)"):
        problem.jacobian(np.ones(5))
    with pytest.raises(ValueError, match=r"IpoptProblem.hessian: x must have the 4 numbers of x0, got shape \(5,\)"):
        problem.hessian(np.ones(5), np.ones(2), 1.0)
    np.testing.assert_array_equal(problem.jacobian([1.0, 2.0, 3.0, 4.0]), problem.jacobian(np.arange(1.0, 5.0)))
    with pytest.raises(ValueError, match=r"IpoptProblem.hessian: lagrange must have a number for each of the 2"):
        problem.hessian(np.ones(4), np.ones(7), 1.0)


def test_functions_are_asked_for():
    with pytest.raises(TypeError, match="IpoptProblem: constraints must be callable"):
        contad.IpoptProblem(cost, None, np.ones(3))
