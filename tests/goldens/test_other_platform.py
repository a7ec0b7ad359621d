"""Another platform, simulated by one unit in the last place: its streams are accepted, wrong ones are not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest

mx: Any = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.generate import cases, check, compare, golden, platforms, reference_run, tolerances  # noqa: E402
from kvconform.generate.golden import Golden  # noqa: E402
from kvconform.models import perturb, tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402
from kvconform.models.loaded import LoadedModel  # noqa: E402
from kvconform.observation import GenerateObservation  # noqa: E402
from kvconform.scenario import GenerateScenario, Parameters  # noqa: E402
from stream_samples import ELSEWHERE, STREAMS  # noqa: E402

pytestmark = [pytest.mark.mlx, pytest.mark.goldens]

SPECS = list(tiny.catalogue().values())
CONVERTING = [spec for spec in SPECS if spec.convertible and spec.reads_packed]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process believes to be on another platform class than the goldens were recorded on."""
    monkeypatch.setattr(platforms, "platform_class", lambda: ELSEWHERE)


def recorded(key: str) -> Golden:
    return golden.read(STREAMS / f"{key}.json")


def judged(key: str, *, nudged: bool = True) -> compare.Verdict:
    """The verdict on a case whose model rounds differently."""
    with ExitStack() as stack:
        if nudged:
            stack.enter_context(perturb.perturbed(load_model(key.partition("/")[0]).model))
        return check.check_case(cases.all_cases()[key], folder=STREAMS)


# ---------------------------------------------------------------- accepted


@pytest.mark.parametrize("name", ["short-full", "short-8bit-g64", "short-4bit-g64-start40", "short-2bit-g64"])
@pytest.mark.parametrize("spec", CONVERTING, ids=lambda spec: spec.name)
def test_a_stream_of_a_platform_that_rounds_differently_is_accepted(
    elsewhere: None, spec: tiny.TinySpec, name: str
) -> None:
    verdict = judged(f"{spec.name}/{name}")
    assert verdict.accepted, verdict.text


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if "error" in spec.mlx_lm[64]], ids=lambda spec: spec.name
)
def test_where_mlx_lm_dies_it_dies_on_another_platform_too(elsewhere: None, spec: tiny.TinySpec) -> None:
    assert judged(f"{spec.name}/mlx-lm-short-4bit-g64-start40").accepted


def test_the_recording_platform_does_not_accept_the_same_differences() -> None:
    """Of the streams that another platform may give, some differ from the file in a margin."""
    verdicts = [judged(f"{spec.name}/short-8bit-g64") for spec in CONVERTING]
    assert not all(verdict.accepted for verdict in verdicts)


@pytest.mark.smollm2
def test_smollm2_is_accepted_from_a_platform_that_rounds_differently(
    smollm2: None, elsewhere: None, goldens_full: None
) -> None:
    for name in ("code-full", "code-8bit-g32", "sea-4bit-g32-start48"):
        verdict = judged(f"smollm2/{name}")
        assert verdict.accepted, verdict.text


# ---------------------------------------------------------------- rejected


def wrong(spec: tiny.TinySpec, name: str, **parameters: Any) -> tuple[Golden, GenerateObservation]:
    """A golden, and the margins of other parameters forced on its tokens; all else looks as recorded."""
    right = recorded(f"{spec.name}/{name}")
    scenario = GenerateScenario(
        model=spec.name,
        prompt=right.scenario.prompt,
        parameters=right.scenario.parameters.model_copy(update=parameters),
        force=right.expected.tokens,
    )
    found = reference_run.run(scenario, load_model(spec.name))
    same = {name: getattr(right.expected, name) for name in ("conversions", "position", "nbytes", "error")}
    return right, found.model_copy(update=same)


@pytest.mark.parametrize(
    ("name", "bits", "excepted"),
    [
        ("short-8bit-g64", 4, set()),
        ("short-4bit-g64", 2, {"lfm2-d64"}),  # its margins hardly depend on what the cache holds
    ],
)
def test_the_bounds_tell_a_width_from_a_lower_one(name: str, bits: int, excepted: set[str]) -> None:
    mistaken: set[str] = set()
    for spec in CONVERTING:
        right, found = wrong(spec, name, bits=bits)
        if compare.forced(right.expected, found, bound=tolerances.bound_for(right)).accepted:
            mistaken.add(spec.name)
    assert mistaken == excepted


@pytest.mark.parametrize("name", ["short-full", "short-4bit-g64"])
def test_a_wrong_token_is_caught_elsewhere_too(elsewhere: None, name: str) -> None:
    """The most clearly chosen token, replaced by another one."""
    right = recorded(f"llama-d96/{name}")
    step = max(range(40), key=right.expected.margins.__getitem__)
    tokens = (*right.expected.tokens[:step], 0, *right.expected.tokens[step + 1 :])
    tampered = right.model_copy(update={"expected": right.expected.model_copy(update={"tokens": tokens})})
    found = check.run_as_recorded(cases.all_cases()[right.key], tampered)
    assert not compare.judge(tampered, found).accepted


# ---------------------------------------------------------------- half precision


def halved(spec: tiny.TinySpec, dtype: str) -> LoadedModel:
    """The tiny model with its weights, and so its caches and logits, in half precision."""
    model = tiny.build_tiny(spec)
    model.set_dtype(getattr(mx, dtype))
    return LoadedModel(name=spec.name, source="a test", dtype=dtype, model=model)


def free_run(loaded: LoadedModel, prompt: Sequence[int]) -> GenerateObservation:
    scenario = GenerateScenario(model=loaded.name, prompt=tuple(prompt), parameters=Parameters(max_tokens=40))
    return reference_run.run(scenario, loaded)


@pytest.mark.requirement("PS-2")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["llama-d64", "qwen3-d128", "nemotron_h-d64"])
def test_half_precision_is_accepted_from_another_platform_with_its_own_tolerance(
    name: str, dtype: str
) -> None:
    loaded = halved(tiny.tiny_spec(name), dtype)
    prompt = tiny.tiny_spec(name).prompts["short"]
    here = free_run(loaded, prompt)
    with perturb.perturbed(loaded.model):
        there = free_run(loaded, prompt)
    verdict = compare.free(here, there, tolerance=tolerances.tie_tolerance(dtype))
    assert verdict.accepted, verdict.text


def test_bfloat16_needs_its_own_tolerance() -> None:
    """With float32's, one unit in the last place would be a difference in some stream."""
    verdicts: list[compare.Verdict] = []
    for name in ("llama-d64", "llama-d96", "qwen3-d128", "gpt2-d64"):
        loaded = halved(tiny.tiny_spec(name), "bfloat16")
        prompt = tiny.tiny_spec(name).prompts["short"]
        here = free_run(loaded, prompt)
        with perturb.perturbed(loaded.model):
            there = free_run(loaded, prompt)
        verdicts.append(compare.free(here, there, tolerance=tolerances.tie_tolerance("float32")))
    assert not all(verdict.accepted for verdict in verdicts)
