#!/usr/bin/env python3
"""Documents of a page of `rocm-perf report`, as files.

usage: tests/html/extract.py PAGE.html FOLDER    writes FOLDER/dag.json ... and prints their names
"""
import os
import re
import sys

DOCUMENT = re.compile(rb'<script type="application/json" id="data-([a-z_]+)">(.*?)</script>\n', re.DOTALL)


def documents(page):
    """[(name, bytes)]: a page writes "<" as an escape, and nothing else."""
    with open(page, "rb") as file:
        return [(m.group(1).decode(), m.group(2).replace(b"\\u003c", b"<")) for m in DOCUMENT.finditer(file.read())]


def main():
    page, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, text in documents(page):
        print(name)
        with open(os.path.join(folder, name + ".json"), "wb") as out:
            out.write(text)


if __name__ == "__main__":
    main()
