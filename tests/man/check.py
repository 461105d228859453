#!/usr/bin/env python3
"""Checks that manual page, --help and shell completion of each command have the same options.

usage: check.py BUILD SOURCE [COMPLETION]
SYNOPSIS has every option but --help; --help tells the same ones, and its usage line no other; the page
explains each; what bash offers after `rocm-perf COMMAND -` is all of them. Prints what differs; exit
status 1 if anything does.
"""
import os
import re
import subprocess
import sys

EVERYWHERE = {"--help", "--version", "--output"}  # not in SYNOPSIS; the page calls the last one -o
# Option lines: "--device D, --threads N   as of ...", "-o DIR  where".
LEADING = re.compile(r"(--[a-z][-a-z0-9]*|-[a-z](?![a-z]))(?:[ ]\S+?)?(?:, (?=-)|(?= |$))")


def of_help(text):
    """Options that --help explains, and those of its usage line."""
    usage, explained = set(), set()
    head, _, rest = text.partition("\n\n")
    usage.update(re.findall(r"(?<![-\w])--?[a-z][-a-z0-9]*", head))
    for line in rest.splitlines():
        line = line.strip() if line.startswith("  ") else ""
        while match := LEADING.match(line):
            explained.add(match.group(1))
            if not match.group(0).endswith(", "):
                break
            line = line[match.end():]
    return explained, usage


def of_page(text):
    """Options of SYNOPSIS, and those that are explained."""
    def options(part):
        return {"-" + name for name in re.findall(r"\bFl (-?[a-z][-a-z0-9]*)", part)}

    synopsis = text.split(".Sh SYNOPSIS\n", 1)[1].split("\n.Sh ", 1)[0]
    # "Fl -json | -roofline | -analysis": one macro, several options.
    for line in synopsis.splitlines():
        if " | -" in line:
            synopsis += "\n" + re.sub(r"\| (?=-)", "| Fl ", line)
    items = "\n".join(re.findall(r"^\.It (Fl .*)$", text, re.MULTILINE))
    return options(synopsis), options(items)


def of_completion(completion, command):
    script = ('. "$1"; COMP_WORDS=(rocm-perf "$2" -); COMP_CWORD=2; _rocm_perf; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    out = subprocess.run(["bash", "-c", script, "bash", completion, command],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return set(out.split())


def of_program_words(completion):
    """What is offered after `rocm-perf run -- ./program -`: the options there are not ours."""
    script = ('. "$1"; COMP_WORDS=(rocm-perf run -- ./program -); COMP_CWORD=4; _rocm_perf; '
              'printf "%s" "${COMPREPLY[@]}"')
    return subprocess.run(["bash", "-c", script, "bash", completion],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def check(build, source, completion, command):
    with open(os.path.join(source, "docs", "man", f"rocm-perf-{command}.1"), encoding="utf-8") as file:
        _, items = of_page(file.read())
    text = subprocess.run([os.path.join(build, "rocm-perf"), command, "--help"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    explained, usage = of_help(text)
    if command == "hipcc":  # whose options are the compiler's
        explained, usage = set(), set()
    pairs = [("--help explains", explained - {"--output"}, "the page explains", items),
             ("usage has", usage, "--help explains", explained | usage & EVERYWHERE, True)]
    if completion:
        pairs.append(("--help explains", explained, "bash offers", of_completion(completion, command)))
    problems = []
    for first, left, second, right, *part in pairs:
        for name in sorted(left - right):
            problems.append(f"{command}: {first} {name}, but not: {second}")
        for name in sorted(right - left) if not part else ():
            problems.append(f"{command}: {second} {name}, but not: {first}")
    return problems


def main(build, source, completion=None):
    with open(os.path.join(source, "src", "cli", "options.def"), encoding="utf-8") as file:
        commands = re.findall(r'^COMMAND\(([a-z]+),', file.read(), re.MULTILINE)
    problems = [problem for command in commands for problem in check(build, source, completion, command)]
    if completion and of_program_words(completion):
        problems.append(f"run -- ./program -: bash offers {of_program_words(completion)}")
    print("\n".join(problems) if problems else f"{len(commands)} commands, the same options everywhere")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
