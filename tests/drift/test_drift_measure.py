"""What is measured on real models, against the same worked out by other means."""

from __future__ import annotations

import math
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")
np = pytest.importorskip("numpy", reason="numpy is not installed")

from kvconform.drift.runs import Runs  # noqa: E402
from kvconform.drift.settings import Setting, settings_of  # noqa: E402
from kvconform.errors import NOTHING, USAGE, UserError  # noqa: E402
from kvconform.generate import reference_run  # noqa: E402
from kvconform.models import tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402
from kvconform.scenario import GenerateScenario, Parameters  # noqa: E402
from kvconform_reference.parameters import GenerateParameters  # noqa: E402

FOUR = Setting(bits=4)


def short_prompt(name: str) -> tuple[int, ...]:
    return tiny.tiny_spec(name).prompts["short"]


def test_the_full_precision_answer_is_the_reference_iterators(measurement: Any) -> None:
    report = measurement("llama-d64", [FOUR]).report("prompt")
    scenario = GenerateScenario(
        model="llama-d64", prompt=short_prompt("llama-d64"), parameters=Parameters(max_tokens=24)
    )
    observation = reference_run.run(scenario, load_model("llama-d64"))
    assert report.tokens == observation.tokens
    assert report.nbytes == observation.nbytes


@pytest.mark.parametrize("name", ["llama-d64", "gemma3_text-d64", "jamba-d64", "llama4-d64"])
@pytest.mark.parametrize("setting", settings_of((6, 4, 2), (32,), (0, 30)), ids=str)
def test_the_first_difference_is_that_of_an_answer_that_runs_by_itself(
    measurement: Any, name: str, setting: Setting
) -> None:
    report = measurement(name, [setting]).report("prompt")
    free = Runs(load_model(name), short_prompt(name)).run(
        GenerateParameters(
            bits=setting.bits, group_size=setting.group_size, start=setting.start, max_tokens=24
        )
    )
    pairs = zip(report.tokens, free.observation.tokens, strict=True)
    expected = next((step for step, (full, other) in enumerate(pairs) if full != other), None)
    assert report.drifts[0].first_difference == expected


def test_share_and_divergences_are_those_of_a_loop_written_out(measurement: Any) -> None:
    report = measurement("llama-d64", [Setting(bits=3, group_size=32)]).report("prompt")
    model, prompt = load_model("llama-d64").model, short_prompt("llama-d64")
    full = rows(model, prompt, report.tokens, convert=False)
    packed = rows(model, prompt, report.tokens, convert=True)
    (drift,) = report.drifts
    expected = [kl(a, b) for a, b in zip(full, packed, strict=True)]
    assert drift.divergences == pytest.approx(expected, abs=1e-9)
    picks = [int(mx.argmax(row)) for row in packed]
    assert drift.tokens == tuple(picks)
    equal = [pick == token for pick, token in zip(picks, report.tokens, strict=True)][1:]
    assert drift.equal_share == pytest.approx(sum(equal) / 23)
    assert drift.mean_divergence == pytest.approx(math.fsum(drift.divergences) / 23)
    assert drift.worst_divergence == max(drift.divergences)


def rows(model: Any, prompt: tuple[int, ...], tokens: tuple[int, ...], *, convert: bool) -> list[Any]:
    """Logits of each step with ``tokens`` fed back, the cache quantized to 3 bits after the prompt or not."""
    from mlx_lm.models.cache import make_prompt_cache

    cache = make_prompt_cache(model)
    model(mx.array([prompt[:-1]]), cache=cache)
    found = [model(mx.array([prompt[-1:]]), cache=cache)[0, -1]]
    if convert:
        cache = [layer.to_quantized(group_size=32, bits=3) for layer in cache]
    for token in tokens[:-1]:
        found.append(model(mx.array([[token]]), cache=cache)[0, -1])
    return found


def kl(expected: Any, observed: Any) -> float:
    p, q = (np.exp(np.array(row).astype(np.float64)) for row in (expected, observed))
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def test_nothing_differs_before_a_step_reads_a_quantized_cache(measurement: Any) -> None:
    (drift,) = measurement("llama-d64", [Setting(bits=2, start=30)]).report("prompt").drifts
    assert drift.first_quantized == 7  # 24 prompt tokens; the pass is after token 6, at position 30
    assert drift.divergences[:7] == (0.0,) * 7
    assert all(each > 0 for each in drift.divergences[7:])
    assert drift.compared == 17


def test_a_start_within_the_prompt_is_the_same_as_none(measurement: Any) -> None:
    early, none = measurement("llama-d64", [Setting(bits=4, start=24), FOUR]).report("prompt").drifts
    assert early.first_quantized == none.first_quantized == 1
    assert early.divergences == none.divergences


