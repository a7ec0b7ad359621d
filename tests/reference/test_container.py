"""The container: sections CT and RF of the specification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from kvconform_reference import caches
from kvconform_reference.container import CacheContainer
from kvconform_reference.dialect import DIALECTS, PROPOSAL, Dialect
from notation import (
    chunked,
    composite,
    content,
    plain,
    quantized,
    recurrent,
    rotating,
    show_all,
    trimmed,
    write,
)

SETTLING = Dialect(scope="per-layer", latch="when-settled", empty_layer="wait", threshold="above")


@dataclass(frozen=True)
class Options:
    bits: int | None = 4
    group_size: int = 64


class Model:
    def __init__(self, *layers: Any) -> None:
        self.made = list(layers)
        self.asked: list[Any] = []

    def new_cache(self, parameters: Any) -> list[Any]:
        self.asked.append(parameters)
        return self.made


@pytest.mark.requirement("CT-0", "MQ-5")
def test_the_group_size_of_construction_has_no_effect() -> None:
    container = CacheContainer([plain(12, 128)], bits=4, group_size=32)
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["Q12:64,4"]


@pytest.mark.requirement("CT-1", "CT-2")
def test_the_container_holds_the_given_objects_until_they_are_converted() -> None:
    layers = [plain(12), recurrent()]
    container = CacheContainer(layers, bits=4)
    alias = container
    assert all(held is given for held, given in zip(container.layers, layers, strict=True))
    container.maybe_quantize(4)
    assert show_all(alias.layers) == ["Q12:64,4", "M"]
    assert alias.layers[1] is layers[1]


@pytest.mark.requirement("CT-3")
@pytest.mark.parametrize(
    ("owner", "seen_by_caller"),
    [("container", ["S12"]), ("new-list", ["S12"]), ("caller-list", ["Q14:64,4"])],
)
def test_what_the_holder_of_the_callers_list_sees(owner: Any, seen_by_caller: list[str]) -> None:
    mine = [plain(12)]
    container = CacheContainer(mine, bits=4, dialect=Dialect(owner=owner))
    container.maybe_quantize(4, 64, 10)
    write(container.layers[0], 2)
    assert show_all(container.layers) == ["Q14:64,4"]
    assert show_all(mine) == seen_by_caller


@pytest.mark.requirement("CT-3", "MQ-6")
def test_a_list_that_the_container_handed_out_is_not_changed_under_its_holder() -> None:
    container = CacheContainer([plain(12)], bits=4)
    handed_out = container.layers
    container.maybe_quantize(4)
    assert show_all(handed_out) == ["S12"]
    assert show_all(container.layers) == ["Q12:64,4"]


@pytest.mark.requirement("CT-4")
@pytest.mark.parametrize(
    ("layer", "dialect", "armed"),
    [
        (plain(0), PROPOSAL, True),
        (plain(5, 80), PROPOSAL, True),
        (chunked(20, dropped=True), PROPOSAL, True),
        (chunked(20), Dialect(chunked="keep"), False),
        (rotating(5), PROPOSAL, False),
        (rotating(5), Dialect(rotating="convert"), True),
        (quantized(5), PROPOSAL, False),
        (recurrent(), PROPOSAL, False),
        (composite(plain(5)), PROPOSAL, False),
        (composite(plain(5)), Dialect(nested="recurse"), True),
    ],
)
def test_a_container_is_armed_only_with_a_quantizable_layer(
    layer: Any, dialect: Dialect, armed: bool
) -> None:
    assert CacheContainer([recurrent(), layer], bits=4, dialect=dialect).armed is armed


@pytest.mark.requirement("CT-4")
def test_the_first_triggering_pass_is_the_last_one() -> None:
    container = CacheContainer([plain(12), plain(0)], bits=4)
    container.maybe_quantize(4, 64, 10)
    assert not container.armed
    write(container.layers[1], 20, plain(1).shape)
    for bits, group_size, start in ((8, 32, 0), (4, 64, 10), (7, -3, -1)):
        container.maybe_quantize(bits, group_size, start)
    assert show_all(container.layers) == ["Q12:64,4", "S20"]


@pytest.mark.requirement("CT-5")
def test_a_container_built_without_bits_never_quantizes() -> None:
    container = CacheContainer([plain(12)])
    container.maybe_quantize(4, 64, 0)
    assert show_all(container.layers) == ["S12"]


@pytest.mark.requirement("CT-6")
def test_the_bits_of_the_call_win() -> None:
    container = CacheContainer([plain(12)], bits=4)
    container.maybe_quantize(None, 64, 0)
    assert container.armed
    assert show_all(container.layers) == ["S12"]
    container.maybe_quantize(8, 64, 0)
    assert show_all(container.layers) == ["Q12:64,8"]


@pytest.mark.requirement("CT-7")
def test_a_pass_over_empty_layers_at_start_0_disarms_for_good() -> None:
    container = CacheContainer([plain(0), plain(0)], bits=4)
    container.maybe_quantize(4, 64, 0)
    assert not container.armed
    for layer in container.layers:
        write(layer, 20, plain(1).shape)
    container.maybe_quantize(4, 64, 0)
    assert show_all(container.layers) == ["S20", "S20"]


@pytest.mark.requirement("CT-7", "TH-2")
def test_a_design_that_waits_for_empty_layers_stays_armed() -> None:
    container = CacheContainer([plain(12), plain(0)], bits=4, dialect=Dialect(empty_layer="wait"))
    container.maybe_quantize(4, 64, 10)
    assert container.armed
    write(container.layers[1], 20, plain(1).shape)
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["Q12:64,4", "Q20:64,4"]
    assert not container.armed


@pytest.mark.requirement("CT-7", "QP-2")
@pytest.mark.parametrize("layer", [plain(12, 80), chunked(20, dropped=True)])
def test_layers_that_cannot_be_converted_disarm_at_the_first_crossing(layer: Any) -> None:
    container = CacheContainer([layer], bits=4)
    container.maybe_quantize(4, 64, 30)
    assert container.armed
    container.maybe_quantize(4, 64, 10)
    assert not container.armed
    assert container.layers[0] is layer


@pytest.mark.requirement("CT-8")
@pytest.mark.parametrize("name", DIALECTS)
def test_below_the_line_it_stays_armed_and_converts_once_the_line_is_reached(name: str) -> None:
    dialect = DIALECTS[name]
    container = CacheContainer([plain(9)], bits=4, dialect=dialect)
    container.maybe_quantize(4, 64, 10)
    assert container.armed
    assert show_all(container.layers) == ["S9"]
    write(container.layers[0], 2)
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["Q11:64,4"]


@pytest.mark.requirement("CT-9")
def test_the_model_is_asked_once_with_the_same_parameters() -> None:
    model, parameters = Model(plain(0), recurrent()), Options()
    container = CacheContainer(model=model, parameters=parameters)
    assert model.asked == [parameters]
    assert model.asked[0] is parameters
    assert container.armed
    assert all(held is made for held, made in zip(container.layers, model.made, strict=True))


@pytest.mark.requirement("CT-9")
def test_an_empty_list_stays_empty_and_a_given_one_is_used() -> None:
    model = Model(plain(0))
    assert CacheContainer([], model=model, parameters=Options()).layers == []
    mine = [plain(5)]
    assert CacheContainer(mine, model=model, parameters=Options()).layers == mine
    assert model.asked == []


@pytest.mark.requirement("CT-9")
def test_neither_layers_nor_a_model_is_an_error() -> None:
    with pytest.raises(ValueError, match="give a cache list, or a model"):
        CacheContainer(bits=4)


@pytest.mark.requirement("CT-10")
def test_two_containers_over_the_same_objects_are_independent() -> None:
    layers = [plain(12), plain(3)]
    first, second = CacheContainer(layers, bits=4), CacheContainer(list(layers), bits=8)
    before = [content(layer) for layer in layers]
    first.maybe_quantize(4, 64, 10)
    write(first.layers[0], 5)
    assert second.layers == layers
    assert [content(layer) for layer in second.layers] == before
    second.maybe_quantize(8, 64, 10)
    assert show_all(first.layers) == ["Q17:64,4", "Q3:64,4"]
    assert show_all(second.layers) == ["Q12:64,8", "Q3:64,8"]


class Recording(caches.PlainCache):
    """Counts every look at it."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        type(self).looks += 1
        return super().__getattribute__(name)


