"""Requests for a worker: requests.request(id, command words, **members)."""
import json


def request(id, *command, **members):
    made = {"id": id, "command": list(command), "environment": [], "objective": "wall",
            "timeout_ns": 600 * 10**9, "memory_bytes": 0, "warmups": 0, "samples": 1}
    made.update(members)
    return json.dumps(made)


def output(pattern, unit_ns=1.0):
    return {"objective": "output", "pattern": pattern, "unit_ns": unit_ns}


def build(output, *command):
    return {"build": list(command), "build_output": output, "build_timeout_ns": 600 * 10**9}
