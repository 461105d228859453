#!/usr/bin/env python3
"""Groups of bench/model-accuracy that take little time: its JSON agrees with its schema, is the same
every time, and has the rows of bench/model-accuracy.md, which so is that of the model as it is.

usage: check_accuracy.py MODEL_ACCURACY FOLDER_OF_KERNELS SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile

GROUPS = ["Fitted", "Matrix instructions", "Counters of a vector copy"]


def rows_of(page, name):
    """[quantity, published or none, modelled, error or empty] of a group's table."""
    text = page.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
    cells = [[c.strip() for c in line.strip("|\n").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [[c[1], c[2], c[3], c[5]] for c in cells[2:]]


def printed(row):
    published, error = row["published"], row["error_percent"]
    if published is None:
        assert error is None, row
        return [row["quantity"], "none", f"{row['modelled']:.6g}", ""]
    assert abs(error - 100 * (row["modelled"] / published - 1)) < 0.01, row
    return [row["quantity"], f"{published:.6g}", f"{row['modelled']:.6g}", f"{error:+.1f} %"]


def main():
    program, kernels, source = sys.argv[1:]
    command = [program, "--json"] + [a for g in GROUPS for a in ("--group", g)] + [kernels]
    texts = [subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout for _ in range(2)]
    assert texts[0] == texts[1], "two runs differ"
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(texts[0])
        file.flush()
        subprocess.run([sys.executable, os.path.join(source, "tests/validate_schema.py"),
                        os.path.join(source, "schemas/model_accuracy.schema.json"), file.name], check=True)
    groups = json.loads(texts[0])["groups"]
    assert [g["name"] for g in groups] == GROUPS, groups
    with open(os.path.join(source, "bench/model-accuracy.md"), encoding="utf-8") as file:
        page = file.read()
    for group in groups:
        got, wanted = [printed(r) for r in group["rows"]], rows_of(page, group["name"])
        assert got == wanted, f"{group['name']}: bench/model-accuracy.md says {wanted}, the model {got}; bench/README.md has how to write it again"
        errors = [abs(r["error_percent"]) for r in group["rows"] if r["error_percent"] is not None]
        assert abs(group["worst_error_percent"] - max(errors)) < 0.01, group
        assert abs(group["mean_absolute_error_percent"] - sum(errors) / len(errors)) < 0.01, group
    for wrong in (["--group", "None of these"], ["--group"], ["--nothing"]):
        run = subprocess.run([program] + wrong + [kernels], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert run.returncode == 2 and not run.stdout and b"usage:" in run.stderr, (wrong, run)


main()
