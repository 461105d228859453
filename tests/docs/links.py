#!/usr/bin/env python3
"""Every relative link of the Markdown files leads to a file, and to a heading of it. What sources and manual pages say
of a page of docs/ exists, "@file" says the file's own name, and pages that count instructions count as the list of
them does.

usage: tests/docs/links.py SOURCE_FOLDER
"""
import os
import re
import sys

FENCE = re.compile(r"^ {0,3}(```|~~~).*?^ {0,3}\1[^\n]*$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(\S+)", re.M)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)
MENTION = re.compile(r"(?<![\w/.-])((?:docs|bench)/[\w/-]+\.md)\b")  # docs/x.md without a link


SOURCES = (".c", ".h", ".def", ".js", ".py", ".sh", ".in", ".hip", ".json")
PAGE = re.compile(r"(?<![\w/.-])(?<!ggml, )((?:docs|facts)/[\w/-]+\.md)\b")
OWN_NAME = re.compile(r"@file (\S+)")
EXAMPLES = {"tests/docs/links.py", "tests/tools/check_tools.py"}  # they name pages that are not there


def files(root, endings, start=""):
    for folder, below, names in os.walk(os.path.join(root, start)):
        below[:] = [d for d in below if not d.startswith((".", "build"))]
        for name in names:
            if name.endswith(endings):
                yield os.path.join(folder, name)


def check_sources(root):
    """What is wrong in sources, and how many pages they name."""
    named, wrong = 0, []
    for start in ("src", "include", "tests", "bench", "schemas", "docs/commands"):
        for path in sorted(files(root, SOURCES, start)):
            short = os.path.relpath(path, root)
            if short in EXAMPLES:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            for match in PAGE.finditer(text):
                named += 1
                if not os.path.exists(os.path.join(root, match.group(1))):
                    wrong.append(f"{short}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(1)}: there is no such page")
            own = OWN_NAME.search(text)
            if own and own.group(1) != os.path.basename(path):
                wrong.append(f"{short}: @file says {own.group(1)}")
    return named, wrong


def without_code(text):
    """Fenced blocks and code spans go; lines stay where they are."""
    text = FENCE.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    return re.sub(r"(`+)[^`\n]+\1", lambda m: " " * len(m.group(0)), text)


def anchors(text):
    """The names that forges give to headings: lower case, no punctuation, hyphens for spaces."""
    seen, found = {}, set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


COUNTED = re.compile(r"([\d,]+) of the ([\d,]+) (?:gfx942 )?instructions")


def check_counts(texts, root):
    """What is wrong in "N of the M instructions" of README.md and docs/device.md."""
    page = texts[os.path.realpath(os.path.join(root, "tests/isa/opcodes.md"))]
    known = re.search(r"gfx942 \(MI300X\): (\d+), of which (\d+) execute", page)
    right = (f"{int(known.group(2)):,}", f"{int(known.group(1)):,}")
    for name in ("README.md", "docs/device.md"):
        found = COUNTED.findall(texts[os.path.realpath(os.path.join(root, name))])
        if found != [right]:
            yield f"{name}: instructions {found}, and tests/isa/opcodes.md has {right}"


def main():
    root = sys.argv[1]
    texts = {os.path.realpath(p): open(p, encoding="utf-8").read() for p in files(root, ".md")}
    links, wrong = 0, []

    for path, text in sorted(texts.items()):
        plain = without_code(text)
        found = [(m.start(), m.group(1), False) for rule in (LINK, DEFINITION) for m in rule.finditer(plain)]
        found += [(m.start(), m.group(1), True) for m in MENTION.finditer(text)]
        for at, target, from_root in found:
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            links += 1
            file, _, anchor = target.partition("#")
            base = root if from_root else os.path.dirname(path)
            there = os.path.realpath(os.path.join(base, file)) if file else path
            where = f"{os.path.relpath(path, root)}:{text.count(chr(10), 0, at) + 1}"
            if not os.path.exists(there):
                wrong.append(f"{where}: {target}: there is no such file")
            elif anchor and anchor not in anchors(texts.get(there, "")):
                wrong.append(f"{where}: {target}: no heading has that name")
    named, in_sources = check_sources(root)
    wrong += [*in_sources, *check_counts(texts, root)]
    print(*wrong, f"{named} pages are named in sources", f"{links} links in {len(texts)} files, {len(wrong)} lead nowhere", sep="\n")
    if links < 100 or named < 20:  # the patterns above find nothing any more
        sys.exit("fewer links than there are")
    sys.exit(1 if wrong else 0)


main()
