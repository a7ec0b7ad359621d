"""A driver written with nothing but the standard library, which misbehaves on command.

``python wire_driver.py BEHAVIOUR`` answers every ``resolve`` scenario with the requested size, except
the one that asks for ``BAD``: that is answered as the behaviour of this name says. Behaviours whose name
begins with ``start`` concern the start. Asked for ``PID`` it answers with its process id.
"""

import json
import os
import signal
import subprocess
import sys
import time

BAD, PID = 13, 1

DATA = {"kind": "internal", "detail": "\x1b[32mline\x1b[0m\t7\n\x00"}

INTRODUCTION = {
    "protocol": 1,
    "implementation": {"name": "test driver", "version": "1.0", "language": "Python", "backend": "none"},
    "dialect": "proposal",
    "capabilities": {"kinds": ["resolve", "quantize"]},
}


def write(text):
    data = text.encode() if isinstance(text, str) else text
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(id, result):
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n"


def error(id, code, message, **more):
    return (
        json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}) + "\n"
    )


def resolved(id, size):
    return answer(id, {"kind": "resolve", "group_size": size})


def die(number):
    os.kill(os.getpid(), number)
    time.sleep(60)


def hang():
    print("entering the endless loop", file=sys.stderr, flush=True)
    time.sleep(60)


def hang_stubbornly():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def exit_with(status, *, after=""):
    write(after)
    print("last words\nreally the last", file=sys.stderr, flush=True)
    os._exit(status)


def crash_with_heirs():
    """A grandchild keeps all three pipes open when the driver is gone."""
    heir = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(f"heir {heir.pid}", file=sys.stderr, flush=True)
    die(signal.SIGKILL)


def endless_line():
    while True:
        write("x" * 65536)


def flood(megabytes):
    for _ in range(megabytes * 16):
        os.write(2, b"y" * 65535 + b"\n")


def flood_stubbornly():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        flood(1)


def close_stdin():
    os.close(0)
    time.sleep(60)


def close_stdout():
    sys.stdout.flush()
    os.close(1)
    time.sleep(60)


def late_noise(id):
    write(resolved(id, BAD))
    time.sleep(0.2)
    write("flushed too late\n")


def answer_then(id, action):
    write(resolved(id, BAD))
    action()


MISBEHAVE = {
    "noise": lambda n: write("loading weights 12 %\n" + resolved(n, BAD)),
    "noise-behind": lambda n: write(resolved(n, BAD) + "done in 3 ms\n"),
    "blank-line": lambda n: write("\n" + resolved(n, BAD)),
    "twice": lambda n: write(resolved(n, BAD) * 2),
    "half-then-hang": lambda n: (write(resolved(n, BAD)[:20]), hang()),
    "half-then-exit": lambda n: exit_with(0, after=resolved(n, BAD)[:20]),
    "half-then-crash": lambda n: (write(resolved(n, BAD)[:20]), die(signal.SIGSEGV)),
    "no-newline": lambda n: exit_with(0, after=resolved(n, BAD).rstrip("\n")),
    "wrong-id": lambda n: write(resolved(n + 1, BAD)),
    "text-id": lambda n: write(resolved(str(n), BAD)),
    "no-id": lambda n: write('{"jsonrpc": "2.0", "result": {"kind": "resolve", "group_size": 1}}\n'),
    "unknown-field": lambda n: write(answer(n, {"kind": "resolve", "groupsize": 64})),
    "two-in-a-line": lambda n: write(resolved(n, BAD).rstrip("\n") + resolved(n + 1, BAD)),
    "answer-before": lambda n: write(resolved(n - 1, BAD) + resolved(n, BAD)),
    "byte-order-mark": lambda n: write(b"\xef\xbb\xbf" + resolved(n, BAD).encode()),
    "twice-a-field": lambda n: write(resolved(n, BAD).replace("13", '64, "group_size": 13')),
    "twice-an-id": lambda n: write(resolved(n, BAD).replace('"id"', '"id": 7, "id"')),
    "endless-integer": lambda n: write(resolved(n, BAD).replace("13", "1" * 9000)),
    "carriage-return": lambda n: write(resolved(n, BAD).replace("\n", "\r\n")),
    "carriage-return-only": lambda n: write(resolved(n, BAD).replace("\n", "\r")),
    "closed-stdin": lambda n: answer_then(n, close_stdin),
    "stopped": lambda n: die(signal.SIGSTOP),
    "100-megabytes-of-stderr": lambda n: (flood(100), write(resolved(n, BAD))),
    "flood-without-end": lambda n: flood_stubbornly(),
    "colours": lambda n: write(error(n, -32603, "\x1b[1;31mred\x1b[0m\a ä", data=DATA)),
    "long-story": lambda n: write(error(n, -32603, "m" * 1_000_000)),
    "nan": lambda n: write(answer(n, {"kind": "resolve", "group_size": float("nan")})),
    "infinity": lambda n: write(answer(n, {"kind": "generate", "tokens": [], "margins": [float("inf")]})),
    "huge-integer": lambda n: write(resolved(n, 2**60)),
    "fraction": lambda n: write(resolved(n, 64.0)),
    "not-utf8": lambda n: write(b'{"jsonrpc": "2.0", "id": \xff}\n'),
    "array": lambda n: write("[1, 2]\n"),
    "wrong-kind": lambda n: write(answer(n, {"kind": "cache", "records": []})),
    "refusal-as-result": lambda n: write(answer(n, {"kind": "refused", "message": "no"})),
    "result-and-error": lambda n: write(
        json.dumps({"jsonrpc": "2.0", "id": n, "result": {}, "error": {"code": -32001, "message": ""}}) + "\n"
    ),
    "neither": lambda n: write(json.dumps({"jsonrpc": "2.0", "id": n}) + "\n"),
    "old-jsonrpc": lambda n: write(json.dumps({"id": n, "jsonrpc": "1.0", "result": None}) + "\n"),
    "unknown-code": lambda n: write(error(n, 7, "seven")),
    "code-against-kind": lambda n: write(error(n, -32001, "no", data={"kind": "internal"})),
    "50-megabytes": lambda n: write(resolved(n, BAD).replace("{", "{" + " " * 50_000_000, 1)),
    "endless-line": lambda n: endless_line(),
    "segv": lambda n: die(signal.SIGSEGV),
    "abort": lambda n: die(signal.SIGABRT),
    "killed": lambda n: die(signal.SIGKILL),
    "shell-segv": lambda n: exit_with(128 + signal.SIGSEGV),
    "exit-3": lambda n: exit_with(3),
    "exit-0": lambda n: exit_with(0),
    "close-stdout": lambda n: close_stdout(),
    "hang": lambda n: hang(),
    "hang-stubbornly": lambda n: hang_stubbornly(),
    "heirs": lambda n: crash_with_heirs(),
    "stderr-flood": lambda n: (sys.stderr.write("spam\n" * 400_000), exit_with(3)),
    "refused": lambda n: write(error(n, -32001, "13 is unlucky", data={"kind": "refused"})),
    "refused-bare": lambda n: write(error(n, -32001, "13 is unlucky")),
    "unsupported": lambda n: write(error(n, -32002, "no such concept")),
    "internal": lambda n: write(
        error(n, -32603, "it broke", data={"kind": "internal", "detail": "in line 7"})
    ),
    "not-understood": lambda n: write(error(n, -32602, "params.scenario: what is this")),
    "not-readable": lambda n: write(error(None, -32700, "what is this")),
    "late-noise": late_noise,
    "late-crash": lambda n: answer_then(n, lambda: die(signal.SIGSEGV)),
    "late-exit-3": lambda n: answer_then(n, lambda: exit_with(3)),
}


