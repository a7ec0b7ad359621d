"""kvconform: does an implementation of dynamic KV-cache quantization behave?"""

__version__ = "0.1.0"
