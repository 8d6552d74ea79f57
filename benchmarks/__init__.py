"""Speed, as ratios in one run: ``python -m benchmarks`` (``--smoke`` for a quick run, ``--write``)."""
