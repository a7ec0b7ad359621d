"""Counts how often anything is asked of cache objects, for CT-11: a disarmed container looks at no layer."""

from __future__ import annotations

from typing import Any


class AccessCounter:
    """Gives watched objects a class of the same name that counts every attribute read and method call."""

    def __init__(self) -> None:
        self.count = 0
        self._counting: dict[type, type] = {}

    def watch(self, cache: Any) -> None:
        """Count what is asked of this object from now on."""
        plain: type = cache.__class__
        if plain in self._counting.values():
            return
        if plain not in self._counting:
            self._counting[plain] = self._counting_class(plain)
        cache.__class__ = self._counting[plain]

    def _counting_class(self, plain: Any) -> type:
        counter = self

        def counted(cache: Any, name: str) -> Any:
            counter.count += 1
            return plain.__getattribute__(cache, name)

        return type(plain.__name__, (plain,), {"__getattribute__": counted})