@pytest.mark.requirement("CT-11")
@pytest.mark.parametrize("dialect", [PROPOSAL, SETTLING])
def test_a_disarmed_container_looks_at_no_layer(dialect: Dialect) -> None:
    incompatible = Recording()
    write(incompatible, 12, plain(1, 80).shape)
    container = CacheContainer([incompatible], bits=4, dialect=dialect)
    Recording.looks = 0
    container.maybe_quantize(4, 64, 10)
    assert Recording.looks > 0, "an armed one does look"
    Recording.looks = 0
    container.maybe_quantize(4, 64, 0)
    assert not container.armed
    assert Recording.looks == 0


@pytest.mark.requirement("CT-12")
def test_when_settled_stays_armed_for_empty_layers_and_layers_below_the_line() -> None:
    for late in (plain(0), plain(3)):
        container = CacheContainer([plain(12), late], dialect=SETTLING)
        container.maybe_quantize(4, 64, 10)
        assert container.armed
        assert show_all(container.layers)[0] == "Q12:64,4"
        write(container.layers[1], 20, plain(1).shape)
        container.maybe_quantize(4, 64, 10)
        assert not container.armed
        assert [layer.kind for layer in container.layers] == ["quantized", "quantized"]


@pytest.mark.requirement("CT-12")
@pytest.mark.parametrize(
    ("layers", "armed"),
    [
        ([plain(12), plain(12, 80)], False),
        ([plain(12), plain(3, 80)], True),
        ([plain(12), chunked(20, dropped=True)], False),
        ([rotating(3), recurrent(), quantized(3)], False),
        ([plain(12), rotating(3), recurrent(), composite(recurrent())], False),
    ],
)
def test_when_settled_disarms_iff_the_rest_is_over_the_line_and_incompatible(
    layers: list[Any], armed: bool
) -> None:
    container = CacheContainer(layers, dialect=SETTLING)
    container.maybe_quantize(4, 64, 10)
    assert container.armed is armed


