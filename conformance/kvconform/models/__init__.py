"""Real MLX models that need no hub: what the goldens, the drift table and ``kvconform model`` run on.

``load.load_model(name)`` is the way in. Importing this package imports no MLX: the catalogue of the tiny
models and the error class are usable without it.
"""
