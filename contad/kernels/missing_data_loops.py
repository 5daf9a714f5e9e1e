"""NumPy's functions that ignore nan, as bodies for compiled engines, like those of `contad.kernels.array_loops`."""

import numpy as np

from contad.rules.compilable import loop_body

zeros = np.zeros  # engines that differentiate elements substitute their own


@loop_body(np.nansum, "a", 1)
@loop_body(np.nansum, "a", 2)
def _nansum(a):  # type: ignore[no-untyped-def]
    return np.sum(np.where(np.isnan(a), 0.0, a))


@loop_body(np.nanmean, "a", 1)
@loop_body(np.nanmean, "a", 2)
def _nanmean(a):  # type: ignore[no-untyped-def]
    return np.divide(np.sum(np.where(np.isnan(a), 0.0, a)), np.sum(np.where(np.isnan(a), 0.0, 1.0)))


@loop_body(np.nanvar, "a", 1)
@loop_body(np.nanvar, "a", 2)
def _nanvar(a):  # type: ignore[no-untyped-def]
    from_mean = a - _nanmean(a)
    count = np.sum(np.where(np.isnan(a), 0.0, 1.0))
    return np.divide(np.sum(np.where(np.isnan(a), 0.0, from_mean * from_mean)), count)


@loop_body(np.nanstd, "a", 1)
@loop_body(np.nanstd, "a", 2)
def _nanstd(a):  # type: ignore[no-untyped-def]
    return np.sqrt(_nanvar(a))


@loop_body(np.nanprod, "a", 1)
@loop_body(np.nanprod, "a", 2)
def _nanprod(a):  # type: ignore[no-untyped-def]
    return np.prod(np.where(np.isnan(a), 1.0, a))


@loop_body(np.nancumsum, "a", 1)
def _nancumsum(a):  # type: ignore[no-untyped-def]
    return np.cumsum(np.where(np.isnan(a), 0.0, a))


@loop_body(np.nancumprod, "a", 1)
def _nancumprod(a):  # type: ignore[no-untyped-def]
    return np.cumprod(np.where(np.isnan(a), 1.0, a))


@loop_body(np.nanmax, "a", 1)
def _nanmax(a):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("nanmax(): empty array")
    best = 0
    for k in range(1, len(a)):
        if np.isnan(a[best]) or a[k] > a[best]:
            best = k
    return a[best]


@loop_body(np.nanmin, "a", 1)
def _nanmin(a):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("nanmin(): empty array")
    best = 0
    for k in range(1, len(a)):
        if np.isnan(a[best]) or a[k] < a[best]:
            best = k
    return a[best]


@loop_body(np.nan_to_num, "x", 0)
@loop_body(np.nan_to_num, "x", 1)
@loop_body(np.nan_to_num, "x", 2)
def _nan_to_num(x):  # type: ignore[no-untyped-def]
    largest = 1.7976931348623157e308
    return np.where(np.isnan(x), 0.0, np.where(x > largest, largest, np.where(x < -largest, -largest, x)))


# ---- by order --------------------------------------------------------------------------------------------------------
def _without_nan(a):  # type: ignore[no-untyped-def]
    n = 0
    for k in range(len(a)):
        if not np.isnan(a[k]):
            n += 1
    made = zeros(n)
    n = 0
    for k in range(len(a)):
        if not np.isnan(a[k]):
            made[n] = a[k]
            n += 1
    return made


@loop_body(np.nanmedian, "a", 1)
def _nanmedian(a):  # type: ignore[no-untyped-def]
    kept = _without_nan(a)
    return np.median(kept) if len(kept) > 0 else np.nan


@loop_body(np.nanpercentile, "a, q", 1, 0)
def _nanpercentile(a, q):  # type: ignore[no-untyped-def]
    kept = _without_nan(a)
    return np.percentile(kept, q) if len(kept) > 0 else np.nan


@loop_body(np.nanquantile, "a, q", 1, 0)
def _nanquantile(a, q):  # type: ignore[no-untyped-def]
    return _nanpercentile(a, 100.0 * q)