@pytest.mark.requirement("CT-12")
def test_when_settled_stays_armed_for_a_layer_over_the_line_that_a_later_pass_can_convert() -> None:
    empty = CacheContainer([plain(0)], dialect=replace(SETTLING, threshold="at-least"))
    empty.maybe_quantize(4, 64, 0)
    assert show_all(empty.layers) == ["S0"]
    assert empty.armed
    first = rotating(3)
    held_up = CacheContainer([first, plain(12)], dialect=replace(SETTLING, scope="first-then-all"))
    held_up.maybe_quantize(4, 64, 10)
    assert show_all(held_up.layers) == ["R3", "S12"]
    assert held_up.armed
    write(first, 9)
    held_up.maybe_quantize(4, 64, 10)
    assert show_all(held_up.layers) == ["R12", "Q12:64,4"]
    assert not held_up.armed


@pytest.mark.requirement("CT-12")
def test_a_call_without_bits_settles_nothing() -> None:
    container = CacheContainer([plain(12, 80)], dialect=SETTLING)
    container.maybe_quantize(None, 64, 10)
    assert container.armed


@pytest.mark.requirement("CT-12")
@pytest.mark.parametrize(("dialect", "armed"), [(SETTLING, True), (PROPOSAL, False)])
def test_a_new_iterator_rearms_only_when_settled_designs(dialect: Dialect, armed: bool) -> None:
    container = CacheContainer([plain(12)], bits=4, dialect=dialect)
    container.maybe_quantize(4, 64, 10)
    assert not container.armed
    container.rearm()
    assert container.armed is armed


@pytest.mark.requirement("CT-12")
def test_when_settled_looks_into_composites_where_the_design_does() -> None:
    dialect = replace(SETTLING, nested="recurse")
    container = CacheContainer([composite(recurrent(), plain(3))], dialect=dialect)
    container.maybe_quantize(4, 64, 10)
    assert container.armed
    write(container.layers[0].children[1], 20)
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["L(M,Q23:64,4)"]
    assert not container.armed


@pytest.mark.requirement("CT-12")
def test_first_layer_designs_skip_and_designs_without_a_latch_never_do() -> None:
    latched = CacheContainer([plain(12), plain(0)], dialect=DIALECTS["mlx-lm-0.28"])
    assert latched.armed
    latched.maybe_quantize(4, 64, 10)
    assert not latched.armed
    free = CacheContainer([plain(12), plain(3)], dialect=DIALECTS["mlx-lm"])
    free.maybe_quantize(4, 64, 10)
    write(free.layers[1], 20)
    free.maybe_quantize(8, 64, 10)
    assert show_all(free.layers) == ["Q12:64,4", "Q23:64,8"]
    assert free.armed


