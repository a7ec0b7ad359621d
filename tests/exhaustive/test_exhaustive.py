"""The exhaustive run: what it enumerates, that the reference passes, that wrong implementations do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kvconform.exhaustive import alphabet, laws, run
from kvconform.faults import faulty
from kvconform.implementations import reference
from kvconform.requirements import catalogue
from kvconform.scenario import SCENARIO, as_data
from kvconform_reference.dialect import DIALECTS

PAGE = Path(__file__).parents[2] / "docs" / "exhaustive.md"
SHORT = tuple(names for names in alphabet.layer_lists() if len(names) <= 2)


def test_the_page_names_the_alphabet_and_its_size() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert tables == [*alphabet.LAYERS, *alphabet.STEPS]
    assert f"{alphabet.scenario_count():,} scenarios" in text


def test_the_count_is_that_of_all_lists_and_all_sequences() -> None:
    lists, sequences = 1 + 8 + 8**2 + 8**3, 1 + 4 + 4**2 + 4**3
    assert alphabet.scenario_count() == lists * sequences * len(DIALECTS) == 348_075


def test_every_sequence_is_judged_once() -> None:
    fresh = [
        (steps[: number + 1])
        for _, steps, judged in alphabet.enumerated((("S2",),))
        for number in range(judged, len(steps))
    ]
    assert len(fresh) == len(set(fresh)) == 4 + 4**2 + 4**3


def test_a_scenario_of_the_alphabet_is_a_valid_scenario() -> None:
    made = alphabet.scenario(tuple(alphabet.LAYERS), tuple(alphabet.STEPS), DIALECTS["proposal"])
    assert SCENARIO.validate_python(as_data(made), strict=False) == made


def test_each_law_states_a_requirement_of_the_catalogue() -> None:
    assert {law.requirement for law in laws.LAWS} <= set(catalogue())


@pytest.mark.parametrize("name", DIALECTS)
def test_no_law_is_broken_by_the_reference_on_lists_of_up_to_two_layers(name: str) -> None:
    found = run.judge_lists(reference.factory(DIALECTS[name]), SHORT, dialect=name)
    assert [str(breach) for breach in found.breaches] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)  # 50 s on two free cores
def test_no_law_is_broken_by_the_reference_in_any_scenario() -> None:
    found = run.run_everything()
    assert found.scenarios == alphabet.scenario_count()
    assert [str(breach) for breach in found.breaches] == []


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("offset-lost-in-conversion", "MQ-5 converted_offset"),
        ("kept-layers-are-rebuilt", "MQ-3 kept_layers_untouched"),
        ("falls-back-to-32", "GS-5 group_size_usable"),
        ("source-emptied-by-conversion", "MQ-6 sources_unchanged"),
        ("requantizes-at-other-bits", "MQ-12 quantized_once"),
        ("idle-pass-rebuilds-the-list", "MQ-2 idle_below_the_line"),
        ("containers-share-a-list", "CT-10 twins_independent"),
        ("container-is-a-value", "CT-2 holders_agree"),
        ("misfit-raises", "MQ-17 no_pass_raises"),
        ("half-converted-on-an-error", "MQ-13 nothing_after_error"),
        ("kept-layers-are-dropped", "MQ-4 same_number_and_order"),
        ("any-kind-triggers", "TH-5 idle_unless_quantizable_qualifies"),
        ("trim-reaches-the-source", "RF-3 trims_the_converted"),
    ],
)
def test_a_wrong_implementation_breaks_the_law_that_is_about_it(name: str, law: str) -> None:
    bench = run.bench_of(faulty(name), dialect="its own")
    breaches = (
        breach
        for layers, steps, judged in alphabet.enumerated(SHORT)
        for breach in bench.judge(layers, steps, judged=judged)
    )
    assert any(breach.law == law for breach in breaches)


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    context = run.context_of(reference.factory(), budget="default")
    one, again, other = (list(run.drawn(context, sample=50, seed=seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 50


def test_a_sample_leaves_out_what_is_not_declared() -> None:
    context = run.context_of(reference.factory(), budget="default")
    few = context.info.capabilities.model_copy(update={"layers": ("plain", "quantized")})
    narrow = type(context)(
        info=context.info.model_copy(update={"capabilities": few}), dialect=context.dialect
    )
    used = {name for layers, _ in run.drawn(narrow, sample=10_000, seed=0) for name in layers}
    assert used == {"E", "S2", "S3", "D4", "Q3"}


def test_a_sample_finds_a_fault() -> None:
    found = run.run_sample(faulty("offset-lost-in-conversion"), sample=100, seed=3)
    assert found.scenarios == 100
    assert found.breached


def test_an_implementation_that_raises_breaks_its_answer() -> None:
    class Raising:
        info = reference.factory().info

        def run(self, scenario: object) -> object:
            raise RuntimeError("out of order")

    found = run.run_sample(Raising(), sample=3, seed=0)  # pyright: ignore
    assert [breach.law for breach in found.breaches] == ["answer"] * 3
