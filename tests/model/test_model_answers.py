"""The answers to "will kv-bits work for my model?", from trials written down here."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from kvconform.advice import text
from kvconform.advice.memory import size_text
from kvconform.advice.trial import LoopRun, Request, Trial
from kvconform.advice.verdict import verdict_of
from model_scenes import layer, sliding, state
from rich.console import Console

REQUEST = Request(model="some-model", bits=4, context=1000)


def printed(trial: Trial, request: Request = REQUEST) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    text.print_answer(trial, request, verdict_of(trial, request), console)
    return console.export_text()


def test_all_layers_quantized_works(trial: Trial) -> None:
    plain = replace(trial, layers=(layer("0"), layer("1")))
    verdict = verdict_of(plain, REQUEST)
    assert verdict.word == "works"
    assert verdict.line == (
        "kv-bits 4 works for some-model: 2 of 2 layers are quantized; mlx-lm 0.32.2 does it today."
    )


def test_recurrent_layers_do_not_make_it_partly(trial: Trial) -> None:
    mixed = replace(trial, layers=(layer("0"), state("1")))
    assert verdict_of(mixed, REQUEST).word == "works"


def test_sliding_layers_make_it_partly(trial: Trial) -> None:
    verdict = verdict_of(trial, REQUEST)
    assert verdict.word == "works partly"
    assert "2 of 4 layers are quantized" in verdict.line


def test_no_quantized_layer_is_no_effect_with_the_reasons(trial: Trial) -> None:
    none = replace(trial, layers=(sliding("0"), state("1"), state("2")), mlx_lm=LoopRun())
    verdict = verdict_of(none, REQUEST)
    assert verdict.word == "has no effect"
    assert verdict.line == (
        "kv-bits 4 has no effect on some-model: recurrent state, no keys and values; "
        "sliding window: its rows lose their order; mlx-lm 0.32.2 leaves every layer as it is."
    )


def test_a_start_behind_the_context_is_no_effect(trial: Trial) -> None:
    verdict = verdict_of(trial, replace(REQUEST, start=1001))
    assert verdict.word == "has no effect"
    assert verdict.line.endswith("start 1001 is not reached in a context of 1000.")
    assert verdict_of(trial, replace(REQUEST, start=1000)).word == "works partly"


def test_a_model_that_cannot_go_on_fails_with_what_it_raised(trial: Trial) -> None:
    broken = replace(trial, reference=LoopRun(converted=2, error="no sinks"))
    verdict = verdict_of(broken, REQUEST)
    assert verdict.word == "fails"
    assert "2 layers can be quantized, but then the model cannot go on (no sinks)" in verdict.line


def test_a_model_that_cannot_go_on_saves_no_memory(trial: Trial) -> None:
    broken = replace(trial, reference=LoopRun(converted=2, error="no sinks"))
    assert "the model cannot read it quantized" in printed(broken)
    answer = text.as_json(broken, REQUEST, verdict_of(broken, REQUEST))
    assert answer["bytes_before"] == answer["bytes_after"]


@pytest.mark.parametrize(
    ("run", "sizes", "said"),
    [
        (LoopRun(converted=2), (), "mlx-lm 0.32.2 does it today"),
        (LoopRun(converted=1), (), "mlx-lm 0.32.2 quantizes 1"),
        (LoopRun(), (), "mlx-lm 0.32.2 leaves every layer as it is"),
        (LoopRun(error="NYI"), (), "mlx-lm 0.32.2 raises an error"),
        (
            LoopRun(error="NYI"),
            (32, 128),
            "raises an error (it runs with group size 32 or 128)",
        ),
        (
            LoopRun(error="the process ended", died=True),
            (),
            "in mlx-lm 0.32.2 the process ended",
        ),
    ],
)
def test_the_line_says_what_mlx_lm_does_today(
    trial: Trial, run: LoopRun, sizes: tuple[int, ...], said: str
) -> None:
    verdict = verdict_of(replace(trial, mlx_lm=run, mlx_lm_sizes=sizes), REQUEST)
    assert said in verdict.line
    assert verdict.word == "works partly"


def test_the_verdict_is_the_first_line_of_what_is_printed(trial: Trial) -> None:
    long = replace(trial, layers=(layer("0"), replace(sliding("1"), reason="a reason " * 20)))
    assert printed(long).splitlines()[0] == verdict_of(long, REQUEST).line


def test_layers_that_are_alike_share_a_row(trial: Trial) -> None:
    layers = (layer("0"), sliding("1"), layer("2"), layer("3"), layer("4"))
    assert [numbers for numbers, _ in text.alike(layers)] == ["0, 2-4", "1"]


def test_children_of_composites_keep_their_place(trial: Trial) -> None:
    layers = (state("0.0"), layer("0.1"), state("1.0"), layer("1.1"))
    assert [number for number, _ in text.alike(layers)] == ["0.0-1.0", "0.1-1.1"]


def test_what_is_printed_holds_layers_memory_and_both_loops(trial: Trial) -> None:
    shown = printed(replace(trial, mlx_lm=LoopRun(converted=1, error="RotatingKVCache NYI")))
    # 2 heads * 1024 rows * 128 numbers of 2 bytes are 512 KiB; of 4 bits, and 4 bytes a group: 144 KiB
    assert "0-1     plain          64/64      64" in shown
    assert "512.0 KiB -> 144.0 KiB" in shown
    assert "2-3     rotating (16)  64/64      -           no: sliding window" in shown
    assert "cache at 1000 positions: 1.0 MiB -> 304.0 KiB, 71% less" in shown
    assert "reference iterator  runs, 2 layers quantized" in shown
    assert "mlx-lm 0.32.2       raises: RotatingKVCache NYI (1 layer quantized before that)" in shown
    assert "kvconform drift some-model --bits 4" in shown


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (0, "right after the prompt"),
        (300, "from position 300 on, or after a longer prompt"),
        (1001, "not within 1000 positions: start 1001"),
    ],
)
def test_a_layer_says_when_it_is_quantized(start: int, said: str) -> None:
    assert text.when_text(layer("0"), replace(REQUEST, start=start)) == said


def test_the_json_holds_each_layer_with_its_bytes(trial: Trial) -> None:
    answer = json.loads(json.dumps(text.as_json(trial, REQUEST, verdict_of(trial, REQUEST))))
    assert answer["verdict"] == "works partly"
    assert [entry["bytes_before"] for entry in answer["layers"]] == [524288, 524288, 8192, 8192]
    assert [entry["bytes_after"] for entry in answer["layers"]] == [147456, 147456, 8192, 8192]
    assert answer["bytes_after"] == 2 * 147456 + 2 * 8192
    assert answer["mlx_lm"] == {"converted": 2, "error": None, "died": False, "other_group_sizes": []}


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (1 << 50, "1024.0 TiB")],
)
def test_bytes_are_written_for_people(count: int, shown: str) -> None:
    assert size_text(count) == shown
