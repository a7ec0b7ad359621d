"""The messages of the wire as models: both sides build and validate their lines here and nowhere else.

The shape is that of JSON-RPC 2.0 without batches and notifications; ``docs/wire.md`` describes it.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Annotated, Any, Generic, Literal, NoReturn, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from kvconform.implementation import Capabilities, Info
from kvconform.observation import Observation
from kvconform.scenario import Document, Int, Scenario

PROTOCOL = 1
"""The newest version of the protocol spoken here; scenario documents have a version of their own."""
OLDEST_PROTOCOL = 1

QUOTED = 200
"""Characters of a bad line that a message quotes: enough to recognise a log line, little enough to read."""

ErrorKind = Literal["refused", "unsupported", "internal", "protocol"]

REFUSED, UNSUPPORTED, NO_OBSERVATION, INTERNAL = -32001, -32002, -32003, -32603
NOT_JSON, BAD_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602

KINDS: dict[int, ErrorKind] = {
    REFUSED: "refused",
    UNSUPPORTED: "unsupported",
    INTERNAL: "internal",
    NO_OBSERVATION: "protocol",
    NOT_JSON: "protocol",
    BAD_REQUEST: "protocol",
    NO_METHOD: "protocol",
    BAD_PARAMS: "protocol",
}
"""Every code of an error, with the kind that it means."""


# ---------------------------------------------------------------- requests


class ProtocolRange(Document):
    """The versions of the protocol that the suite speaks, both ends included."""

    min: Int = OLDEST_PROTOCOL
    max: Int = PROTOCOL


class InitializeParams(Document):
    """Parameters of ``initialize``."""

    protocol: ProtocolRange = ProtocolRange()


class RunParams(Document):
    """Parameters of ``run``."""

    scenario: Scenario


class NoParams(Document):
    """Parameters of ``shutdown``: none."""


class Initialize(Document):
    """First request of a connection."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Int
    method: Literal["initialize"] = "initialize"
    params: InitializeParams = InitializeParams()


class Run(Document):
    """One scenario."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Int
    method: Literal["run"] = "run"
    params: RunParams


class Shutdown(Document):
    """Last request: answer, then exit with status 0."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Int
    method: Literal["shutdown"] = "shutdown"
    params: NoParams = NoParams()


Request = Annotated[Initialize | Run | Shutdown, Field(discriminator="method")]
REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
"""Validates a request."""


# ---------------------------------------------------------------- answers


class Identity(Document):
    """Who answers."""

    name: str
    version: str
    language: str
    backend: str


class Initialized(Document):
    """Result of ``initialize``."""

    protocol: Int
    """The version spoken from here on, within the range that was asked for."""
    implementation: Identity
    dialect: str | dict[str, Any]
    """A named dialect, or parameters spelled out; those left out are the proposal's (docs/dialects.md)."""
    capabilities: Capabilities

    def info(self) -> Info:
        """The same as the suite keeps it."""
        return Info(**dict(self.implementation), dialect=self.dialect, capabilities=self.capabilities)


class Closing(Document):
    """Result of ``shutdown``: an empty object."""


class ErrorData(Document):
    """What an error is, beyond its code and message."""

    kind: ErrorKind
    detail: str = ""
    """Free text for a human: a stack trace, for example."""


class WireError(Document):
    """An answer that is an error. ``data`` may be left out; then the code says the kind."""

    code: Int
    message: str
    data: ErrorData | None = None

    @property
    def kind(self) -> ErrorKind:
        """``refused``, ``unsupported``, ``internal`` or ``protocol``."""
        return KINDS[self.code]

    @model_validator(mode="after")
    def _code_and_kind_agree(self) -> WireError:
        if self.code not in KINDS:
            raise ValueError(f"unknown code {self.code}; known are {sorted(KINDS)}")
        if self.data is not None and self.data.kind != self.kind:
            raise ValueError(f"code {self.code} means {self.kind}, but data.kind is {self.data.kind}")
        return self


ResultT = TypeVar("ResultT")


