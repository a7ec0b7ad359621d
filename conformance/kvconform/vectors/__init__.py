"""Vectors: scenario and expected observation in a file, for implementations that need no runner.

``source`` says which vectors there are, ``recording`` computes what the reference answers, ``library`` reads
the files, ``compare`` judges an answer. The format is in ``docs/vectors.md``.
"""
