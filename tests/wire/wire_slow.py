"""A correct resolver whose process is slow, long-winded or short-lived: ``python wire_slow.py WAY``."""

import json
import os
import sys
import time

WAY = sys.argv[1]
SIZES = (32, 64, 128)
INTRODUCTION = {
    "protocol": 1,
    "implementation": {"name": WAY, "version": "1.0", "language": "Python", "backend": "none"},
    "dialect": "proposal",
    "capabilities": {"kinds": ["resolve"], "features": ["resolver"]},
}


def size_for(requested, key_dim, value_dim):
    fitting = [size for size in SIZES if key_dim % size == 0 and value_dim % size == 0]
    return min(fitting, key=lambda size: (abs(size - max(1, requested)), size), default=None)


def result_of(method, params):
    if method == "initialize":
        time.sleep(1.0 if WAY == "start" else 0)
        return INTRODUCTION
    if method == "shutdown":
        return {}
    if WAY == "restarts":
        os._exit(7)
    time.sleep(1.0 if WAY == "call" else 0)
    scenario = params["scenario"]
    size = size_for(scenario["requested"], scenario["key_dim"], scenario["value_dim"])
    return {"kind": "resolve", "group_size": size}


for line in sys.stdin:
    request = json.loads(line)
    answer = {
        "jsonrpc": "2.0",
        "id": request["id"],
        "result": result_of(request["method"], request["params"]),
    }
    print(json.dumps(answer) + " " * (20_000 if WAY == "answer" else 0), flush=True)
    if request["method"] == "shutdown":
        time.sleep(1.0 if WAY == "shutdown" else 0)
        break
