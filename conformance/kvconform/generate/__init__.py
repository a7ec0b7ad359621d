"""Token streams of real MLX models: `generate` scenarios, and the goldens made of them.

``reference_run`` and ``mlx_lm_run`` answer a scenario, ``check`` judges a golden. Importing this package
imports no MLX; ``cases``, ``golden`` and ``compare`` are usable without it.
"""
