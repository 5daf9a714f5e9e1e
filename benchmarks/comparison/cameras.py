"""ADBench's camera model for Numba: reprojection errors, and their Jacobians by hand.

A camera is three numbers of a rotation (axis times angle), its centre, focal length, principal point and two
coefficients of radial distortion.
"""

import math

import numpy as np
from numba import njit


@njit
def project(camera, point):
    """Where a camera sees a point."""
    x = point[0] - camera[3]
    y = point[1] - camera[4]
    z = point[2] - camera[5]
    angle2 = camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2]
    if angle2 != 0.0:
        angle = math.sqrt(angle2)
        c = math.cos(angle)
        s = math.sin(angle)
        w0 = camera[0] / angle
        w1 = camera[1] / angle
        w2 = camera[2] / angle
        along = (1.0 - c) * (w0 * x + w1 * y + w2 * z)
        rx = x * c + (w1 * z - w2 * y) * s + w0 * along
        ry = y * c + (w2 * x - w0 * z) * s + w1 * along
        rz = z * c + (w0 * y - w1 * x) * s + w2 * along
    else:
        rx = x + camera[1] * z - camera[2] * y
        ry = y + camera[2] * x - camera[0] * z
        rz = z + camera[0] * y - camera[1] * x
    p = rx / rz
    q = ry / rz
    r2 = p * p + q * q
    distortion = 1.0 + camera[9] * r2 + camera[10] * r2 * r2
    return p * distortion * camera[6] + camera[7], q * distortion * camera[6] + camera[8]


@njit
def reprojection(cameras, points, weights, features):
    """The weighted errors (n, 2) of n observations; row i depends on row i of every argument."""
    n = len(weights)
    errors = np.empty((n, 2))
    for i in range(n):
        u, v = project(cameras[i], points[i])
        errors[i, 0] = weights[i] * (u - features[i, 0])
        errors[i, 1] = weights[i] * (v - features[i, 1])
    return errors


@njit
def by_hand(cameras, points, weights, features):
    """Errors (n, 2), and the blocks of their Jacobian: (n, 2, 11), (n, 2, 3), (n, 2)."""
    n = len(weights)
    errors = np.empty((n, 2))
    of_cameras = np.empty((n, 2, 11))
    of_points = np.empty((n, 2, 3))
    of_weights = np.empty((n, 2))
    for i in range(n):
        a, b, c = cameras[i, 0], cameras[i, 1], cameras[i, 2]
        x = points[i, 0] - cameras[i, 3]
        y = points[i, 1] - cameras[i, 4]
        z = points[i, 2] - cameras[i, 5]
        angle2 = a * a + b * b + c * c
        if angle2 != 0.0:
            # cosine, sine / angle, (1 - cosine) / angle^2, and the latter's derivatives by angle^2, twice
            angle = math.sqrt(angle2)
            co = math.cos(angle)
            s = math.sin(angle) / angle
            k = (1.0 - co) / angle2
            ds = (co - s) / angle2
            dk = (s - 2.0 * k) / angle2
        else:
            co, s, k, ds, dk = 1.0, 1.0, 0.5, -1.0 / 3.0, -1.0 / 12.0
        cx, cy, cz = b * z - c * y, c * x - a * z, a * y - b * x
        dot = a * x + b * y + c * z
        rx = co * x + s * cx + k * dot * a
        ry = co * y + s * cy + k * dot * b
        rz = co * z + s * cz + k * dot * c
        inverse = 1.0 / rz
        p, q = rx * inverse, ry * inverse
        r2 = p * p + q * q
        f, k1, k2, w = cameras[i, 6], cameras[i, 9], cameras[i, 10], weights[i]
        distortion = 1.0 + r2 * (k1 + k2 * r2)
        slope = 2.0 * (k1 + 2.0 * k2 * r2)
        u, v = p * distortion, q * distortion
        errors[i, 0] = w * (f * u + cameras[i, 7] - features[i, 0])
        errors[i, 1] = w * (f * v + cameras[i, 8] - features[i, 1])
        of_weights[i, 0] = f * u + cameras[i, 7] - features[i, 0]
        of_weights[i, 1] = f * v + cameras[i, 8] - features[i, 1]
        wf = w * f
        mixed = wf * slope * p * q
        for e in range(2):
            # the adjoints of p and q, then of the rotated point
            pe = mixed if e else wf * (distortion + slope * p * p)
            qe = wf * (distortion + slope * q * q) if e else mixed
            gx, gy = pe * inverse, qe * inverse
            gz = -(p * gx + q * gy)
            of_rotated = gx * a + gy * b + gz * c
            nx, ny, nz = gy * c - gz * b, gz * a - gx * c, gx * b - gy * a  # g x axis
            tx = co * gx + s * nx + k * of_rotated * a
            ty = co * gy + s * ny + k * of_rotated * b
            tz = co * gz + s * nz + k * of_rotated * c
            straight = gx * x + gy * y + gz * z
            turned = gx * cx + gy * cy + gz * cz
            common = -s * straight + ds * turned + dk * dot * of_rotated
            of_cameras[i, e, 0] = common * a + s * (gz * y - gy * z) + k * (of_rotated * x + dot * gx)
            of_cameras[i, e, 1] = common * b + s * (gx * z - gz * x) + k * (of_rotated * y + dot * gy)
            of_cameras[i, e, 2] = common * c + s * (gy * x - gx * y) + k * (of_rotated * z + dot * gz)
            of_cameras[i, e, 3] = -tx
            of_cameras[i, e, 4] = -ty
            of_cameras[i, e, 5] = -tz
            of_cameras[i, e, 6] = w * (v if e else u)
            of_cameras[i, e, 7] = 0.0 if e else w
            of_cameras[i, e, 8] = w if e else 0.0
            across = wf * (q if e else p)
            of_cameras[i, e, 9] = across * r2
            of_cameras[i, e, 10] = across * r2 * r2
            of_points[i, e, 0] = tx
            of_points[i, e, 1] = ty
            of_points[i, e, 2] = tz
    return errors, (of_cameras, of_points, of_weights)
