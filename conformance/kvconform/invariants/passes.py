"""What a pass over a list must satisfy, in any design (MQ, GS-5, QP, TH-5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import Context, Finding
from ..observation import ContainerObservation, ObjectView
from ..scenario import ContainerScenario, PassStep
from . import reading, sizes
from .reading import Moment, Place


def _finding(what: str, moment: Moment, place: Place | None, expected: Any, observed: Any) -> Finding:
    layer = "" if place is None else f", layer {place.path} ({reading.described(moment.old(place))})"
    return Finding(message=f"{what}: {moment.where}{layer}", expected=expected, observed=observed)


def _changes(moment: Moment) -> dict[str, Any]:
    changed = {
        number: reading.differing(before, after)
        for number, (before, after) in enumerate(
            zip(moment.before.objects, moment.after.objects, strict=False)
        )
        if before != after
    }
    return {"holders": moment.after.holders, "changed objects": changed}


def _must_not_act(what: str, moment: Moment) -> Iterator[Finding]:
    if not moment.unchanged:
        yield _finding(
            what, moment, None, {"holders": moment.before.holders, "changed objects": {}}, _changes(moment)
        )


def idle_without_bits_or_layers(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """MQ-1: without bits or without layers nothing happens, and nothing is answered but False."""
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep) and (moment.step.bits is None or not scenario.layers):
            yield from _must_not_act("a pass without bits or layers did something", moment)
            if moment.after.error is not None:
                what = "a pass without bits or layers raised"
                yield _finding(what, moment, None, None, moment.after.error.message)
            if moment.after.returned:
                yield _finding("a pass without bits or layers answered True", moment, None, False, True)


def idle_below_the_line(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-2: with every offset below the start nothing happens."""
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep) and all(
            view.offset is None or view.offset < moment.step.start for view in moment.before.objects
        ):
            yield from _must_not_act("a pass below the line did something", moment)


def idle_unless_quantizable_qualifies(
    scenario: ContainerScenario, observation: ContainerObservation, context: Context
) -> Iterator[Finding]:
    """TH-5: with every quantizable layer below the start nothing happens, however far the others are."""
    for moment in reading.moments(scenario, observation):
        step = moment.step
        if not isinstance(step, PassStep):
            continue
        offsets = [view.offset for view in moment.before.objects if view.kind in _quantizable_kinds(context)]
        if all(offset is None or offset < step.start for offset in offsets):
            yield from _must_not_act("a layer that is not quantizable triggered", moment)
            if moment.after.returned:
                what = "a layer that is not quantizable triggered"
                yield _finding(what, moment, None, {"returned": False}, {"returned": True})


def _quantizable_kinds(context: Context) -> set[str]:
    kinds = {"plain"}
    kinds |= {"chunked"} if context.dialect.chunked == "as-plain" else set()
    return kinds | ({"rotating"} if context.dialect.rotating != "keep" else set())


def never_acts(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """CT-5: no pass of this scenario may do anything."""
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep):
            yield from _must_not_act("a pass of an unarmed container did something", moment)


