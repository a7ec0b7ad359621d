"""What a caller may ask of a generation, with the defaults that every design shares (IT-0)."""

from __future__ import annotations

from dataclasses import dataclass

from . import sampling


@dataclass(frozen=True, kw_only=True)
class GenerateParameters:
    """Generation parameters. They also give the sampler and the processor that are used when the
    caller names none (IT-4), so a caller that wants others may override those two methods.
    """

    max_tokens: int | None = None
    """Tokens that come out at most; none: no limit (NX-1)."""
    bits: int | None = None
    """Bits of the dynamic quantization; none: never quantize (MQ-1)."""
    group_size: int = 64
    """Requested group size of the quantization (GS)."""
    start: int = 0
    """Offset at which quantization starts (TH)."""
    prefill_step: int = 512
    """Longest chunk of the prompt that one model call gets (PR-6)."""
    temperature: float = 0.0
    """0: the most likely token; above: a draw (PS-4)."""
    top_p: float = 1.0
    """Between 0 and 1: draw from the smallest set of most likely tokens with this probability (PS-4)."""
    seed: int = 0
    """Seed of the draw."""
    repetition_penalty: float | None = None
    """Above 0: how much less likely tokens become that were there lately (PS-3)."""
    repetition_context_size: int = 20
    """How many of the latest tokens the penalty looks at."""

    def sampler(self) -> sampling.Sampler:
        """A fresh sampler as these parameters ask for (PS-4)."""
        return sampling.sampler_from(self.temperature, top_p=self.top_p, seed=self.seed)

    def processor(self) -> sampling.Processor | None:
        """A fresh processor as these parameters ask for; none without a penalty (PS-3)."""
        return sampling.processor_from(self.repetition_penalty, context_size=self.repetition_context_size)
