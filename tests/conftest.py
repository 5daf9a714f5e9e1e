"""Hypothesis draws the same examples in every run, unless `--hypothesis-profile=explore` asks for new ones."""

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=10_000)
settings.load_profile("ci")
