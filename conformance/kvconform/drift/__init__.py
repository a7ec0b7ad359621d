"""How far a model's answers move when its KV cache is quantized. What ``kvconform drift`` prints and draws.

``measure`` runs the model (needs MLX) and gives a ``DriftReport``; ``table`` and ``plot`` show it.
Importing this package imports no MLX.
"""
