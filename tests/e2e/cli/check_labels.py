"""check_labels.py FOUND.json NAMES [KNOWN_MISSES...]: compares findings of run --check with the labels in kernels' names.

racy_* must have a finding, benign_* a note and no finding, clean_* no finding. Prints how many were found, missed, false."""
import json
import sys


def kernels(findings):
    return {(finding["kernel"] or "?").split("(")[0] for finding in findings}


def main():
    results = json.load(open(sys.argv[1]))
    names = [line.strip() for line in open(sys.argv[2]) if line.startswith(("racy_", "clean_", "benign_"))]
    known = set(sys.argv[3:])
    found, noted = kernels(results["findings"]), kernels(results["notes"])
    racy = [name for name in names if name.startswith("racy_")]
    missed = [name for name in racy if name not in found]
    false = sorted(found - set(racy))
    unnoted = [name for name in names if name.startswith("benign_") and name not in noted]
    print(f"{len(names)} kernels: found {len(racy) - len(missed)} of {len(racy)}, missed {len(missed)}, false {len(false)}")
    wrong = sorted(set(missed) ^ known) + false + unnoted
    if wrong:
        print("wrong:", *wrong)
    return bool(wrong)


sys.exit(main())
