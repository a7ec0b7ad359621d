"""Everything small: all short layer lists, all short step sequences, all named dialects, one after another.

Beside Hypothesis, which looks far and by chance, this looks near and leaves nothing out. The alphabet is in
``docs/exhaustive.md``; the judges are the invariants, which know no reference.
"""
