"""One way in: names, folders and hub ids, each loaded once, and clear errors for the rest."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.models import load, seeded, tiny  # noqa: E402
from kvconform.models.errors import ModelError  # noqa: E402

CHAT_TEMPLATE = (
    "{% for m in messages %}<u>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
)


def write_folder(folder: Path, *, chat_template: str | None = None) -> Path:
    """The tiny llama as a folder in the MLX format, with a word-level tokenizer w0 ... w253, <u>, <a>."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder.mkdir(parents=True)
    vocab = {**{f"w{i}": i for i in range(254)}, "<u>": 254, "<a>": 255}
    tokenizer = Tokenizer(models.WordLevel(vocab=vocab, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<u>", "<a>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<a>", chat_template=chat_template)
    fast.save_pretrained(folder)
    spec = tiny.tiny_spec("llama-d64")
    (folder / "config.json").write_text(json.dumps(dict(spec.config)))
    weights = dict(seeded.parameters(load.load_model("llama-d64").model))
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("models") / "tiny", chat_template=CHAT_TEMPLATE)


def test_a_name_is_loaded_once_in_a_process() -> None:
    assert load.load_model("llama-d64") is load.load_model("llama-d64")


def test_loading_on_the_cpu_keeps_mlx_from_calling_a_compiler(tmp_path: Path) -> None:
    """MLX keeps what it compiled in the temporary folder: an empty one shows that nothing was."""
    program = (
        "import mlx.core as mx\nfrom kvconform.models.load import load_model\n"
        "mx.set_default_device(mx.cpu)\nmx.eval(load_model('llama-d64').model(mx.array([[1, 2]])))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "MLX_DISABLE_COMPILE"}
    environment["TMPDIR"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert not (tmp_path / "mlx").exists()


def test_the_offered_names_are_smollm2_and_the_tiny_models() -> None:
    assert load.model_names() == ("smollm2", *tiny.catalogue())


def test_a_tiny_model_says_where_it_came_from() -> None:
    loaded = load.load_model("llama-d96")
    assert loaded.name == "llama-d96"
    assert loaded.source == "mlx_lm.models.llama, seeded weights (seed 5, gain 3)"
    assert loaded.tokenizer is None


def test_a_tiny_model_writes_and_reads_tokens_as_t12() -> None:
    loaded = load.load_model("llama-d64")
    assert loaded.decode([12, 40, 7]) == "t12 t40 t7"
    assert loaded.encode("t12 t40 t7") == [12, 40, 7]


def test_text_for_a_tiny_model_is_an_error_that_shows_how_to_write_it() -> None:
    with pytest.raises(ModelError, match=r"'hello' is no token.*t12 t40"):
        load.load_model("llama-d64").encode("t1 hello")


def test_a_chat_prompt_for_a_model_without_template_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"model llama-d64: it has no chat template"):
        load.load_model("llama-d64").encode_chat("hello")


def test_a_folder_in_the_mlx_format_runs_as_the_model_it_was_written_from(folder: Path) -> None:
    loaded = load.load_model(str(folder))
    tokens = mx.array([[1, 2, 3, 4]])
    assert mx.array_equal(loaded.model(tokens), load.load_model("llama-d64").model(tokens))
    assert loaded.dtype == "float32"
    assert loaded.source == f"folder {folder}"


def test_a_folder_brings_its_tokenizer_and_chat_template(folder: Path) -> None:
    loaded = load.load_model(str(folder))
    assert loaded.encode("w5 w77") == [5, 77]
    assert loaded.decode([5, 77]) == "w5 w77"
    assert loaded.encode_chat("w9") == [254, 9, 255]


def test_two_spellings_of_a_folder_are_one_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert load.load_model("./tiny") is load.load_model(str(folder))


def test_a_folder_without_a_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"holds no model in the MLX format") as caught:
        load.load_model(str(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_a_folder_of_an_unknown_architecture_is_an_error_that_names_it(tmp_path: Path) -> None:
    broken = write_folder(tmp_path / "broken")
    (broken / "config.json").write_text('{"model_type": "no_such_architecture"}')
    with pytest.raises(ModelError, match=r"folder .*broken: mlx-lm cannot load it \(ValueError"):
        load.load_model(str(broken))


def test_a_folder_with_a_weights_file_cut_in_half_is_an_error_that_names_it(tmp_path: Path) -> None:
    broken = write_folder(tmp_path / "cut")
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    with pytest.raises(ModelError, match=r"folder .*cut: mlx-lm cannot load it"):
        load.load_model(str(broken))


def test_a_mistyped_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ModelError, match=r"model 'lama-d64'.*Did you mean llama-d64\?"):
        load.load_model("lama-d64")


@pytest.mark.parametrize("name", ["", "nothing like it", "./missing", "/missing/folder"])
def test_an_unknown_name_is_an_error_that_lists_what_there_is(name: str) -> None:
    with pytest.raises(ModelError, match=r"no such model.*one of: smollm2, llama-d32"):
        load.load_model(name)


def test_a_file_instead_of_a_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{}")
    with pytest.raises(ModelError, match="That is a file"):
        load.load_model(str(file))


def test_a_hub_id_goes_to_mlx_lm_and_its_failure_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def unreachable(name: str) -> Any:
        asked.append(name)
        raise ConnectionError("no route,\n  and more")

    monkeypatch.setattr(mlx_lm, "load", unreachable)
    with pytest.raises(ModelError) as caught:
        load.load_model("someone/some-model-4bit")
    assert asked == ["someone/some-model-4bit"]
    assert str(caught.value) == (
        "hub model someone/some-model-4bit: mlx-lm cannot load it (ConnectionError: no route, and more). "
        "Check the id and the network, or download the model and give its folder."
    )


def test_without_mlx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModelError, match=r"package mlx: it cannot be imported.*pip install"):
        load.load_model("llama-d64")
