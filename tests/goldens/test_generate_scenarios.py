"""`generate` scenarios: what the reference and mlx-lm answer on real models, and that the two agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

mx: Any = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.generate import mlx_lm_run, reference_run  # noqa: E402
from kvconform.implementation import Unsupported  # noqa: E402
from kvconform.implementations import mlx_lm_adapter, reference  # noqa: E402
from kvconform.models import seeded, tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402
from kvconform.observation import GenerateObservation  # noqa: E402
from kvconform.scenario import GenerateScenario, Parameters  # noqa: E402
from kvconform_reference.dialect import MLX_LM, PROPOSAL, Dialect  # noqa: E402
from pydantic import ValidationError  # noqa: E402

pytestmark = [pytest.mark.mlx, pytest.mark.goldens]

SPECS = list(tiny.catalogue().values())


def ask(model: str = "llama-d64", prompt: str = "short", **parameters: Any) -> GenerateScenario:
    return GenerateScenario(
        model=model,
        prompt=tiny.tiny_spec(model).prompts[prompt],
        parameters=Parameters(**{"max_tokens": 30, **parameters}),
    )


def by_reference(scenario: GenerateScenario, dialect: Dialect = PROPOSAL, **more: Any) -> GenerateObservation:
    return reference_run.run(scenario, load_model(scenario.model), dialect=dialect, **more)


def by_mlx_lm(scenario: GenerateScenario) -> GenerateObservation:
    return mlx_lm_run.run(scenario, load_model(scenario.model))


def forced(scenario: GenerateScenario, tokens: tuple[int, ...]) -> GenerateScenario:
    return scenario.model_copy(update={"force": tokens})


def assert_same(ours: GenerateObservation, theirs: GenerateObservation) -> None:
    """Equal streams. mlx-lm samples from log-probabilities, so margins differ by their rounding."""
    assert ours.tokens == theirs.tokens
    assert ours.margins == pytest.approx(theirs.margins, abs=1e-4)
    assert (ours.error and ours.error.kind) == (theirs.error and theirs.error.kind)
    if theirs.error is None:  # where it raises, mlx-lm leaves a list half converted (MQ-13)
        assert ours.conversions == theirs.conversions
        assert (ours.position, ours.nbytes) == (theirs.position, theirs.nbytes)


# ---------------------------------------------------------------- the reference against generate_step


@pytest.mark.requirement("NX-2", "NX-3", "PR-6", "PR-7", "ST-1", "ST-2", "TH-1")
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bits": 4},
        {"bits": 8, "group_size": 32, "prefill_step": 8},
        {"bits": 2, "start": 36},
        {"bits": 6, "start": 24},
        {"bits": 4, "start": 23},
    ],
    ids=lambda options: "-".join(f"{name}{value}" for name, value in options.items()) or "full",
)
def test_the_reference_in_the_mlx_lm_dialect_gives_the_stream_of_generate_step(
    spec: tiny.TinySpec, options: dict[str, int]
) -> None:
    scenario = ask(spec.name, max_tokens=16, **options)
    assert_same(by_reference(scenario, MLX_LM), by_mlx_lm(scenario))


@pytest.mark.requirement("PR-6")
@pytest.mark.parametrize("step", [1, 7, 71, 72, 100])
def test_it_does_so_for_every_chunking_of_a_longer_prompt(step: int) -> None:
    scenario = ask("nemotron_h-d64", "long", bits=3, group_size=32, prefill_step=step)
    assert_same(by_reference(scenario, MLX_LM), by_mlx_lm(scenario))


@pytest.mark.requirement("PS-1", "PS-2", "PS-3")
@pytest.mark.parametrize("context", [1, 20, 200])
def test_a_repetition_penalty_gives_the_same_stream_in_both(context: int) -> None:
    scenario = ask(bits=4, repetition_penalty=1.5, repetition_context_size=context)
    assert_same(by_reference(scenario, MLX_LM), by_mlx_lm(scenario))


@pytest.mark.requirement("PS-3")
def test_a_repetition_penalty_changes_the_stream() -> None:
    assert by_reference(ask(bits=4, repetition_penalty=1.5)).tokens != by_reference(ask(bits=4)).tokens


def test_the_proposal_differs_from_mlx_lm_where_the_last_prompt_token_reads_quantized_rows() -> None:
    scenario = ask("llama-d128", bits=2)
    assert by_reference(scenario).tokens != by_mlx_lm(scenario).tokens


# ---------------------------------------------------------------- what is observed


def test_tokens_are_those_that_a_loop_written_out_gives() -> None:
    """Prompt at once, then token by token; converted once, after the first call at or past the start."""
    scenario = ask(bits=4, start=30)
    model: Any = load_model("llama-d64").model
    cache = model.make_cache() if hasattr(model, "make_cache") else made(model)
    feed, produced, margins = list(scenario.prompt), [], []
    for _ in range(30):
        logits = model(mx.array([feed]), cache=cache)[0, -1]
        if cache[0].offset >= 30 and hasattr(cache[0], "to_quantized"):
            cache = [layer.to_quantized(group_size=64, bits=4) for layer in cache]
        best = sorted(logits.tolist())
        margins.append(best[-1] - best[-2])
        feed = [int(mx.argmax(logits).item())]
        produced += feed
    observed = by_reference(scenario)
    assert observed.tokens == tuple(produced)
    assert observed.margins == pytest.approx(margins, abs=1e-6)


def made(model: Any) -> list[Any]:
    from mlx_lm.models.cache import make_prompt_cache

    return make_prompt_cache(model)


@pytest.mark.requirement("MQ-5", "CT-8")
def test_a_conversion_is_seen_where_it_happens_with_sizes_and_bytes() -> None:
    (event,) = by_reference(ask("jamba-d64", bits=4, start=40)).conversions
    assert (event.position, event.step) == (40, 16)  # the prompt's 24 positions and 16 more
    assert (event.layers, event.group_sizes) == ((1, 3), (64, 64))
    rows, bytes_per_row = 256, 2 * 64 // 2 + 2 * 2 * 4  # keys and values: 4 bits each, scale and bias float32
    saved = 2 * rows * (2 * 64 * 4 - bytes_per_row)
    assert event.nbytes_before - event.nbytes == saved


@pytest.mark.requirement("PR-7")
def test_a_conversion_between_prefill_chunks_is_seen_at_that_chunk() -> None:
    scenario = ask(bits=4, prefill_step=8, start=12)
    assert [event.position for event in by_mlx_lm(scenario).conversions] == [16]
    assert [event.position for event in by_reference(scenario, MLX_LM).conversions] == [16]
    assert [event.position for event in by_reference(scenario).conversions] == [24]


@pytest.mark.requirement("NX-1")
def test_no_tokens_are_asked_for_and_none_come() -> None:
    observed = by_reference(ask(max_tokens=0, bits=4))
    assert (observed.tokens, observed.error) == ((), None)
    assert [event.position for event in observed.conversions] == [24]


@pytest.mark.requirement("MQ-0", "MQ-14")
def test_bits_that_do_not_exist_are_refused_before_the_model_runs() -> None:
    observed = by_reference(ask(bits=7))
    assert observed.error is not None
    assert observed.error.kind == "refused"
    assert (observed.tokens, observed.nbytes) == ((), 0)


def test_the_logits_of_each_step_can_be_watched() -> None:
    seen: list[Any] = []
    observed = by_reference(ask(max_tokens=5), on_logits=seen.append)
    picks = [int(mx.argmax(logits).item()) for logits in seen]
    assert tuple(picks[:5]) == observed.tokens
    assert len(picks) == 6  # the look-ahead token is sampled too, NX-3


def test_a_stream_goes_on_over_a_given_cache_list() -> None:
    whole = by_reference(ask(max_tokens=12)).tokens
    cache = made(load_model("llama-d64").model)
    first = by_reference(ask(max_tokens=5), cache=cache).tokens
    rest = GenerateScenario(model="llama-d64", prompt=(whole[6],), parameters=Parameters(max_tokens=5))
    # After k tokens the caches hold k more positions than the prompt: the token after them is next, NX-3.
    assert first == whole[:5]
    assert cache[0].offset == 24 + 5
    cache_continued = by_reference(rest.model_copy(update={"prompt": (whole[5],)}), cache=cache).tokens
    assert cache_continued == whole[6:11]


def test_logits_that_are_not_finite_end_the_stream_with_an_error() -> None:
    spec = tiny.tiny_spec("llama-d64")
    model = tiny.build_tiny(spec)
    model.lm_head.weight = model.lm_head.weight * mx.inf
    broken = load_model("llama-d64").__class__(name="broken", source="a test", dtype="float32", model=model)
    observed = reference_run.run(ask(), broken)
    assert observed.tokens == ()
    assert observed.error is not None
    assert "not finite" in observed.error.message


# ---------------------------------------------------------------- teacher forcing


@pytest.mark.parametrize("run", [by_reference, by_mlx_lm])
def test_forcing_a_stream_on_its_own_tokens_changes_nothing(run: Any) -> None:
    scenario = ask(bits=4)
    free = run(scenario)
    assert run(forced(scenario, free.tokens)) == free


@pytest.mark.parametrize("run", [by_reference, by_mlx_lm])
def test_a_forced_step_still_says_what_it_would_have_picked_and_how_far_behind_the_forced_one_is(
    run: Any,
) -> None:
    scenario = ask(max_tokens=8)
    free = run(scenario)
    other = (*free.tokens[:3], (free.tokens[3] + 1) % 256, *free.tokens[4:])
    bent = run(forced(scenario, other))
    assert bent.tokens[:4] == free.tokens[:4]
    assert bent.margins[:3] == free.margins[:3]
    assert bent.margins[3] < 0
    assert bent.tokens[4:] != free.tokens[4:]  # another past from there on


# ---------------------------------------------------------------- models and ways in


def test_a_folder_with_a_model_streams_like_the_model_it_was_saved_from(tmp_path: Path) -> None:
    spec = tiny.tiny_spec("llama-d64")
    folder = saved_folder(spec, tmp_path / "model")
    scenario = ask(bits=4)
    there = scenario.model_copy(update={"model": str(folder)})
    assert reference.factory().run(there) == reference.factory().run(scenario)


def saved_folder(spec: tiny.TinySpec, folder: Path) -> Path:
    """The tiny model in the MLX format, with a tokenizer of one character a token."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(dict(spec.config)))
    mx.save_safetensors(str(folder / "model.safetensors"), dict(seeded.parameters(tiny.build_tiny(spec))))
    vocabulary = {chr(0x4E00 + token): token for token in range(256)}
    tokenizer: Any = Tokenizer(models.WordLevel(vocabulary, unk_token=chr(0x4E00)))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=chr(0x4E01)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("dialect", ["proposal", "mlx-lm"])
def test_the_reference_implementation_answers_generate_scenarios_in_its_dialect(dialect: str) -> None:
    implementation = reference.factory(dialect)
    assert "generate" in implementation.info.capabilities.kinds
    scenario = ask(bits=4)
    assert implementation.run(scenario) == by_reference(scenario, implementation.dialect)


def test_the_mlx_lm_adapter_answers_generate_scenarios() -> None:
    adapter = mlx_lm_adapter.factory()
    assert "generate" in adapter.info.capabilities.kinds
    assert adapter.run(ask(bits=4)) == by_mlx_lm(ask(bits=4))


@pytest.mark.parametrize(
    "implementation", [reference.factory, mlx_lm_adapter.factory], ids=["reference", "mlx-lm"]
)
def test_a_model_that_is_not_there_makes_the_scenario_unsupported(implementation: Any) -> None:
    scenario = ask().model_copy(update={"model": "llama-d65"})
    with pytest.raises(Unsupported, match="no such model, folder or hub id"):
        implementation().run(scenario)


@pytest.mark.parametrize("limit", [None, -1])
def test_a_scenario_without_an_end_is_no_scenario(limit: int | None) -> None:
    with pytest.raises(ValidationError, match="no end to the stream"):
        ask(max_tokens=limit)
