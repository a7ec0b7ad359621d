"""Implementations that the suite ships: each module has a ``factory``."""
