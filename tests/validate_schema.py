#!/usr/bin/env python3
"""Validates JSON files against a JSON Schema.

usage: validate_schema.py SCHEMA FILE_OR_FOLDER...
A folder stands for its *.json. Prints every violation; exit status 1 if there is any, 2 if
nothing was checked or the jsonschema module is missing.
"""
import glob
import json
import os
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("validate_schema.py: the Python module jsonschema is missing (./setup --check)")


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def reject_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("duplicate key in an object")
    return dict(pairs)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=reject_constant, object_pairs_hook=reject_duplicates)


def violations(validator, path):
    try:
        instance = load(path)
    except ValueError as error:
        return [f"{path}: {error}"]
    found = sorted(validator.iter_errors(instance), key=lambda e: list(map(str, e.absolute_path)))
    return [f"{path}: /{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in found]


def main(args):
    if len(args) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    schema = load(args[0])
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    files = []
    for arg in args[1:]:
        files += sorted(glob.glob(os.path.join(arg, "*.json"))) if os.path.isdir(arg) else [arg]
    if not files:
        print("validate_schema.py: no JSON file to check", file=sys.stderr)
        return 2
    found = [line for path in files for line in violations(validator, path)]
    print("\n".join(found) if found else f"{len(files)} files agree with {args[0]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