class Answer(Document, Generic[ResultT]):
    """Result or error of the request with the same id."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: Int | None
    """Null only when the request could not be read."""
    result: ResultT | None = None
    error: WireError | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Answer[ResultT]:
        if (self.result is None) == (self.error is None):
            raise ValueError("an answer has either a result or an error")
        return self


INITIALIZED: TypeAdapter[Answer[Initialized]] = TypeAdapter(Answer[Initialized])
OBSERVED: TypeAdapter[Answer[Observation]] = TypeAdapter(Answer[Observation])
CLOSING: TypeAdapter[Answer[Closing]] = TypeAdapter(Answer[Closing])


class BadLine(Exception):  # noqa: N818 - wrapped by both sides into their own errors
    """A line that is not a valid message; the text says why and quotes it. ``id`` when it could be read."""

    def __init__(self, why: str, line: bytes, *, code: int = BAD_REQUEST, id: int | None = None) -> None:
        super().__init__(f"{why}: {quote(line)}")
        self.code = code
        self.id = id


# ---------------------------------------------------------------- building lines


def initialize_line(id: int, protocol: ProtocolRange | None = None) -> bytes:
    """The line that opens a connection."""
    return _line(Initialize(id=id, params=InitializeParams(protocol=protocol or ProtocolRange())))


def run_line(id: int, scenario: Scenario) -> bytes:
    """The line that asks for one scenario. Put together by hand: the scenario is validated already."""
    body = scenario.model_dump_json().encode()
    return b'{"jsonrpc":"2.0","id":%d,"method":"run","params":{"scenario":%b}}\n' % (id, body)


def shutdown_line(id: int) -> bytes:
    """The line that ends a connection."""
    return _line(Shutdown(id=id))


def request_lines(scenarios: Iterable[Scenario]) -> Iterator[bytes]:
    """A whole connection: ``initialize``, every scenario, ``shutdown``; ids count from 1."""
    ids = count(1)
    yield initialize_line(next(ids))
    for scenario in scenarios:
        yield run_line(next(ids), scenario)
    yield shutdown_line(next(ids))


def result_line(id: int, result: Document) -> bytes:
    """An answer that holds a result."""
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}\n' % (id, result.model_dump_json().encode())


def error_line(id: int | None, code: int, message: str, *, detail: str = "") -> bytes:
    """An answer that is an error; lone surrogates in the texts are escaped, they have no UTF-8."""
    data = ErrorData(kind=KINDS[code], detail=_utf8(detail))
    error = WireError(code=code, message=_utf8(message), data=data)
    # The null result of an error answer is left out, as JSON-RPC asks.
    answer = {"jsonrpc": "2.0", "id": id, "error": error.model_dump(mode="json")}
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _line(message: Document) -> bytes:
    return message.model_dump_json().encode() + b"\n"


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


# ---------------------------------------------------------------- reading lines


def read_request(line: bytes) -> Request:
    """The request on a line; :class:`BadLine` with the JSON-RPC code of what is wrong with it."""
    try:
        return REQUEST.validate_json(line)
    except ValidationError as error:
        _reject(line, error)


def read_answer(line: bytes, form: TypeAdapter[Answer[ResultT]], *, id: int) -> Answer[ResultT]:
    """The answer to request ``id`` on a line; :class:`BadLine` says what else it is."""
    try:
        answer = form.validate_json(line)
    except ValidationError as error:
        _reject(line, error, asked=id)
    _strict_json(line)  # pydantic takes the last of two fields of a name, and NaN where anything may stand
    if answer.id != id and not (answer.id is None and answer.error and answer.error.kind == "protocol"):
        raise BadLine(f"answers request {answer.id} where request {id} was asked", line)
    return answer


def is_json(line: bytes) -> bool:
    """Whether a line, or what came of one, is a whole JSON value."""
    try:
        _strict_json(line)
    except BadLine:
        return False
    return True


def quote(line: bytes) -> str:
    """A line as a message shows it: one line of text, shortened."""
    text = line.decode("utf-8", "backslashreplace")
    if len(text) > QUOTED:
        text = f"{text[:QUOTED]}… ({len(line)} bytes)"
    return repr(text)


def _reject(line: bytes, error: ValidationError, *, asked: int | None = None) -> NoReturn:
    """Say precisely what a line is that did not validate; only now is it worth a second look."""
    data = _strict_json(line)
    if not isinstance(data, dict):
        raise BadLine("not a JSON object", line) from None
    _reject_message(line, error, cast("dict[str, Any]", data), asked)


def _strict_json(line: bytes) -> Any:
    try:
        return json.loads(line.decode(), parse_constant=_not_json, object_pairs_hook=_object)
    except UnicodeDecodeError as bad:
        raise BadLine(f"not UTF-8 (byte {bad.start})", line, code=NOT_JSON) from None
    except _NotANumberError as token:
        raise BadLine(f"holds {token}, which is not JSON", line, code=NOT_JSON) from None
    except _TwiceError as name:
        raise BadLine(f"has the field {name} twice in one object", line) from None
    except (json.JSONDecodeError, RecursionError):
        why = "begins with a byte order mark, so it is not JSON" if line.startswith(BOM_UTF8) else "not JSON"
        raise BadLine(why, line, code=NOT_JSON) from None
    except ValueError:  # Python's own limit
        raise BadLine("holds a number of thousands of digits", line) from None


def _reject_message(line: bytes, error: ValidationError, data: dict[str, Any], asked: int | None) -> NoReturn:
    given: int | None = data["id"] if type(data.get("id")) is int else None
    if asked is not None and given is not None and given != asked:
        raise BadLine(f"answers request {given} where request {asked} was asked", line) from None
    code = BAD_PARAMS if isinstance(data.get("params"), dict) else BAD_REQUEST
    if asked is None and data.get("method") not in ("initialize", "run", "shutdown"):
        code = NO_METHOD if isinstance(data.get("method"), str) else BAD_REQUEST
    raise BadLine(first_fault(error), line, code=code, id=given) from None


def first_fault(error: ValidationError) -> str:
    """``result.steps.0.foo: unknown field`` from pydantic's list of faults."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    # Of several faults the unknown field tells most: a misspelt name also makes another one missing.
    fault = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])
    where = ".".join(str(part) for part in fault["loc"])
    what = "unknown field" if fault["type"] == "extra_forbidden" else fault["msg"]
    return f"{where}: {what}" if where else what


class _NotANumberError(Exception):
    pass


class _TwiceError(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two fields of a name every reader takes another one, so there may not be two."""
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(repr(name) for name in names if names.count(name) > 1))
    return data


def _not_json(token: str) -> NoReturn:
    raise _NotANumberError(token)
