"""Will quantizing the KV cache work for this model? What ``kvconform model`` answers, layer by layer.

``child.ask`` tries the model in a process of its own and gives a ``Trial``; ``verdict`` says in a line what
it means, ``text`` prints it. ``fates`` (which layers convert, and why not) also serves ``kvconform drift``.
Importing this package imports no MLX.
"""
