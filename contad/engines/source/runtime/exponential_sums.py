"""Sums of exponentials in generated source, as functions of matrices in `row_kernels`."""

from contad.engines.source.runtime.kernel_calls import forward_kernel, reverse_kernel
from contad.engines.source.runtime.matrix_kernels import keep, take
from contad.native.log_sum_kernels import (
    normalise,
    normalise_lines,
    pull_normalised,
    pull_normalised_lines,
    share,
    share_lines,
    sum_exponentials,
    sum_lines,
)
from contad.native.matrix_loops import add_into, is_zero, take_column, write_column, write_into


@forward_kernel("", "float")
def forward_logsumexp(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = log(sum(exp(a))); a is kept."""
    z[0, 0] = sum_exponentials(a)
    return keep(a, work, top)


@reverse_kernel
def reverse_logsumexp(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar exp(a - z)"""
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if z_bar[0, 0] != 0.0:
        add_into(a_bar, share(z_bar[0, 0], a))
    return top


@forward_kernel("z")
def forward_softmax(a, z, work, top):  # type: ignore[no-untyped-def]
    """z = exp(a) / sum(exp(a)), which is kept."""
    write_into(z, normalise(a))
    return keep(z, work, top)


@reverse_kernel
def reverse_softmax(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z (z_bar - sum(z z_bar))"""
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, pull_normalised(z_bar, z))
    return top


@forward_kernel("z")
def forward_logsumexp_along(a, axis, z, work, top):  # type: ignore[no-untyped-def]
    """z_i = log(sum(exp(line i))) of the lines along an axis; a is kept, and the axis."""
    write_column(z, sum_lines(a, int(axis[0, 0])))
    work, top = keep(a, work, top)
    return keep(axis, work, top)


@reverse_kernel
def reverse_logsumexp_along(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z_bar_i exp(a - z_i) in line i"""
    axis, top = take(1, 1, work, top)
    a, top = take(a_bar.shape[0], a_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, share_lines(take_column(z_bar), a, int(axis[0, 0])))
    return top


@forward_kernel("z")
def forward_softmax_along(a, axis, z, work, top):  # type: ignore[no-untyped-def]
    """z = exp(a) over the sum along an axis; it is kept, and the axis."""
    write_into(z, normalise_lines(a, int(axis[0, 0])))
    work, top = keep(z, work, top)
    return keep(axis, work, top)


@reverse_kernel
def reverse_softmax_along(z_bar, a_bar, work, top):  # type: ignore[no-untyped-def]
    """a_bar += z (z_bar - sum(z z_bar)), the sum along the axis"""
    axis, top = take(1, 1, work, top)
    z, top = take(z_bar.shape[0], z_bar.shape[1], work, top)
    if not is_zero(z_bar):
        add_into(a_bar, pull_normalised_lines(z_bar, z, int(axis[0, 0])))
    return top
