"""Speed, as ratios in one run: ``python -m benchmarks`` (``--smoke``, ``--full``, ``--write``)."""