@pytest.mark.requirement("MQ-13", "MQ-14")
@pytest.mark.parametrize("name", DIALECTS)
def test_a_pass_that_fails_leaves_list_and_latch_as_they_were(name: str) -> None:
    layers = [plain(12), plain(13)]
    container = CacheContainer(layers, bits=4, dialect=DIALECTS[name])
    with pytest.raises(ValueError, match="bits 7"):
        container.maybe_quantize(7, 64, 10)
    assert container.armed
    assert list(container.layers) == layers
    container.maybe_quantize(8, 64, 10)
    assert show_all(container.layers) == ["Q12:64,8", "Q13:64,8"]


@pytest.mark.requirement("TH-3", "MQ-14")
def test_a_refusing_design_refuses_bad_options_at_construction_and_in_every_call() -> None:
    dialect = DIALECTS["mlx-swift-lm"]
    model = Model(plain(0))
    for options in (Options(bits=7), Options(group_size=0)):
        with pytest.raises(ValueError, match=r"use one of|give 32, 64 or 128"):
            CacheContainer(model=model, parameters=options, dialect=dialect)
    assert model.asked == []
    container = CacheContainer([plain(5)], bits=4, dialect=dialect)
    with pytest.raises(ValueError, match="start -1 is negative"):
        container.maybe_quantize(4, 64, -1)
    assert show_all(container.layers) == ["S5"]


@pytest.mark.requirement("RF-3", "QC-4")
def test_trimming_through_the_container_trims_the_converted_layer() -> None:
    mine = [plain(12)]
    container = CacheContainer(mine, bits=4)
    container.maybe_quantize(4)
    assert container.layers[0].trim(5) == 5
    assert show_all([*container.layers, *mine]) == ["Q7:64,4", "S12"]


@pytest.mark.requirement("RF-2", "CT-3")
def test_the_callers_list_loses_what_came_after_a_conversion() -> None:
    mine = [plain(12)]
    first = CacheContainer(mine, bits=4)
    first.maybe_quantize(4)
    write(first.layers[0], 6)
    assert show_all(CacheContainer(mine, bits=4).layers) == ["S12"]


@pytest.mark.requirement("CT-3")
@pytest.mark.parametrize("owner", ["container", "new-list"])
def test_a_container_that_owns_its_list_does_not_follow_the_callers(owner: Any) -> None:
    mine = [plain(12)]
    container = CacheContainer(mine, bits=4, dialect=Dialect(owner=owner))
    mine.append(plain(3))
    assert show_all(container.layers) == ["S12"]


@pytest.mark.requirement("CT-12")
def test_a_first_layer_latch_goes_on_while_layer_0_is_not_quantized() -> None:
    container = CacheContainer([plain(0), plain(12)], bits=4, dialect=Dialect(latch="first-layer"))
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["S0", "Q12:64,4"]
    assert container.armed
    write(container.layers[0], 12)
    container.maybe_quantize(4, 64, 10)
    assert show_all(container.layers) == ["Q12:64,4", "Q12:64,4"]


@pytest.mark.requirement("MQ-5")
def test_a_call_that_names_no_group_size_requests_64() -> None:
    container = CacheContainer([plain(5, 128)], bits=4, dialect=Dialect(resolver="exact"))
    container.maybe_quantize(4)
    assert show_all(container.layers) == ["Q5:64,4"]


@pytest.mark.requirement("TH-2", "MQ-16")
@pytest.mark.parametrize(("threshold", "expected"), [("at-least", "Q0:64,4"), ("above", "S0")])
def test_a_call_that_names_no_start_starts_at_0(threshold: Any, expected: str) -> None:
    container = CacheContainer([trimmed()], bits=4, dialect=Dialect(threshold=threshold))
    container.maybe_quantize(4)
    assert show_all(container.layers) == [expected]


def test_a_container_tells_its_dialect() -> None:
    dialect = Dialect(latch="none")
    assert CacheContainer([], dialect=dialect).dialect is dialect


def test_what_a_container_is_built_with_is_named_but_for_the_list() -> None:
    with pytest.raises(TypeError, match="positional"):
        CacheContainer([], 4)  # pyright: ignore[reportCallIssue]