def introduce(id, behaviour):
    told = dict(INTRODUCTION)
    if behaviour == "start-exits":
        print("cannot open the model file", file=sys.stderr, flush=True)
        os._exit(4)
    if behaviour == "start-crashes":
        die(signal.SIGABRT)
    if behaviour == "start-slow":
        time.sleep(60)
    if behaviour == "start-banner":
        write("Welcome to the driver\n")
    if behaviour == "start-old":
        told["protocol"] = 0
    if behaviour == "start-error":
        return write(error(id, -32602, "only protocol 7 is spoken here"))
    if behaviour == "start-unknown-feature":
        told["capabilities"] = {"features": ["eagre"]}
    if behaviour == "start-unknown-field":
        told["protocols"] = [1]
    if behaviour == "start-nan":
        told["dialect"] = {"start": float("nan")}
    if behaviour == "start-changes":
        told["dialect"] = f"dialect {os.getpid()}"
    if behaviour == "start-twice-a-field":
        return write(answer(id, told).replace('"dialect"', '"dialect": "mlx-lm", "dialect"'))
    if behaviour == "start-byte-order-mark":
        return write(b"\xef\xbb\xbf" + answer(id, told).encode())
    if behaviour == "start-colours":
        told["implementation"] = {**told["implementation"], "name": "\x1b[31mred"}
    if behaviour == "start-nameless":
        told["implementation"] = {**told["implementation"], "name": ""}
    if behaviour == "start-long-name":
        told["implementation"] = {**told["implementation"], "version": "1." * 50}
    if behaviour == "start-unknown-bits":
        told["capabilities"] = {"bits": [4, 7]}
    if behaviour == "start-unknown-size":
        told["capabilities"] = {"group_sizes": [0, 64]}
    if behaviour == "start-without-flush":
        return sys.stdout.buffer.write(answer(id, told).encode())
    if behaviour == "start-answers-ahead":
        return write(answer(id, told) + resolved(id + 1, BAD))
    if behaviour == "start-answers-ahead-later":
        write(answer(id, told))
        time.sleep(0.1)
        return write(resolved(id + 1, BAD))
    if behaviour == "start-talks":
        return write(answer(id, told) + "ready\n")
    return write(answer(id, told))


def main():
    behaviour = sys.argv[1]
    for line in sys.stdin.buffer:
        request = json.loads(line)
        number, method = request["id"], request["method"]
        if method == "initialize":
            introduce(number, behaviour)
        elif method == "shutdown":
            if behaviour == "ends-badly":
                die(signal.SIGSEGV)
            if behaviour == "never-ends":
                write(answer(number, {}))
                time.sleep(60)
            if behaviour != "ends-silently":
                write(answer(number, {}))
            return
        else:
            scenario = request["params"]["scenario"]
            if scenario["kind"] == "quantize":  # the tensor comes back as it was
                tensor = scenario["tensor"]
                write(
                    answer(number, {"kind": "quantize", "packed": tensor, "scales": tensor, "biases": tensor})
                )
            elif scenario["requested"] == BAD and behaviour in MISBEHAVE:
                MISBEHAVE[behaviour](number)
            else:
                write(
                    resolved(number, os.getpid() if scenario["requested"] == PID else scenario["requested"])
                )
            if behaviour == "exits-after-each-answer":
                return


main()
