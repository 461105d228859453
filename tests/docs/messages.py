#!/usr/bin/env python3
"""Every message that docs/troubleshooting.md quotes still stands in the sources.

usage: tests/docs/messages.py SOURCE_FOLDER

Messages are what stands in `code` in the first column of tables whose head begins with "message"; … stands for
what differs from time to time. What is between has to be in one text of the sources, in that order.
"""
import os
import pathlib
import re
import sys

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|\'(?:[^\'\\\n]|\\.)+\'|"(?:[^"\\\n]|\\.)*"|\bPRI\w+\b|\s+|.', re.S)
SCRIPTS = ("setup", "demo", "check", "tools/common.sh")
LEAST = 12  # letters of a message that are not …: fewer are found anywhere


def c_texts(source):
    """String literals, those in a row as one."""
    texts, parts = [], []
    for token in TOKEN.findall(source):
        if token.startswith('"'):
            parts.append(re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), token[1:-1]))
        elif not (token.startswith(("//", "/*", "PRI")) or token.isspace()) and parts:
            texts.append("".join(parts))
            parts = []
    return texts


def all_texts(root):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in (".c", ".h", ".def"):
            yield from c_texts(path.read_text(encoding="utf-8"))
    for name in SCRIPTS:
        yield from (root / name).read_text(encoding="utf-8").splitlines()


def quoted(document):
    """(line, message) of each message table."""
    inside, before = False, ""
    for number, line in enumerate(document.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif not before.startswith("|"):
            inside = line.lower().startswith("| message")
        elif inside:
            for code in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                yield number, code
        before = line


def main():
    root = pathlib.Path(sys.argv[1])
    name = os.path.join("docs", "troubleshooting.md")
    texts = list(all_texts(root))
    messages, missing = list(quoted((root / name).read_text(encoding="utf-8"))), 0

    for line, message in messages:
        parts = [part for part in message.split("…") if part]
        rule = re.compile(".*".join(re.escape(part) for part in parts), re.S)
        if sum(map(len, parts)) < LEAST:
            print(f"{name}:{line}: {message}: too short to be found")
        elif not any(rule.search(text) for text in texts):
            print(f"{name}:{line}: {message}: not in the sources any more")
        else:
            continue
        missing += 1
    print(f"{len(messages)} messages, {missing} of them wrong")
    if len(messages) < 50:  # the tables are not found any more
        sys.exit("fewer messages than there are")
    sys.exit(1 if missing else 0)


main()
