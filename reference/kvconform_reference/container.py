"""The container: owns a model's cache list, lets everyone see replaced layers, and latches the pass.

Source: specification section 6 (CT) and the dialect parameters `latch` and `owner`.
"""

from __future__ import annotations

from typing import Protocol

from . import policy
from .dialect import PROPOSAL, Dialect
from .protocol import Layer


class Options(Protocol):
    """What a container reads of generation parameters; they may hold more."""

    @property
    def bits(self) -> int | None: ...

    @property
    def group_size(self) -> int: ...


class CacheMaker(Protocol):
    """What a container needs of a model: a new cache list for these parameters (CT-9)."""

    def new_cache(self, parameters: Options | None) -> list[Layer]: ...


class CacheContainer:
    """A cache list behind one name: whoever holds the container sees converted layers at once (CT-2).

    Built from a list with bits and group size, or from a list or none with a model and parameters (CT-0).
    The group size given here has no effect; a start is given to the pass only.
    """

    def __init__(
        self,
        layers: list[Layer] | None = None,
        *,
        bits: int | None = None,
        group_size: int = 64,
        model: CacheMaker | None = None,
        parameters: Options | None = None,
        dialect: Dialect = PROPOSAL,
    ) -> None:
        """ValueError without layers and without a model, and for options that the dialect refuses."""
        if parameters is not None:
            bits, group_size = parameters.bits, parameters.group_size
        policy.check_options(bits, group_size, 0, dialect=dialect)
        self._dialect = dialect
        self._layers = own(given_layers(layers, model, parameters), dialect)
        self._armed = armed_when_built(self._layers, bits, dialect)

    @property
    def layers(self) -> list[Layer]:
        """The current list: ask again after a pass instead of keeping it."""
        return self._layers

    @property
    def dialect(self) -> Dialect:
        """The design that this container follows."""
        return self._dialect

    @property
    def armed(self) -> bool:
        """Whether a call of `maybe_quantize` still looks at the layers."""
        return self._armed and not (self._layers and policy.is_skipped(self._layers, self._dialect))

    def maybe_quantize(self, bits: int | None, group_size: int = 64, start: int = 0) -> None:
        """One pass with this call's bits, group size and start, unless disarmed (MQ-0, CT-4).

        Raises as `policy.maybe_quantize` does; the list and the latch are then as before (MQ-13).
        """
        policy.check_options(bits, group_size, start, dialect=self._dialect)
        if not self._armed:  # CT-11: before any look at a layer
            return
        plan = policy.plan_pass(self._layers, bits, group_size, start, dialect=self._dialect)
        self._commit(plan)
        if bits is not None and disarms(plan, self._layers, group_size, start, self._dialect):
            self._armed = False

    def rearm(self) -> None:
        """Called when a new iterator is built on the container: `when-settled` designs look again (CT-12)."""
        if rearms(self._dialect):
            self._armed = True

    def _commit(self, plan: policy.Plan) -> None:
        if not plan.replacements:
            return
        layers = list_to_change(self._layers, self._dialect)
        policy.commit(plan, layers)
        self._layers = layers


def given_layers(
    layers: list[Layer] | None, model: CacheMaker | None, parameters: Options | None
) -> list[Layer]:
    """The caller's list, an empty one included; without one the model is asked, once (CT-9)."""
    if layers is not None:
        return layers
    if model is None:
        raise ValueError("a container needs layers; give a cache list, or a model that can make one")
    return model.new_cache(parameters)


def own(layers: list[Layer], dialect: Dialect) -> list[Layer]:
    """The list that the container works on: its own copy, or the caller's itself (CT-3, dialect `owner`)."""
    return layers if dialect.owner == "caller-list" else list(layers)


def list_to_change(layers: list[Layer], dialect: Dialect) -> list[Layer]:
    """The list that a pass writes to: a new one, so that a list once handed out stays as it was (CT-3)."""
    return layers if dialect.owner == "caller-list" else list(layers)


def armed_when_built(layers: list[Layer], bits: int | None, dialect: Dialect) -> bool:
    """`first-trigger` needs bits and a quantizable layer (CT-4, CT-5); the other latches start armed."""
    if dialect.latch != "first-trigger":
        return True
    return bits is not None and any(
        policy.is_quantizable(slot.layer, dialect) for slot in policy.walk(layers, dialect)
    )


def disarms(plan: policy.Plan, layers: list[Layer], group_size: int, start: int, dialect: Dialect) -> bool:
    """Whether the pass that was just made is the last one (CT-4, CT-7, CT-12)."""
    if dialect.latch == "first-trigger":
        return plan.triggered and not plan.waiting
    if dialect.latch == "when-settled":
        return bool(layers) and policy.is_settled(layers, group_size, start, dialect)
    return False


def rearms(dialect: Dialect) -> bool:
    """Whether a new iterator arms the container again (CT-12)."""
    return dialect.latch == "when-settled"
