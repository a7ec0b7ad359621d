"""``python -m kvconform``: the same as the command."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
