"""A model folder of a user's own, with a tokenizer and a chat template, through both commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.advice import probe  # noqa: E402
from kvconform.cli import main  # noqa: E402
from kvconform.models import seeded, tiny  # noqa: E402
from kvconform.models.load import load_model  # noqa: E402

TEMPLATE = "{% for m in messages %}<u>{{ m['content'] }}{% endfor %}<a>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny phi-3 as a folder in the MLX format; its words are w0 ... w253, <u> and <a>."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    written = tmp_path_factory.mktemp("models") / "my-model"
    written.mkdir()
    vocab = {**{f"w{i}": i for i in range(254)}, "<u>": 254, "<a>": 255}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocab, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<u>", "<a>"])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<a>", chat_template=TEMPLATE
    ).save_pretrained(written)
    (written / "config.json").write_text(json.dumps(dict(tiny.tiny_spec("phi3-d96").config)))
    weights = dict(seeded.parameters(load_model("phi3-d96").model))
    mx.save_safetensors(str(written / "model.safetensors"), weights)
    return written


def test_the_drift_of_a_folder_is_that_of_the_model_in_it(folder: Path, tmp_path: Path) -> None:
    of_folder, of_tiny = tmp_path / "folder.json", tmp_path / "tiny.json"
    options = ["--bits", "4", "--group-size", "64", "--tokens", "6", "--json"]
    asked = ["--prompt", "w5 w77", *options, str(of_folder)]
    assert main(["drift", str(folder), *asked]) == 0
    assert main(["drift", "phi3-d96", "--prompt", "t254 t5 t77 t255", *options, str(of_tiny)]) == 0
    found, expected = (json.loads(file.read_text()) for file in (of_folder, of_tiny))
    assert found["prompt_tokens"] == [254, 5, 77, 255]
    assert found["tokens"] == expected["tokens"]
    assert found["drifts"] == expected["drifts"]
    assert found["words"][0] == f"w{found['tokens'][0]}"


def test_a_folder_can_be_asked_whether_kv_bits_work(folder: Path, tmp_path: Path) -> None:
    request = {"model": str(folder), "bits": 4, "group_size": 32, "start": 0, "context": 100}
    assert probe.main(json.dumps(request), str(tmp_path / "trial.jsonl")) == 0
    lines = map(json.loads, (tmp_path / "trial.jsonl").read_text().splitlines())
    parts = {name: part for line in lines for name, part in line.items()}
    assert parts["subject"]["source"] == f"folder {folder}"
    assert [layer["group_size"] for layer in parts["layers"]] == [32, 32]
    assert parts["reference"] == parts["mlx_lm"] == {"converted": 2, "error": None, "died": False}
