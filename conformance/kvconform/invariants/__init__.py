"""The second oracle: statements about a scenario and its observation that know no reference.

Each invariant is a pure function ``(scenario, observation) -> Iterable[Finding]``; one that depends on what
an implementation declares takes that as a third argument. A finding's message says first what is wrong,
then where.
"""

from __future__ import annotations