def bits_unchecked_below_the_line(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """MQ-0: bits are validated only when something qualifies; below the line a pass raises nothing."""
    for moment in reading.moments(scenario, observation):
        error = moment.after.error
        if isinstance(moment.step, PassStep) and error is not None:
            yield _finding("bits were validated though nothing qualifies", moment, None, None, error.message)


def kept_layers_untouched(
    scenario: ContainerScenario, observation: ContainerObservation, context: Context
) -> Iterator[Finding]:
    """MQ-3: layers that no pass may convert stay the same object with the same look."""
    for moment, step in reading.passes(scenario, observation):
        for place in moment.all_places():
            if not must_stay(moment.old(place), step, context):
                continue
            if place.before != place.after:
                old, new = reading.described(moment.old(place)), reading.described(moment.new(place))
                yield _finding("a layer that must stay was replaced", moment, place, old, new)
            elif differences := _differences(moment.old(place), moment.new(place)):
                yield _finding("a layer that must stay was changed", moment, place, {}, differences)


def must_stay(view: ObjectView, step: PassStep, context: Context) -> bool:
    """Whether a pass leaves this object alone in the declared dialect, whatever its offset."""
    dialect = context.dialect
    if view.kind in ("quantized", "recurrent", "composite"):
        return True
    if view.kind == "rotating":
        return dialect.rotating != "convert"
    if view.kind == "chunked" and (dialect.chunked == "keep" or view.rows != view.offset):
        return True
    if view.kind not in ("plain", "chunked") or view.key_dim is None or dialect.incompatible == "error":
        return False
    return not sizes.usable(dialect.resolver, step.group_size, view.key_dim, view.value_dim)


def _differences(before: ObjectView, after: ObjectView) -> dict[str, tuple[object, object]]:
    """A composite's children may be replaced (MQ-10); they are judged one by one."""
    differences = reading.differing(before, after)
    differences.pop("children", None)
    return differences


def same_number_and_order(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """MQ-4: as many layers as before, each in its place.

    Layers have changed places when one shows the offset and dims that another place had.
    """
    for moment, _ in reading.passes(scenario, observation):
        for holder, before in moment.before.holders.items():
            after = moment.after.holders.get(holder, ())
            if len(after) != len(before):
                yield _finding(
                    f"the number of layers of `{holder}` changed", moment, None, len(before), len(after)
                )
        places = list(moment.places())
        for place in places:
            others = [other for other in places if other != place]
            if _position(moment.new(place)) != _position(moment.old(place)) and any(
                place.after == other.before or _position(moment.new(place)) == _position(moment.old(other))
                for other in others
            ):
                expected, observed = (
                    reading.described(view) for view in (moment.old(place), moment.new(place))
                )
                yield _finding("layers changed places", moment, place, expected, observed)


def _position(view: ObjectView) -> tuple[int | None, int | None, int | None]:
    """What a conversion keeps of a layer, and tells it from others."""
    return view.offset, view.key_dim, view.value_dim


def converted_offset(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-5: a converted layer is quantized, at its source's offset, with as many rows."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.conversions():
            old, new = moment.old(place), moment.new(place)
            expected, observed = ("quantized", old.offset, old.offset), (new.kind, new.offset, new.rows)
            if expected != observed:
                yield _finding(
                    "a converted layer has another kind, offset or rows", moment, place, expected, observed
                )


def converted_bits(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-5: the bits of this very call."""
    for moment, step in reading.passes(scenario, observation):
        for place in moment.conversions():
            bits = moment.new(place).bits
            if bits != step.bits:
                yield _finding(
                    "a converted layer has other bits than the call", moment, place, step.bits, bits
                )


def group_size_usable(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """GS-5: a quantized layer with rows has a supported group size that divides both its dims."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.conversions():
            view = moment.new(place)
            allowed = sizes.compatible(view.key_dim, view.value_dim)
            if view.key_dim is not None and view.group_size not in allowed:
                yield _finding("a group size that cannot be used", moment, place, allowed, view.group_size)


def compatible_request_used(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """GS-8: a request that divides both dims is what a converted layer gets."""
    for moment, step in reading.passes(scenario, observation):
        for place in moment.conversions():
            view = moment.new(place)
            asked = step.group_size
            if asked in sizes.compatible(view.key_dim, view.value_dim) and view.group_size != asked:
                yield _finding("a compatible request was changed", moment, place, asked, view.group_size)


def sources_unchanged(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-6: the object that was replaced looks as it did, whatever is done to its replacement."""
    replaced: set[int] = set()
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep):
            replaced |= {place.before for place in moment.conversions()}
        elif getattr(moment.step, "through", "container") != "container":
            return
        sources = replaced | (_plain_objects(moment) if isinstance(moment.step, PassStep) else set[int]())
        for number in sorted(sources):
            differences = reading.differing(moment.before.objects[number], moment.after.objects[number])
            if differences:
                what = f"the source of a conversion, object {number}, was changed"
                yield _finding(what, moment, None, {}, differences)


def _plain_objects(moment: Moment) -> set[int]:
    """All that a pass may convert: whether it does or not, the object itself stays as it is."""
    return {number for number, view in enumerate(moment.before.objects) if view.kind == "plain"}


def quantized_once(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-12: an object that is quantized is never replaced and keeps bits and group size."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.all_places():
            old, new = moment.old(place), moment.new(place)
            before, after = (place.before, old.bits, old.group_size), (place.after, new.bits, new.group_size)
            if old.kind == "quantized" and before != after:
                expected, observed = _named(before), _named(after)
                yield _finding("a quantized layer was quantized again", moment, place, expected, observed)


def _named(values: tuple[Any, Any, Any]) -> dict[str, Any]:
    return dict(zip(("object", "bits", "group_size"), values, strict=True))


def nothing_after_error(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-13: a pass that failed has changed no list and no object."""
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep) and moment.after.error is not None:
            yield from _must_not_act("a pass failed half way", moment)


def latch_survives_error(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-13: where a pass fails and the next one is fine, that one converts."""
    failed = False
    for moment in reading.moments(scenario, observation):
        if not isinstance(moment.step, PassStep):
            continue
        if failed and moment.after.error is None and not any(moment.conversions()):
            what = "a pass that failed left the container disarmed"
            yield _finding(what, moment, None, "a conversion", "none")
        failed = moment.after.error is not None


def bad_bits_refused(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-14: unsupported bits are a refusal, before anything changes. Every pass here would convert."""
    for moment in reading.moments(scenario, observation):
        error = moment.after.error
        if not isinstance(moment.step, PassStep):
            continue
        if error is None:
            kinds = [moment.new(place).kind for place in moment.places()]
            yield _finding("unsupported bits were accepted", moment, None, "refused", kinds)
        elif error.kind != "refused":
            what = "unsupported bits are no clear refusal"
            yield _finding(what, moment, None, "refused", f"{error.kind}: {error.message}")
        yield from _must_not_act("unsupported bits were refused half way", moment)


def no_pass_raises(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """MQ-17: with bits and a group size that are supported, no pass raises."""
    for moment in reading.moments(scenario, observation):
        if isinstance(moment.step, PassStep) and moment.after.error is not None:
            views = [reading.described(moment.old(place)) for place in moment.places()]
            yield Finding(
                message=f"a pass raised because of a layer: {moment.where}, layers {'; '.join(views)}",
                expected="what cannot be quantized stays",
                observed=moment.after.error.message,
            )


def rows_equal_offset(scenario: ContainerScenario, observation: ContainerObservation) -> Iterator[Finding]:
    """QP-2: no conversion gives a quantized layer whose rows differ from its offset."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.conversions():
            view = moment.new(place)
            if view.kind == "quantized" and view.rows != view.offset:
                what = "a conversion of a layer that dropped rows"
                yield _finding(what, moment, place, {"rows": view.offset}, {"rows": view.rows})


def whole_plain_layer_converts(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """QP-1: a single full plain layer with usable dims, over the line, is converted by a good pass."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.places():
            if moment.old(place).kind == "plain" and moment.new(place).kind != "quantized":
                kind = moment.new(place).kind
                yield _finding(
                    "a plain layer over the line was not converted", moment, place, "quantized", kind
                )


def only_quantizable_convert(
    scenario: ContainerScenario, observation: ContainerObservation
) -> Iterator[Finding]:
    """QP-1: quantized, recurrent and composite layers are never converted."""
    for moment, _ in reading.passes(scenario, observation):
        for place in moment.conversions():
            old = moment.old(place)
            if old.kind in ("quantized", "recurrent", "composite"):
                what = "a layer that is not quantizable was converted"
                yield _finding(what, moment, place, old.kind, reading.described(moment.new(place)))
