"""Any Python implementation behind the pipe: requests on stdin, answers on stdout, all else on stderr.

Runs everything on the main thread, which MLX insists on.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import BinaryIO

from pydantic import ValidationError

from kvconform import json_form
from kvconform.errors import BROKEN, USAGE, UserError
from kvconform.implementation import Implementation, Info, ProtocolBroken, StartFailed, Unsupported
from kvconform.implementations import registry
from kvconform.implementations.refusals import REFUSALS
from kvconform.observation import Refusal
from kvconform.scenario import Scenario

from . import messages

TRACEBACK_LINES = 30
"""Last lines of a traceback that go over the wire: the innermost dozen frames."""

Factory = Callable[[], Implementation]


def serve(factory: Factory) -> int:
    """Answer requests until ``shutdown`` or the end of stdin; the exit status.

    Takes stdin and stdout for itself: prints of the implementation, of native code too, go to stderr.
    ``ValueError``, ``TypeError`` and ``NotImplementedError`` raised by ``run`` are answered as ``refused``,
    ``Unsupported`` as ``unsupported``, everything else as ``internal`` with the end of its traceback.
    """
    requests, answers = _take_pipes()
    _dump_stacks()
    try:
        implementation = factory()
        server = _Server(implementation, implementation.info)
    except Exception as error:
        _complain(error)
        return BROKEN
    with contextlib.suppress(BrokenPipeError):  # nobody reads any more
        for line in iter(requests.readline, b""):
            answers.write(server.answer(line))
            answers.flush()
            if server.done:
                break
    return 0


class _Server:
    """One connection: what has been agreed on, and the answer to each line."""

    def __init__(self, implementation: Implementation, info: Info) -> None:
        self.done = False
        self._implementation = implementation
        self._info = info
        self._initialized = False

    def answer(self, line: bytes) -> bytes:
        """The answer line to a request line, whatever that is."""
        try:
            request = messages.read_request(line.rstrip(b"\n"))
        except messages.BadLine as bad:
            return messages.error_line(bad.id, bad.code, str(bad))
        if isinstance(request, messages.Initialize):
            return self._initialize(request)
        if isinstance(request, messages.Shutdown):
            self.done = True
            return messages.result_line(request.id, messages.Closing())
        if not self._initialized:
            return messages.error_line(
                request.id, messages.BAD_REQUEST, "run before initialize; initialize first"
            )
        return answer_run(self._implementation, request.id, request.params.scenario)

    def _initialize(self, request: messages.Initialize) -> bytes:
        asked = request.params.protocol
        version = min(asked.max, messages.PROTOCOL)
        if version < max(asked.min, messages.OLDEST_PROTOCOL):
            spoken = f"{messages.OLDEST_PROTOCOL} to {messages.PROTOCOL}"
            why = f"protocol {asked.min} to {asked.max} asked for, {spoken} spoken; update the older side"
            return messages.error_line(request.id, messages.BAD_PARAMS, why)
        self._initialized = True
        return messages.result_line(request.id, initialized(self._info, version))


def initialized(info: Info, protocol: int) -> messages.Initialized:
    """The result of ``initialize`` for an implementation that is described by ``info``."""
    return messages.Initialized(
        protocol=protocol,
        implementation=messages.Identity(
            name=info.name, version=info.version, language=info.language, backend=info.backend
        ),
        dialect=info.dialect,
        capabilities=info.capabilities,
    )


def answer_run(implementation: Implementation, id: int, scenario: Scenario) -> bytes:
    """The answer line to one scenario."""
    try:
        observation = json_form.observation_of(implementation.run(scenario), scenario)
    except Unsupported as error:
        return messages.error_line(id, messages.UNSUPPORTED, str(error))
    except ProtocolBroken as error:
        return messages.error_line(id, messages.NO_OBSERVATION, str(error), detail=error.detail)
    except ValidationError as error:  # a ValueError, but about the answer and not about the scenario
        why = f"the answer is no observation: {error}"
        return messages.error_line(id, messages.NO_OBSERVATION, why, detail=_end_of_traceback(error))
    except REFUSALS as error:
        return messages.error_line(id, messages.REFUSED, str(error) or type(error).__name__)
    except (Exception, SystemExit) as error:
        message = f"the implementation raised {type(error).__name__}: {error}"
        return messages.error_line(id, messages.INTERNAL, message, detail=_end_of_traceback(error))
    if isinstance(observation, Refusal):
        return messages.error_line(id, messages.REFUSED, observation.message)
    return messages.result_line(id, observation)


def _end_of_traceback(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(lines[-TRACEBACK_LINES:])


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Private copies of stdin and stdout; what others know by these names becomes empty input and stderr."""
    sys.stdout.flush()
    requests, answers = os.dup(0), os.dup(1)  # not inherited by what the implementation starts
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return open(requests, "rb", buffering=65536), open(answers, "wb", buffering=65536)


def _dump_stacks() -> None:
    """Write the Python stack to stderr on a crash in native code, and on SIGTERM, which ends a hang."""
    with contextlib.suppress(ValueError, OSError, AttributeError):  # stderr may be closed or replaced
        faulthandler.enable()
        faulthandler.register(signal.SIGTERM, chain=True)


def _complain(error: Exception) -> None:
    """Why there is nothing to serve: one line for a mistake of the user, else the end of the traceback."""
    clear = isinstance(error, StartFailed | UserError)
    print(str(error) if clear else _end_of_traceback(error), file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """``python -m kvconform.wire.serve SPEC``."""
    words = sys.argv[1:] if arguments is None else arguments
    if len(words) != 1:
        print(
            "usage: python -m kvconform.wire.serve SPEC (a registered name or module:factory)",
            file=sys.stderr,
        )
        return USAGE
    return serve(lambda: registry.resolve_implementation(words[0])())


if __name__ == "__main__":
    sys.exit(main())
