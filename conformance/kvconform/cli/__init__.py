"""The command line: ``kvconform``. Documented in ``docs/cli.md``.

Modules of the commands import what they need inside them, so that ``kvconform --version`` is quick.
"""

from __future__ import annotations

import errno
import os
import sys

from ..current_folder import search_the_current_folder
from ..errors import INTERRUPTED, USAGE, UserError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code of ``docs/cli.md``. A user's mistake is one line on stderr."""
    from .app import app

    search_the_current_folder()
    try:
        code = app(args=sys.argv[1:] if arguments is None else arguments, prog_name="kvconform")
    except SystemExit as end:
        code = end.code
    except UserError as error:
        print(f"kvconform: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("kvconform: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("kvconform: no space left to write to. Make room and try again.", file=sys.stderr)
        return USAGE
    return code if isinstance(code, int) else USAGE if code else 0
