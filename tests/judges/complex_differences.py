"""Gradients by differences in each real and imaginary part."""

import numpy as np


def differences(f, args, k, h=1e-4):
    """The gradient by argument k, by differences of fourth order in each real and imaginary part."""

    def at(step):
        moved = [np.copy(a) if np.ndim(a) else a for a in args]
        moved[k] = moved[k] + step
        return f(*(moved if np.ndim(args[k]) else [*moved[:k], moved[k].item(), *moved[k + 1 :]]))

    found = np.zeros(np.shape(args[k]), complex)
    for place in np.ndindex(np.shape(args[k])):
        for unit in (1.0, 1j) if np.iscomplexobj(args[k]) else (1.0,):
            e = np.zeros(np.shape(args[k]), np.asarray(args[k]).dtype)
            e[place] = unit
            slope = -at(2 * h * e) + 8.0 * at(h * e) - 8.0 * at(-h * e) + at(-2 * h * e)
            found[place] += unit * slope / (12.0 * h)
    return found