def test_the_order_of_settings_changes_nothing(measurement: Any) -> None:
    settings = settings_of((8, 2), (32, 64), (0,))
    forth = measurement("phi3-d96", settings).report("prompt")
    back = measurement("phi3-d96", settings[::-1]).report("prompt")
    assert forth.drifts == back.drifts[::-1]


def test_settings_that_come_to_the_same_group_sizes_are_run_once(measurement: Any) -> None:
    settings = settings_of((4,), (32, 64, 48), (0,))
    ticks = []
    runs = Runs(load_model("phi3-d96"), short_prompt("phi3-d96"), on_token=lambda: ticks.append(1))
    built = type(measurement("phi3-d96", settings))(runs, settings, tokens=8)
    report = built.report("prompt")
    assert [drift.setting.group_size for drift in report.drifts] == [32, 64, 48]
    assert {drift.group_sizes for drift in report.drifts} == {(32,)}
    assert {drift.divergences for drift in report.drifts} == {report.drifts[0].divergences}
    assert len(ticks) == built.steps == 2 * 9


def test_fewer_bits_take_fewer_bytes_and_drift_further(measurement: Any) -> None:
    report = measurement("llama-d128", settings_of((8, 6, 4, 2), (64,), (0,))).report("prompt")
    sizes = [drift.nbytes for drift in report.drifts]
    means = [drift.mean_divergence for drift in report.drifts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] < report.nbytes
    assert means == sorted(means)


@pytest.mark.requirement("QC-8")
def test_bytes_saved_are_those_of_the_layers_that_are_quantized(measurement: Any) -> None:
    report = measurement("llama-sliding", [FOUR]).report("prompt")
    (drift,) = report.drifts
    assert (drift.converted, report.layers) == (2, 3)
    plain, packed = 256 * 128 * 4, 256 * (128 // 2 + 2 * 2 * 4)  # one head, 256 rows, keys and values of 64
    assert report.saved(drift) == 2 * (plain - packed)


def test_a_model_where_nothing_is_quantized_is_an_error_with_the_reason(measurement: Any) -> None:
    with pytest.raises(UserError, match=r"llama-d80: no layer can .*: no group size .* divides") as caught:
        measurement("llama-d80", [FOUR])
    assert caught.value.code == NOTHING


def test_a_model_that_cannot_read_quantized_caches_is_an_error_with_what_it_raised(measurement: Any) -> None:
    with pytest.raises(UserError, match=r"gpt_oss-d64: it cannot go on .*: Quantized SDPA") as caught:
        measurement("gpt_oss-d64", [FOUR]).report("prompt")
    assert caught.value.code == NOTHING


def test_a_start_that_no_answer_reaches_is_an_error_before_anything_is_run(measurement: Any) -> None:
    last = Setting(bits=4, start=24 + 24 - 2)
    assert measurement("llama-d64", [last]).report("prompt").drifts[0].compared == 1
    with pytest.raises(UserError, match=r"--start 47: not reached by 24 prompt tokens") as caught:
        measurement("llama-d64", [Setting(bits=4, start=47)])
    assert caught.value.code == USAGE


def test_a_start_that_one_setting_does_not_reach_compares_nothing_there(measurement: Any) -> None:
    near, far = measurement("llama-d64", [FOUR, Setting(bits=4, start=999)]).report("prompt").drifts
    assert near.compared == 23
    assert (far.compared, far.equal_share, far.mean_divergence, far.first_difference) == (0, None, None, None)


def test_a_run_that_breaks_half_way_keeps_what_was_compared(
    measurement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlx_lm.models.cache import QuantizedKVCache

    write = QuantizedKVCache.update_and_fetch

    def full_at_30(self: Any, keys: Any, values: Any) -> Any:
        if self.offset >= 30:
            raise RuntimeError("the cache\nis full.")
        return write(self, keys, values)

    monkeypatch.setattr(QuantizedKVCache, "update_and_fetch", full_at_30)
    (drift,) = measurement("llama-d64", [FOUR]).report("prompt").drifts
    assert drift.error == "the cache is full"
    assert len(drift.tokens) == len(drift.divergences) == len(drift.differs) == 6
    assert drift.compared == 5


def test_a_prompt_of_one_token_will_do(measurement: Any) -> None:
    built = type(measurement("llama-d64", [FOUR]))(Runs(load_model("llama-d64"), (5,)), [FOUR], tokens=8)
    (drift,) = built.report("t5").drifts
    assert drift.first_quantized == 1


def test_an_answer_stops_at_the_end_of_sequence_token(
    measurement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvconform.drift import measure

    whole = measurement("llama-d64", [FOUR]).report("prompt")
    end = whole.tokens[5]
    monkeypatch.setattr(measure, "end_tokens", lambda _loaded: frozenset({end}))
    report = measurement("llama-d64", [FOUR]).report("prompt")
    assert report.tokens == whole.tokens[: whole.tokens.index(end) + 1]
    assert report.ended
    assert not whole.ended
    assert len(report.drifts[0].tokens) == len(report.tokens)
