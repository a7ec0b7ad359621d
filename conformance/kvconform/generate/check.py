"""Run a golden stream again and judge it; ``python -m kvconform.generate.check`` does it for many.

    python -m kvconform.generate.check tiny              every tiny model's stream
    python -m kvconform.generate.check smollm2           SmolLM2's few quick streams; --full for all of them
    python -m kvconform.generate.check llama-d96 smollm2/code-full

One line a stream, ``<model>/<id>: <verdict>``; exit code 1 when one is not as recorded, 2 for a mistake.
Nothing is ever written; recording is pytest's (``docs/goldens.md``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kvconform_reference import dialect as dialects

from ..errors import FAILED, UserError, near_matches
from ..models import tiny
from ..models.errors import ModelError
from ..models.load import load_model
from ..models.loaded import LoadedModel
from ..observation import GenerateObservation
from ..scenario import GenerateScenario
from . import cases, compare, platforms
from . import golden as goldens
from .cases import Case
from .golden import Golden


def run_case(case: Case, *, force: Sequence[int] | None = None) -> Golden:
    """The stream of a case as it comes out here and now, sealed. ModelError when the model is not there."""
    loaded = load_model(case.model)
    scenario = GenerateScenario(
        model=case.model,
        prompt=prompt_tokens(case, loaded),
        parameters=case.parameters,
        force=None if force is None else tuple(force),
    )
    return as_golden(case, scenario, loaded, answer(case, scenario, loaded))


def answer(case: Case, scenario: GenerateScenario, loaded: LoadedModel) -> GenerateObservation:
    """What the case's implementation says in the case's dialect."""
    if case.implementation == "mlx-lm":
        from . import mlx_lm_run

        return mlx_lm_run.run(scenario, loaded)
    from . import reference_run

    return reference_run.run(scenario, loaded, dialect=dialects.dialect_from(case.dialect))


def as_golden(
    case: Case, scenario: GenerateScenario, loaded: LoadedModel, observation: GenerateObservation
) -> Golden:
    """The record of one run with all that a reader and a comparison need, sealed."""
    return goldens.sealed(
        Golden(
            id=case.id,
            comment=case.comment,
            implementation=case.implementation,
            dialect=case.dialect,
            scenario=scenario,
            prompt_text=goldens.lines_of(loaded.decode(scenario.prompt)),
            text=goldens.lines_of(loaded.decode(observation.tokens)),
            expected=goldens.rounded(observation),
            recorded=goldens.Recorded(
                platform=platforms.platform_class(),
                dtype=loaded.dtype,
                fingerprint=loaded.fingerprint,
                versions=platforms.versions(),
            ),
        )
    )


def prompt_tokens(case: Case, loaded: LoadedModel) -> tuple[int, ...]:
    """The tokens of the case's prompt."""
    if case.model != cases.SMOLLM2:
        return tiny.tiny_spec(case.model).prompts[case.prompt]
    prompt = cases.texts()[case.prompt]
    encode = loaded.encode_chat if prompt["chat"] else loaded.encode
    return tuple(encode(prompt["text"]))


def run_as_recorded(case: Case, recorded: Golden) -> Golden:
    """The case run in the way that can be compared with its golden on this platform."""
    forced = compare.mode_for(recorded, platforms.platform_class()) == "forced"
    return run_case(case, force=recorded.expected.tokens if forced else None)


def check_case(case: Case, *, folder: Path | None = None) -> compare.Verdict:
    """Whether a case comes out as its golden says. UserError or ModelError when it cannot be checked."""
    recorded = goldens.read((folder or goldens.streams_folder()) / f"{case.key}.json")
    return compare.judge(recorded, run_as_recorded(case, recorded))


# ---------------------------------------------------------------- command


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code of checking the streams that are named."""
    parser = argparse.ArgumentParser(prog="python -m kvconform.generate.check")
    parser.add_argument("names", nargs="+", help="tiny, smollm2, a model, or <model>/<id>")
    parser.add_argument("--full", action="store_true", help="all of SmolLM2's streams")
    options = parser.parse_args(arguments)
    try:
        return _check([case for name in options.names for case in named_cases(name, full=options.full)])
    except (UserError, ModelError) as error:
        print(error, file=sys.stderr)
        return getattr(error, "code", 2)


def _check(chosen: Sequence[Case]) -> int:
    worst = 0
    for case in chosen:
        verdict = check_case(case)
        print(f"{case.key}: {verdict.text}", flush=True)
        worst = worst if verdict.accepted else FAILED
    return worst


def named_cases(name: str, *, full: bool = False) -> list[Case]:
    """The cases that a name on the command line stands for; UserError when there are none."""
    if name == "tiny":
        return cases.tiny_cases()
    if name == cases.SMOLLM2:
        return cases.smollm2_cases(full=full)
    known = cases.all_cases()
    found = [case for case in known.values() if name in (case.model, case.key)]
    if not found:
        near = near_matches(name, sorted({*known, *(case.model for case in known.values())}))
        raise UserError(
            f"golden stream {name}: there is none of that name{near}. Give tiny, smollm2 or a model"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
