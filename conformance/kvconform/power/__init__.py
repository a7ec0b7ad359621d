"""Proof that the suite bites: every catalogued fault is put to every check, and what catches it is shown.

:mod:`.corpus` asks each check once for its scenarios, :mod:`.trial` puts one fault to them, :mod:`.matrix`
sums up, :mod:`.page` writes ``docs/faults.md``. The command is ``kvconform power``.
"""
