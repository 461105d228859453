"""check_labels.py FOUND.json NAMES [KNOWN_MISSES...]: compares findings of run --check with the labels in kernels' names.

racy_*, out_*, unset_* and early_* must have a finding of their kind, benign_* a note and no finding, clean_* no finding. Prints how many
were found, missed, false."""
import json
import sys


KINDS = {"early": {"wait"}, "racy": {"race", "lanes", "lost-update"}, "out": {"bounds"}, "unset": {"uninit"}}


def kernels(findings):
    return {(finding["kernel"] or "?").split("(")[0] for finding in findings}


def of_label(findings, name):
    kinds = KINDS.get(name.split("_")[0], set())
    return [finding for finding in findings if finding["kind"] in kinds]


def main():
    results = json.load(open(sys.argv[1]))
    names = [line.strip() for line in open(sys.argv[2]) if line.startswith((*KINDS, "clean_", "benign_"))]
    known = set(sys.argv[3:])
    found, noted = kernels(results["findings"]), kernels(results["notes"])
    racy = [name for name in names if name.startswith(tuple(KINDS))]
    missed = [name for name in racy if name not in kernels(of_label(results["findings"], name))]
    false = sorted(found - set(racy))
    unnoted = [name for name in names if name.startswith("benign_") and name not in noted]
    print(f"{len(names)} kernels: found {len(racy) - len(missed)} of {len(racy)}, missed {len(missed)}, false {len(false)}")
    wrong = sorted(set(missed) ^ known) + false + unnoted
    if wrong:
        print("wrong:", *wrong)
    return bool(wrong)


sys.exit(main())
