"""Yeast in a flask: the log likelihood of logistic growth.

    python -m contad examples/growth.py:log_likelihood
    python -m contad examples/growth.py:log_likelihood --at rate=0.6 --wrt rate,capacity

Data: the amount of yeast at the start and after each hour; T. Carlson (1913), Über Geschwindigkeit und Grösse der
Hefevermehrung in Würze, Biochemische Zeitschrift 57, 313-334.
"""

import numpy as np

amounts = [9.6, 18.3, 29.0, 47.2, 71.1, 119.1, 174.6, 257.3, 350.7, 441.0]
amounts += [513.3, 559.7, 594.8, 629.4, 640.8, 651.1, 655.9, 659.6, 661.8]


def log_likelihood(amounts, rate=0.5, capacity=650.0, start=10.0, noise=0.1):
    """Amounts scatter about the solution of dy/dt = rate y (1 - y / capacity) by a relative error of about `noise`."""
    total = 0.0
    for hour, amount in enumerate(amounts):
        expected = capacity / (1.0 + (capacity / start - 1.0) * np.exp(-rate * hour))
        deviation = (np.log(amount) - np.log(expected)) / noise
        total += -0.5 * deviation**2 - np.log(noise)
    return total
