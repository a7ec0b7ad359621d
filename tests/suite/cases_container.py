"""Cases of container scenarios."""

from __future__ import annotations

from functools import partial
from typing import Any

from kvconform.invariants import affine, contents, holders, passes
from suite_answers import both, context, dialect, put, scenario
from suite_cases import Case, with_context

ONE = {"kind": "plain", "length": 1}
TWO = {"kind": "plain", "length": 2}
ODD = {"kind": "plain", "length": 1, "key_dim": 80, "value_dim": 80}
SMALL = {"kind": "plain", "length": 1, "key_dim": 32, "value_dim": 32}
ROTATING = {"kind": "rotating", "length": 50}
PASS = {"do": "pass", "bits": 4}
EIGHT = {"do": "pass", "bits": 8, "group_size": 32}
NO_BITS = {"do": "pass"}
SEVEN = {"do": "pass", "bits": 7}
APPEND = {"do": "append", "rows": 1}
ERROR = {"kind": "internal", "message": "oops"}
REFUSED = {"kind": "refused", "message": "no"}
PROPOSAL = context()


def made(layers: list[Any], *steps: Any, **fields: Any) -> Any:
    return scenario("container", layers=layers, steps=list(steps), built={"bits": 4}, **fields)


def quantize_object(step: int, number: int) -> Any:
    """An object that became quantized in place."""
    at = f"steps.{step}.objects.{number}"
    return both(put(f"{at}.kind", "quantized"), put(f"{at}.bits", 4), put(f"{at}.group_size", 64))


def list_object(step: int, number: int, *, place: int = 0) -> Any:
    """Another object in a place of both names of the container."""
    return both(*(put(f"steps.{step}.holders.{name}.{place}", number) for name in ("container", "alias")))


def swap_objects(step: int, one: int, other: int) -> Any:
    def edit(data: Any) -> None:
        objects = data["steps"][step]["objects"]
        objects[one], objects[other] = objects[other], objects[one]

    return edit


def flip_packed(step: int, number: int) -> Any:
    """Another letter at the start of the packed words."""

    def edit(data: Any) -> None:
        packed = data["steps"][step]["objects"][number]["keys"]["packed"]
        packed["data"] = ("B" if packed["data"][0] == "A" else "A") + packed["data"][1:]

    return edit


def copy_record(step: int, source: int) -> Any:
    """A step that changed nothing."""

    def edit(data: Any) -> None:
        for field in ("holders", "objects"):
            data["steps"][step][field] = data["steps"][source][field]

    return edit


CONVERTED = made([ONE], PASS)
KEPT = partial(with_context, context=PROPOSAL)
CONTENT = partial(contents.container_content, accepts=affine.accepts_exactly)

