"""How a fault gets into the reference: seams are replaced while a scenario runs, and put back afterwards.

A seam is an attribute of a module or of a class. What stands there is wrapped or replaced; nothing of the
reference is copied, so a fault stays one decision away from it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static
from typing import Any, cast

Change = Callable[..., Any]
"""(original, *what the seam is called with) -> what the faulty seam answers."""

_ABSENT = object()


class ProcessDied(BaseException):
    """Stands for the death of the process, which in this process can only be acted.

    Not an ``Exception``: nothing that a scenario does may catch it, as nothing catches a signal.
    """

    def __init__(self, signal: str) -> None:
        super().__init__(signal)
        self.signal = signal


@dataclass(frozen=True, slots=True)
class Patch:
    """One seam and what it becomes: ``make`` gets what stands there and gives the faulty thing."""

    owner: Any
    """A module or a class."""
    name: str
    make: Callable[[Any], Any]

    @property
    def seam(self) -> str:
        """``policy.is_over_line``, ``QuantizedCache.trim``: for pages and messages."""
        return f"{self.owner.__name__.rpartition('.')[2]}.{self.name}"


def wrapped(owner: Any, name: str, change: Change) -> Patch:
    """The function, method, property, class method or static method at ``owner.name``, changed.

    ``change`` gets the original first, then what the seam is called with (``self`` included).
    """
    return Patch(owner, name, lambda original: _changed(original, change))


def replaced(owner: Any, name: str, value: Any) -> Patch:
    """A value at ``owner.name``: a constant, or a whole table."""
    return Patch(owner, name, lambda _original: value)


def _changed(original: Any, change: Change) -> Any:
    if isinstance(original, property):
        getter = cast("Callable[[Any], Any]", original.fget)
        return property(lambda owner: change(getter, owner))
    if isinstance(original, classmethod | staticmethod):
        inner = cast("Callable[..., Any]", original.__func__)  # pyright: ignore[reportUnknownMemberType]
        return type(original)(_called(inner, change))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return _called(original, change)


def _called(original: Callable[..., Any], change: Change) -> Callable[..., Any]:
    @wraps(original)
    def faulty(*args: Any, **options: Any) -> Any:
        return change(original, *args, **options)

    return faulty


@contextmanager
def planted(patches: Iterable[Patch]) -> Generator[None]:
    """The patches are in force in the block, and gone after it however it ends."""
    with ExitStack() as stack:
        for patch in patches:
            own = vars(patch.owner).get(patch.name, _ABSENT)
            original = getattr_static(patch.owner, patch.name)
            setattr(patch.owner, patch.name, patch.make(original))
            stack.callback(_put_back, patch, own)
        yield


def _put_back(patch: Patch, own: Any) -> None:
    """What was inherited is inherited again; everything else is what it was."""
    if own is _ABSENT:
        delattr(patch.owner, patch.name)
    else:
        setattr(patch.owner, patch.name, own)


class Stand:
    """Stands before another object: answers for it with ``instead``, passes everything else on."""

    def __init__(self, behind: Any, **instead: Any) -> None:
        self._behind = behind
        self.__dict__.update(instead)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._behind(*args, **options)
