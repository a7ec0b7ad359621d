"""The scripted model of `iterate` scenarios: integer arithmetic that any language can write again.

Meaning: ``docs/scenarios.md`` section 6. :mod:`.arithmetic` is the pure part, over plain ints;
:mod:`.model` applies it to the reference's caches.
"""
