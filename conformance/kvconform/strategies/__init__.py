"""Hypothesis strategies that aim where bugs live, within what an implementation declares.

The first choice everywhere is the plainest one, so that a failure shrinks to a scenario a person can read.
A group size of 0 is never generated: it can take a process down (GS-11 asks for it once, explicitly).
"""

from __future__ import annotations
