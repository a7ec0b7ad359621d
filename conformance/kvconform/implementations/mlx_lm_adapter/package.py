"""What the adapter uses of mlx and mlx-lm, and nothing more: the only module that imports them.

Both packages are untyped where it matters, so everything leaves this module as ``Any``.
Importing takes 2-3 seconds and happens in the child process only.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

mx: Any = import_module("mlx.core")
_cache: Any = import_module("mlx_lm.models.cache")
_generate: Any = import_module("mlx_lm.generate")
_sampling: Any = import_module("mlx_lm.sample_utils")

KVCache: Any = _cache.KVCache
RotatingKVCache: Any = _cache.RotatingKVCache
QuantizedKVCache: Any = _cache.QuantizedKVCache
CacheList: Any = getattr(_cache, "CacheList", None)
ChunkedKVCache: Any = getattr(_cache, "ChunkedKVCache", None)
ArraysCache: Any = getattr(_cache, "ArraysCache", None)
"""None in versions that have no such class (``ArraysCache`` came after 0.26)."""

make_prompt_cache: Any = _cache.make_prompt_cache
trim_prompt_cache: Any = _cache.trim_prompt_cache
save_prompt_cache: Any = _cache.save_prompt_cache
load_prompt_cache: Any = _cache.load_prompt_cache
maybe_quantize_kv_cache: Any = _generate.maybe_quantize_kv_cache
generate_step: Any = _generate.generate_step
make_logits_processors: Any = _sampling.make_logits_processors

MLX_LM_VERSION = version("mlx-lm")
MLX_VERSION = version("mlx")