CASES = (
    Case(
        name="a conversion without bits",
        statement=passes.idle_without_bits_or_layers,
        scenario=made([ONE], NO_BITS),
        wrong=quantize_object(1, 0),
        says="a pass without bits or layers did something",
    ),
    Case(
        name="an error over no layers",
        statement=passes.idle_without_bits_or_layers,
        scenario=made([], PASS),
        wrong=put("steps.1.error", ERROR),
        says="a pass without bits or layers raised",
    ),
    Case(
        name="True over no layers",
        statement=passes.idle_without_bits_or_layers,
        scenario=made([], PASS, form="free"),
        wrong=put("steps.1.returned", True),
        says="a pass without bits or layers answered True",
    ),
    Case(
        name="a conversion below the line",
        statement=passes.idle_below_the_line,
        scenario=made([ONE], {**PASS, "start": 2}),
        wrong=quantize_object(1, 0),
        says="a pass below the line did something",
    ),
    Case(
        name="a rotating layer that triggers",
        statement=KEPT(passes.idle_unless_quantizable_qualifies),
        scenario=made([ROTATING, ONE], {**PASS, "start": 10}),
        wrong=quantize_object(1, 1),
        says="a layer that is not quantizable triggered",
    ),
    Case(
        name="a rotating layer that is said to trigger",
        statement=KEPT(passes.idle_unless_quantizable_qualifies),
        scenario=made([ROTATING], {**PASS, "start": 10}, form="free"),
        wrong=put("steps.1.returned", True),
        says="a layer that is not quantizable triggered",
    ),
    Case(
        name="an unarmed container that acts",
        statement=passes.never_acts,
        scenario=scenario("container", layers=[ONE], steps=[PASS]),
        wrong=quantize_object(1, 0),
        says="a pass of an unarmed container did something",
    ),
    Case(
        name="bits validated too early",
        statement=passes.bits_unchecked_below_the_line,
        scenario=made([ONE], {**SEVEN, "start": 2}),
        wrong=put("steps.1.error", REFUSED),
        says="bits were validated though nothing qualifies",
    ),
    Case(
        name="a kept layer that is replaced",
        statement=KEPT(passes.kept_layers_untouched),
        scenario=made([ODD, ONE], PASS),
        wrong=list_object(1, 2),
        says="a layer that must stay was replaced",
    ),
    Case(
        name="a kept layer that loses rows",
        statement=KEPT(passes.kept_layers_untouched),
        scenario=made([ROTATING, ONE], PASS),
        wrong=put("steps.1.objects.0.rows", 49),
        says="a layer that must stay was changed",
    ),
    Case(
        name="a child that must stay inside a composite",
        statement=KEPT(passes.kept_layers_untouched),
        scenario=made([{"kind": "composite", "children": [{"kind": "recurrent"}]}, ONE], PASS),
        wrong=put("steps.1.objects.1.state", [1, 2]),
        says="a layer that must stay was changed",
    ),
    Case(
        name="a layer that is lost",
        statement=passes.same_number_and_order,
        scenario=made([ONE, TWO], PASS),
        wrong=lambda data: data["steps"][1]["holders"]["container"].pop(),
        says="the number of layers of `container` changed",
    ),
    Case(
        name="two layers that changed places",
        statement=passes.same_number_and_order,
        scenario=made([ONE, TWO], PASS),
        wrong=both(list_object(1, 3), list_object(1, 2, place=1)),
        says="layers changed places",
    ),
    Case(
        name="a converted layer at another offset",
        statement=passes.converted_offset,
        scenario=CONVERTED,
        wrong=put("steps.1.objects.1.offset", 0),
        says="a converted layer has another kind, offset or rows",
    ),
    Case(
        name="a converted layer with spare rows",
        statement=passes.converted_offset,
        scenario=CONVERTED,
        wrong=put("steps.1.objects.1.rows", 256),
        says="a converted layer has another kind, offset or rows",
    ),
    Case(
        name="the container's bits instead of the call's",
        statement=passes.converted_bits,
        scenario=made([ONE], EIGHT),
        wrong=put("steps.1.objects.1.bits", 4),
        says="a converted layer has other bits than the call",
    ),
    Case(
        name="a group size that does not divide",
        statement=passes.group_size_usable,
        scenario=CONVERTED,
        wrong=put("steps.1.objects.1.group_size", 128),
        says="a group size that cannot be used",
    ),
    Case(
        name="a compatible request that is changed",
        statement=passes.compatible_request_used,
        scenario=CONVERTED,
        wrong=put("steps.1.objects.1.group_size", 32),
        says="a compatible request was changed",
    ),
    Case(
        name="a source that is emptied",
        statement=passes.sources_unchanged,
        scenario=CONVERTED,
        wrong=put("steps.1.objects.0.offset", 0),
        says="the source of a conversion, object 0, was changed",
    ),
    Case(
        name="a source that grows with its replacement",
        statement=passes.sources_unchanged,
        scenario=made([ONE], PASS, APPEND),
        wrong=put("steps.2.objects.0.offset", 2),
        says="the source of a conversion, object 0, was changed",
    ),
    Case(
        name="a source that was quantized in place",
        statement=passes.sources_unchanged,
        scenario=CONVERTED,
        wrong=quantize_object(1, 0),
        says="the source of a conversion, object 0, was changed",
    ),
    Case(
        name="a second conversion",
        statement=passes.quantized_once,
        scenario=made([ONE], PASS, EIGHT),
        wrong=put("steps.2.objects.1.bits", 8),
        says="a quantized layer was quantized again",
    ),
    Case(
        name="half a pass",
        statement=passes.nothing_after_error,
        scenario=made([ONE, TWO], SEVEN),
        wrong=quantize_object(1, 0),
        says="a pass failed half way",
    ),
    Case(
        name="an error that disarms",
        statement=passes.latch_survives_error,
        scenario=made([ONE], SEVEN, PASS),
        wrong=copy_record(2, 1),
        says="a pass that failed left the container disarmed",
    ),
    Case(
        name="bits that are accepted",
        statement=passes.bad_bits_refused,
        scenario=made([ONE], SEVEN),
        wrong=put("steps.1.error", None),
        says="unsupported bits were accepted",
    ),
    Case(
        name="bits that trap",
        statement=passes.bad_bits_refused,
        scenario=made([ONE], SEVEN),
        wrong=put("steps.1.error", ERROR),
        says="unsupported bits are no clear refusal",
    ),
    Case(
        name="bits refused after a conversion",
        statement=passes.bad_bits_refused,
        scenario=made([ONE, TWO], SEVEN),
        wrong=quantize_object(1, 0),
        says="unsupported bits were refused half way",
    ),
    Case(
        name="a pass that raises",
        statement=passes.no_pass_raises,
        scenario=made([ODD, ONE], PASS),
        wrong=put("steps.1.error", REFUSED),
        says="a pass raised because of a layer",
    ),
    Case(
        name="a converted chunked layer that had dropped rows",
        statement=passes.rows_equal_offset,
        scenario=made([{"kind": "chunked", "length": 3, "chunk_size": 4}], PASS),
        wrong=put("steps.1.objects.1.rows", 2),
        says="a conversion of a layer that dropped rows",
    ),
    Case(
        name="a plain layer that is left",
        statement=passes.whole_plain_layer_converts,
        scenario=CONVERTED,
        wrong=copy_record(1, 0),
        says="a plain layer over the line was not converted",
    ),
    Case(
        name="a recurrent layer that is converted",
        statement=passes.only_quantizable_convert,
        scenario=made([{"kind": "recurrent"}, ONE], PASS),
        wrong=list_object(1, 2),
        says="a layer that is not quantizable was converted",
    ),
    Case(
        name="copies instead of the given objects",
        statement=holders.holds_what_it_was_given,
        scenario=made([ONE, TWO]),
        wrong=put("steps.0.holders.container", [1, 0]),
        says="the container does not hold the objects it was given",
    ),
    Case(
        name="a replacement that is no conversion",
        statement=holders.holds_what_it_was_given,
        scenario=made([ONE], PASS),
        wrong=put("steps.1.objects.1.kind", "plain"),
        says="layer 0 was replaced without being converted",
    ),
    Case(
        name="rows dropped by asking",
        statement=holders.same_fill_as_given,
        scenario=made([{"kind": "chunked", "length": 5, "chunk_size": 4}]),
        wrong=put("steps.0.objects.0.rows", 4),
        says="asking changed layer 0",
    ),
    Case(
        name="arrays given by asking",
        statement=holders.same_fill_as_given,
        scenario=made([{"kind": "recurrent", "filled": False}]),
        wrong=put("steps.0.objects.0.state", [0, 1]),
        says="asking changed layer 0",
    ),
    Case(
        name="dims given by asking",
        statement=holders.same_fill_as_given,
        scenario=made([{"kind": "plain"}]),
        wrong=put("steps.0.objects.0.key_dim", 64),
        says="asking changed layer 0",
    ),
    Case(
        name="an alias that lags behind",
        statement=holders.holders_agree,
        scenario=CONVERTED,
        wrong=put("steps.1.holders.alias", [0]),
        says="who holds the container does not see its layers",
    ),
    Case(
        name="a model asked twice",
        statement=holders.asked_once,
        scenario=made([ONE], given="model"),
        wrong=put("list_requests", 2),
        says="the model was asked for a list another number of times",
    ),
    Case(
        name="a model asked although there is a list",
        statement=holders.asked_once,
        scenario=made([], given="list"),
        wrong=put("list_requests", 1),
        says="the model was asked for a list another number of times",
    ),
    Case(
        name="an empty list that is filled",
        statement=holders.asked_once,
        scenario=made([]),
        wrong=both(
            put("steps.0.holders.container", [0]),
            put("steps.0.objects", [{"kind": "plain", "offset": 0, "rows": 0}]),
        ),
        says="an explicitly empty list did not stay empty",
    ),
    Case(
        name="a twin that follows",
        statement=holders.twins_independent,
        scenario=made([ONE], PASS, twin=True),
        wrong=put("steps.1.holders.twin", [1]),
        says="a conversion in one container reached the other",
    ),
    Case(
        name="a twin whose objects were converted in place",
        statement=holders.twins_independent,
        scenario=made([ONE], PASS, twin=True),
        wrong=quantize_object(1, 0),
        says="a conversion in one container changed the other's objects",
    ),
    Case(
        name="a layer that is not converted when it gets there",
        statement=holders.converts_when_reached,
        scenario=made([ONE], {**PASS, "start": 2}, {"do": "append", "rows": 2}, {**PASS, "start": 2}),
        wrong=copy_record(3, 2),
        says="a layer at offset 3 is plain",
    ),
    Case(
        name="a disarmed container that looks",
        statement=KEPT(holders.no_looks_when_disarmed),
        scenario=made([ONE], PASS, PASS, observe={"accesses": True}),
        wrong=put("steps.2.accesses", 1),
        says="a disarmed pass looked at layers",
    ),
    Case(
        name="a settled container that looks at a layer it cannot convert",
        statement=with_context(holders.no_looks_when_disarmed, context(dialect(latch="when-settled"))),
        scenario=made([ODD], PASS, PASS, observe={"accesses": True}),
        wrong=put("steps.2.accesses", 3),
        says="a disarmed pass looked at layers",
        dialect=dialect(latch="when-settled"),
    ),
    Case(
        name="a trim of the source instead",
        statement=holders.trims_the_converted,
        scenario=made([ONE], PASS, {"do": "trim", "rows": 1}),
        wrong=put("steps.2.objects.1.offset", 1),
        says="a trim did not trim quantized layer 0",
    ),
    Case(
        name="a trim of the source too",
        statement=holders.trims_the_converted,
        scenario=made([ONE], PASS, {"do": "trim", "rows": 1}),
        wrong=both(put("steps.2.objects.0.offset", 0), put("steps.2.objects.0.rows", 0)),
        says="a trim reached object 0, the source of a conversion",
    ),
    Case(
        name="dims before the first write",
        statement=holders.looks_show_stored_dims,
        scenario=made([{"kind": "plain", "key_dim": 96}], APPEND),
        wrong=put("steps.0.objects.0.key_dim", 96),
        says="wrong head dims of layer 0, plain",
    ),
    Case(
        name="a value dim taken from the keys",
        statement=holders.looks_show_stored_dims,
        scenario=made([{"kind": "plain", "key_dim": 96}], APPEND),
        wrong=put("steps.1.objects.0.value_dim", 96),
        says="wrong head dims of layer 0, plain",
    ),
    Case(
        name="other words than the rows give",
        statement=CONTENT,
        scenario=made([SMALL], PASS, observe={"content": True}),
        wrong=flip_packed(1, 1),
        says="wrong content of a quantized cache",
    ),
    Case(
        name="a row too few behind an append",
        statement=CONTENT,
        scenario=made([SMALL], PASS, APPEND, observe={"content": True}),
        wrong=put("steps.2.objects.1.rows", 1),
        says="wrong rows of a quantized cache",
    ),
    Case(
        name="keys in the place of values",
        statement=CONTENT,
        scenario=made([SMALL], PASS, observe={"content": True}),
        wrong=lambda data: data["steps"][1]["objects"][0].update(
            values=data["steps"][1]["objects"][0]["keys"]
        ),
        says="wrong content of a plain cache",
    ),
    Case(
        name="rows of another layer",
        statement=CONTENT,
        scenario=made([SMALL, SMALL], PASS, observe={"content": True}),
        wrong=swap_objects(1, 2, 3),
        says="wrong content of a quantized cache",
    ),
)
