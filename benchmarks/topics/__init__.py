"""The topics that `python -m benchmarks TOPIC ...` measures, one module each with its `TOPIC`."""
