#!/usr/bin/env python3
"""usage: check_schema.py WRITE_SAMPLES SCHEMA OUT_DIR DOC

The samples agree with the schema; a sample with anything changed does not (a schema that accepts
everything would pass the first half); every key of the schema is in the section "profile.json" of DOC.
"""
import copy
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import validate_schema  # noqa: E402  (tests/validate_schema.py)


def set_path(document, path, value):
    document = copy.deepcopy(document)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is DROP:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


DROP = object()
# Each must be refused: where in sample "one", and what is put there.
DAMAGES = [
    (["schema_version"], "2.0"),
    (["schema_version"], DROP),
    (["device"], "gpu"),
    (["measurement"], "wallclock"),
    (["runtime_ms"], None),
    (["runtime_ms"], "0.0034"),
    (["runtime_ms"], -1),
    (["unheard_of"], 1),
    (["kernel"], None),
    (["kernel", "grid"], [1024, 1]),
    (["gpu"], None),
    (["gpu", "architecture"], 942),
    (["resources", "vgpr_per_thread"], 12.5),
    (["occupancy", "theoretical"], 1.5),
    (["occupancy", "limiter"], "luck"),
    (["stability", "classification"], "fine"),
    (["stability", "runs"], DROP),
    (["roofline"], {}),
    (["kernels"], []),
    (["kernels", 0, "calls"], 0),
    (["kernels", 0, "extra"], 0),
    (["repeat_kernels"], DROP),
    (["repeat_kernels", 0, "runs_calls"], [0, 0, 0]),
    (["repeat_kernels", 0, "runs_calls"], [1, 1, 0]),
    (["repeat_kernels", 0, "runs_ms"], [1, 1, 0]),
    (["repeat_kernels", 0, "name"], DROP),
    (["run_differences", 0, "gpu"], -1),
    (["run_differences", 0, "runs_calls"], []),
    (["provenance", "exit_status"], 256),
    (["provenance", "varies", "traces"], "one.db"),
    (["provenance", "corrections"], ["made_up"]),
]


def keys_of(schema):
    if isinstance(schema, dict):
        for name, part in schema.items():
            if name == "properties":
                yield from part
            yield from keys_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys_of(part)


def main(args):
    write_samples, schema_path, out_dir, doc_path = args
    shutil.rmtree(out_dir, ignore_errors=True)
    os.makedirs(out_dir)
    subprocess.run([write_samples, out_dir], check=True)
    if validate_schema.main([schema_path, out_dir]) != 0:
        return 1
    schema = validate_schema.load(schema_path)
    validator = validate_schema.Draft202012Validator(schema)
    one = validate_schema.load(os.path.join(out_dir, "one.json"))
    failures = 0
    for path, value in DAMAGES:
        if validator.is_valid(set_path(one, path, value)):
            shown = "removed" if value is DROP else json.dumps(value)
            print(f"accepted although damaged: {path} = {shown}")
            failures += 1
    with open(doc_path, encoding="utf-8") as file:
        documentation = file.read().split("\n## profile.json\n", 1)[1].split("\n## ", 1)[0]
    for key in sorted(set(keys_of(schema))):
        if f"`{key}`" not in documentation and f".{key}`" not in documentation:
            print(f"{doc_path} does not explain `{key}`")
            failures += 1
    print(f"{len(DAMAGES)} damaged documents, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
