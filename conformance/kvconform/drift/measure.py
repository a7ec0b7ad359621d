"""Measures settings against full precision, each along the tokens of the full-precision answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvconform_reference.parameters import GenerateParameters

from ..advice import fates
from ..errors import NOTHING, UserError
from ..models.loaded import LoadedModel
from ..observation import GenerateObservation
from ..recorder import versions
from .divergence import Floats, as_row, divergence
from .result import Drift, DriftReport
from .runs import Run, Runs
from .settings import Setting

PACKAGES = ("mlx", "mlx-lm")

Key = tuple[int, int, tuple[int | None, ...]]
"""Bits, start, and the group size that each layer gets: settings with the same key are one run."""


@dataclass(frozen=True, kw_only=True)
class FullPrecision:
    """The answer that everything is compared with."""

    tokens: tuple[int, ...]
    logits: tuple[Floats, ...]
    nbytes: int


class Measurement:
    """Settings on one model and prompt. UserError, before anything long, where none can change anything."""

    def __init__(self, runs: Runs, settings: Sequence[Setting], *, tokens: int) -> None:
        self._runs = runs
        self._settings = tuple(settings)
        self._tokens = tokens
        layers = runs.layers_after_prompt()
        self._fates = {s.group_size: fates.fates(layers, s.group_size) for s in settings}
        self._check_layers()
        self._check_starts()

    @property
    def steps(self) -> int:
        """Tokens that will be sampled at most, the look-ahead ones included; for a progress bar."""
        return (1 + len({self._key(setting) for setting in self._settings})) * (self._tokens + 1)

    def report(self, prompt: str) -> DriftReport:
        """The report, with ``prompt`` as its text. UserError when the model cannot go on once quantized."""
        full = self.full_precision()
        found: dict[Key, Drift] = {}
        for setting in self._settings:
            key = self._key(setting)
            found[key] = found.get(key) or self.drift(setting, full)
        drifts = tuple(replace(found[self._key(setting)], setting=setting) for setting in self._settings)
        self._check_measured(drifts)
        return self._report(prompt, full, drifts)

    # ------------------------------------------------------------ runs

    def full_precision(self) -> FullPrecision:
        """The greedy answer, up to the limit or to the end-of-sequence token."""
        run = self._runs.run(GenerateParameters(max_tokens=self._tokens), stop=end_tokens(self._runs.loaded))
        observation = run.observation
        if observation.error is not None:
            raise UserError(
                f"model {self._name}: it does not generate in full precision: {observation.error.message}. "
                "It has to work in mlx-lm first: try `mlx_lm.generate --model` with it.",
                code=NOTHING,
            )
        return FullPrecision(
            tokens=observation.tokens, logits=tuple(map(as_row, run.logits)), nbytes=observation.nbytes or 0
        )

    def drift(self, setting: Setting, full: FullPrecision) -> Drift:
        """One setting along the full-precision tokens."""
        parameters = GenerateParameters(
            bits=setting.bits,
            group_size=setting.group_size,
            start=setting.start,
            max_tokens=len(full.tokens),
        )
        return self._compared(setting, self._runs.run(parameters, force=full.tokens), full)

    def _compared(self, setting: Setting, run: Run, full: FullPrecision) -> Drift:
        observation = run.observation
        pairs = zip(full.logits, run.logits, strict=False)  # a run that ended with an error is shorter
        return Drift(
            setting=setting,
            group_sizes=tuple(sorted({s for event in observation.conversions for s in event.group_sizes})),
            converted=sum(len(event.layers) for event in observation.conversions),
            first_quantized=self._first_quantized(observation),
            tokens=observation.tokens,
            divergences=tuple(divergence(wanted, as_row(found)) for wanted, found in pairs),
            differs=tuple(a != b for a, b in zip(full.tokens, observation.tokens, strict=False)),
            nbytes=observation.nbytes or 0,
            error=_message(observation),
        )

    def _first_quantized(self, observation: GenerateObservation) -> int | None:
        """The step after the pass: token 0 comes from the prompt, which is fed in full precision."""
        positions = [event.position for event in observation.conversions]
        return min(positions) - len(self._runs.prompt) + 1 if positions else None

    # ------------------------------------------------------------ what can be measured at all

    @property
    def _name(self) -> str:
        return self._runs.loaded.name

    def _key(self, setting: Setting) -> Key:
        sizes = tuple(fate.group_size for fate in self._fates[setting.group_size])
        return setting.bits, setting.start, sizes

    def _check_layers(self) -> None:
        if any(fates.converted(found) for found in self._fates.values()):
            return
        why = fates.why_nothing([fate.reason for fate in next(iter(self._fates.values()))])
        raise UserError(
            f"model {self._name}: no layer can be quantized: {why}. "
            f"Kv-bits change nothing; `kvconform model {self._name} --kv-bits 4` shows each layer.",
            code=NOTHING,
        )

    def _check_starts(self) -> None:
        start, prompt = min(setting.start for setting in self._settings), len(self._runs.prompt)
        if start > prompt + self._tokens - 2:  # the last token's step must read a quantized cache
            raise UserError(
                f"--start {start}: not reached by {prompt} prompt tokens and an answer of {self._tokens}. "
                "Give a smaller start, or more --tokens."
            )

    def _check_measured(self, drifts: Sequence[Drift]) -> None:
        errors = [drift.error for drift in drifts if drift.error]
        if errors and not any(drift.compared for drift in drifts):
            raise UserError(
                f"model {self._name}: it cannot go on once its cache is quantized: {errors[0]}. "
                "Run it without kv-bits.",
                code=NOTHING,
            )

    # ------------------------------------------------------------ the report

    def _report(self, prompt: str, full: FullPrecision, drifts: tuple[Drift, ...]) -> DriftReport:
        loaded = self._runs.loaded
        return DriftReport(
            model=loaded.name,
            source=loaded.source,
            dtype=loaded.dtype,
            layers=len(next(iter(self._fates.values()))),
            prompt=prompt,
            prompt_tokens=self._runs.prompt,
            tokens=full.tokens,
            words=tuple(loaded.decode([token]) for token in full.tokens),
            text=loaded.decode(full.tokens),
            ended=full.tokens[-1] in end_tokens(loaded),
            nbytes=full.nbytes,
            drifts=drifts,
            versions=versions(PACKAGES),
        )


def _message(observation: GenerateObservation) -> str | None:
    """The observation's error as a clause of one line."""
    return None if observation.error is None else " ".join(observation.error.message.split()).rstrip(".")


def end_tokens(loaded: LoadedModel) -> frozenset[int]:
    """The model's end-of-sequence tokens; a tiny model has none."""
    return frozenset() if loaded.tokenizer is None else frozenset(loaded.tokenizer.eos_token_ids)
