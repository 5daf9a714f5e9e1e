"""Derivatives that a differentiated function calls, each kind of them."""

import numpy as np

from tests.engines.source.programs.harness import Table, programs

CALLED = """
@njit
def chain(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += np.exp(0.3 * x[i]) * x[i + 1] ** 2 + np.sin(x[i])
    return total
@njit
def scaled(x, a):
    return np.sum(np.exp(a * x) * x)
@njit
def turned(x):
    return np.exp(0.5 * x) * x[::-1]
@njit
def of_pair(pair):
    return np.sum(pair[0] ** 3) * np.exp(pair[1])
@njit
def counted(a, n, t):
    total = 0.0
    for i in range(n):
        total += np.sin(a[0] * t) * (i + 1)
    return total * a[1]
@njit
def bump(t):
    return np.exp(t) * np.sin(t)
"""
CALLERS = programs("""
# by grad
found = np.sin(contad.grad(chain)(x))
return np.sum(found)
# by value
value, _ = contad.value_and_grad(chain)(x)
return value * value
# by value and other argument
value, slope = contad.value_and_grad(scaled)(x, x[0])
return value * np.sum(np.sin(slope))
# by several
slope, other = contad.grad(scaled, (0, 1))(x, x[0])
return np.sum(np.sin(slope)) * other
# by tuple
slope = contad.grad(of_pair)((x, x[1]))
return np.sum(np.sin(slope[0])) * slope[1]
# by count
slope, other = contad.grad(counted, (0, 2))(x[:2], 3, x[2])
return np.sin(slope[1]) * other + slope[0]
# by product: return np.sum(np.sin(contad.hvp(chain)(x, x * 0.5)))
# by tangent
value, slope = contad.jvp(chain, (x,), (x * x,))
return value * np.sin(slope)
# by tangent of array
value, slope = contad.jvp(turned, (x,), (x * x,))
return np.sum(value * np.sin(slope))
# by tangent of gradient
value, slope = contad.jvp(contad.grad(chain), (x,), (x * x,))
return np.sum(value * np.sin(slope))
# by repeated: return np.sin(contad.grad(contad.grad(contad.grad(bump)))(x[0])) * x[1]
# by hessian
blocks = contad.hessian(scaled, (0, 1))(x, x[0])
return np.sum(np.sin(blocks[0][0])) * np.sum(blocks[0][1] * x) * blocks[1][1]
# by jacobian: return np.sum(np.sin(contad.jacobian(turned)(x)))
# by columns: return np.sum(np.sin(contad.jacfwd(turned)(x)))
# by trace: return contad.laplacian(chain)(x) * x[0]
# downhill
y = x.copy()
for _ in range(3):
    y = y - 0.1 * contad.grad(chain)(y)
    if y[0] > 0.1:
        y[0] = y[0] * np.sin(y[1])
return np.sum(y * y)
# newton
y = 0.1 * x
for _ in range(2):
    matrix = contad.hessian(chain)(y) + 5.0 * np.eye(len(x))
    y = y - np.linalg.solve(matrix, contad.grad(chain)(y) + x)
return np.sum(y * y)
""")
X, V = np.array([0.3, -0.4, 0.7, 0.2]), np.array([0.5, 0.1, -0.3, 0.9])
DERIVATIVE_CALLS = Table("derivative calls", CALLERS, before=CALLED, head="x", arguments=(X,), argnums=(0,))
