"""The example that `python -m contad` runs: a Bayesian logistic regression on real data."""
