"""``kvconform drift`` from its command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from kvconform.cli import main

pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")


def test_the_command_prints_a_table_and_writes_json_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, picture = tmp_path / "drift.json", tmp_path / "drift.svg"
    options = [
        "--bits",
        "8,4",
        "--group-size",
        "64",
        "--tokens",
        "8",
        "--json",
        str(data),
        "--svg",
        str(picture),
    ]
    assert main(["drift", "llama-d64", *options]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line[:4].strip() in ("8", "4", "full")] == [
        "full", "8", "4",
    ]  # fmt: skip
    found = json.loads(data.read_text())
    assert [drift["setting"]["bits"] for drift in found["drifts"]] == [8, 4]
    assert len(found["tokens"]) == 8
    assert len(found["prompt_tokens"]) == 72
    assert ET.fromstring(picture.read_text()).tag.endswith("svg")


def test_without_options_every_bit_width_is_measured_at_two_group_sizes(tmp_path: Path) -> None:
    data = tmp_path / "drift.json"
    assert main(["drift", "llama-d64", "--tokens", "3", "--json", str(data)]) == 0
    settings = [drift["setting"] for drift in json.loads(data.read_text())["drifts"]]
    assert [(each["bits"], each["group_size"]) for each in settings] == [
        (bits, size) for bits in (8, 6, 5, 4, 3, 2) for size in (32, 64)
    ]


def test_a_prompt_can_be_given_and_read_from_a_file(tmp_path: Path) -> None:
    file, data = tmp_path / "prompt.txt", tmp_path / "drift.json"
    file.write_text("t5 t6\nt7")
    for prompt in ("t5 t6 t7", f"@{file}"):
        options = ["--prompt", prompt, "--bits", "4", "--tokens", "2", "--json", str(data)]
        assert main(["drift", "llama-d64", *options]) == 0
        assert json.loads(data.read_text())["prompt_tokens"] == [5, 6, 7]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["llama-d64", "--prompt", "@nowhere.txt"], 2, "--prompt @nowhere.txt: cannot be read: No such file"),
        (["llama-d64", "--prompt", ""], 2, "--prompt: the text has no tokens"),
        (["llama-d64", "--prompt", "t256"], 2, "token 256 is none of model llama-d64. Give t0 to t255."),
        (["llama-d64", "--prompt", "hello"], 2, "'hello' is no token of it"),
        (["llama-d64", "--bits", "7"], 2, "--bits 7: 7 is not supported"),
        (["llama-d64", "--start", "-1"], 2, "--start -1: -1 is below 0"),
        (["llama-d64", "--start", "5000"], 2, "--start 5000: not reached"),
        (["llama-d64", "--svg", "no/such/folder/x.svg"], 2, "no/such/folder/x.svg: cannot be written"),
        (["lama-d64"], 2, "Did you mean llama-d64?"),
        (["llama-d80"], 5, "no layer can be quantized: no group size (32, 64, 128) divides head dim 80"),
        (["falcon_h1-d64"], 5, "inside a composite cache"),
        (["mamba"], 5, "recurrent state, no keys and values"),
        (["gpt_oss-d64"], 5, "it cannot go on once its cache is quantized: Quantized SDPA does not support"),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_an_exit_code(
    options: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drift", *options, "--tokens", "4"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_a_text_model_gets_the_prompt_in_its_chat_template_unless_raw(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dataclasses import replace

    from kvconform.drift import prompts
    from kvconform.models.load import load_model

    class Tokenizer:
        chat_template = "a template"
        eos_token_ids = frozenset({3})

        def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
            assert not add_special_tokens
            return [len(text)]

        def apply_chat_template(self, messages: list[dict[str, str]], **_options: bool) -> list[int]:
            return [1, len(messages[0]["content"]), 2]

    loaded = replace(load_model("llama-d64"), tokenizer=Tokenizer())
    assert prompts.prompt_tokens("hello", loaded) == (1, 5, 2)
    assert prompts.prompt_tokens("hello", loaded, raw=True) == (5,)
    assert prompts.prompt_text(None, loaded) == prompts.DEFAULT_TEXT
    monkeypatch.setattr(Tokenizer, "chat_template", None)
    assert prompts.prompt_tokens("hello", loaded) == (5,)
