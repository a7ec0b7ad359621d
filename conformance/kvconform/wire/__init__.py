"""The wire: scenarios to a process and observations back, one JSON object a line (``docs/wire.md``)."""
