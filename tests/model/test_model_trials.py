"""Trying a model: in this process, in a child, and what a child that dies leaves behind."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from kvconform.advice import child
from kvconform.advice.trial import LoopRun, Request, line_of
from kvconform.cli import main
from kvconform.errors import UserError

REQUEST = Request(model="some-model", bits=4)
SIZE_ERROR = (
    "[quantize] The last dimension of the matrix needs to be divisible by the quantization group size 64. "
    "However the provided matrix has shape (1,2,256,96)"
)


def writer(parts: list[str], *, then: str = "") -> tuple[str, ...]:
    """A command that writes these lines where a probe does, and then runs ``then``."""
    program = f"import os, sys\nopen(sys.argv[2], 'a').write({''.join(parts)!r})\n{then}"
    return (sys.executable, "-c", program)


def parts_of(trial: Any) -> dict[str, str]:
    """The lines of a probe that found out all of this."""
    return {
        "subject": line_of("subject", trial.subject) + "\n",
        "layers": line_of("layers", trial.layers) + "\n",
        "reference": line_of("reference", trial.reference) + "\n",
        "mlx_lm": line_of("mlx_lm", trial.mlx_lm) + "\n",
        "mlx_lm_sizes": line_of("mlx_lm_sizes", (32,)) + "\n",
    }


def test_what_a_child_writes_comes_back_whole(trial: Any) -> None:
    answer = child.ask(REQUEST, command=writer(list(parts_of(trial).values())))
    assert answer.mlx_lm_sizes == (32,)
    assert (answer.subject, answer.layers, answer.reference) == (trial.subject, trial.layers, trial.reference)
    assert answer.mlx_lm == trial.mlx_lm


def test_a_child_that_dies_in_mlx_lm_is_part_of_the_answer(trial: Any) -> None:
    parts = list(parts_of(trial).values())[:3]
    answer = child.ask(REQUEST, command=writer([*parts, '{"mlx'], then="os.kill(os.getpid(), 8)"))
    assert answer.reference == trial.reference
    assert answer.mlx_lm == LoopRun(error="the process was ended by SIGFPE", died=True)


def test_a_child_that_dies_with_the_reference_loop_is_part_of_the_answer(trial: Any) -> None:
    parts = list(parts_of(trial).values())[:2]
    answer = child.ask(REQUEST, command=writer(parts, then="os._exit(3)"))
    assert answer.reference == LoopRun(error="the process ended with code 3", died=True)


def test_a_child_that_dies_while_loading_is_an_error_that_says_how() -> None:
    with pytest.raises(
        UserError, match=r"model some-model: the process that loaded it was ended by SIGKILL\."
    ):
        child.ask(REQUEST, command=writer([], then=f"os.kill(os.getpid(), {signal.SIGKILL.value})"))


def test_exit_codes_are_put_in_words() -> None:
    assert child.how_it_ended(-11) == "was ended by SIGSEGV"
    assert child.how_it_ended(-99) == "was ended by signal 99"
    assert child.how_it_ended(134) == "ended with code 134"


@pytest.mark.mlx
def test_a_model_that_works_in_both_loops(try_model: Any) -> None:
    trial = try_model("llama-d64")
    assert trial.subject.architecture == "llama"
    assert trial.subject.dtype == "float32"
    assert trial.reference == trial.mlx_lm == LoopRun(converted=2)
    assert trial.mlx_lm_sizes == ()


@pytest.mark.mlx
@pytest.mark.requirement("MQ-17")
def test_a_group_size_that_mlx_lm_refuses_comes_with_the_ones_it_takes(try_model: Any) -> None:
    trial = try_model("llama-d96")
    assert trial.reference == LoopRun(converted=2)
    assert trial.mlx_lm == LoopRun(error=SIZE_ERROR)
    assert trial.mlx_lm_sizes == (32,)


@pytest.mark.mlx
@pytest.mark.requirement("MQ-11", "MQ-17")
def test_sliding_layers_stop_mlx_lm_and_not_the_reference(try_model: Any) -> None:
    trial = try_model("llama-sliding", group_size=32)
    assert trial.reference == LoopRun(converted=2)
    assert trial.mlx_lm == LoopRun(converted=1, error="RotatingKVCache Quantization NYI")
    assert trial.mlx_lm_sizes == ()


@pytest.mark.mlx
def test_a_start_that_a_short_run_does_not_reach_is_tried_all_the_same(try_model: Any) -> None:
    assert try_model("llama-d64", start=5000).mlx_lm == LoopRun(converted=2)


@pytest.mark.mlx
def test_attention_that_cannot_read_packed_caches_is_found_out(try_model: Any) -> None:
    trial = try_model("gpt_oss-d64")
    assert trial.reference == LoopRun(converted=1, error="Quantized SDPA does not support attention sinks.")


@pytest.mark.mlx
def test_a_model_that_raises_by_itself_is_an_error_that_says_so(
    try_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvconform.models.load import load_model

    model = type(load_model("llama-d64").model)
    monkeypatch.setattr(model, "__call__", lambda *_args, **_kwargs: 1 / 0)
    with pytest.raises(UserError, match=r"llama-d64: it raises on 8 tokens, without any quantization \(Zero"):
        try_model("llama-d64")


@pytest.mark.mlx
@pytest.mark.requirement("GS-11")
def test_group_size_0_takes_mlx_lm_down_and_the_answer_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answer.json"
    code = main(["model", "llama-d64", "--kv-bits", "4", "--kv-group-size", "0", "--json", str(out)])
    answer = json.loads(out.read_text())
    assert code == 0
    assert answer["mlx_lm"]["died"]
    assert [layer["group_size"] for layer in answer["layers"]] == [32, 32]
    printed = capfd.readouterr().out
    assert printed.startswith("kv-bits 4 works for llama-d64: 2 of 2 layers are quantized; in mlx-lm")


@pytest.mark.mlx
def test_a_model_that_is_not_there_is_one_line_and_exit_code_2(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "lama-d64", "--kv-bits", "4"]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "kvconform: model 'lama-d64': there is no such model" in captured.err
    assert "Did you mean llama-d64?" in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.mlx
def test_a_folder_of_an_unknown_architecture_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no_such_architecture"}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert main(["model", str(tmp_path), "--kv-bits", "4"]) == 2
    error = capfd.readouterr().err
    assert "mlx-lm cannot load it" in error
    assert "Traceback" not in error


@pytest.mark.mlx
def test_nothing_to_quantize_is_exit_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "llama-d80", "--kv-bits", "4"]) == 1
    assert capfd.readouterr().out.startswith("kv-bits 4 has no effect on llama-d80: no group size")


def test_bits_that_no_cache_has_are_refused_before_anything_is_loaded(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["model", "llama-d64", "--kv-bits", "7"]) == 2
    assert "--kv-bits 7" in capfd.readouterr().err
