"""How Hypothesis runs on a mutant: the same examples each time, and no shrinking of what nobody reads.

A plugin of pytest, loaded by the test commands of the modules (``-p mutant_profile``).
"""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile(
    "mutants",
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("mutants")
