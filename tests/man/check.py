#!/usr/bin/env python3
"""Checks that manual page, --help and completion, which are made of the same rows, have the same options.

usage: check.py BUILD [COMPLETION]
Prints what differs; exit status 1 if anything does. The pages and the completion are not made in trees of sanitizers.
"""
import os
import re
import subprocess
import sys

OPTION = re.compile(r"^  (?:(-[a-z]), )?(--[a-z][-a-z0-9]*)", re.M)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_help(build, command):
    return {name for pair in OPTION.findall(output(os.path.join(build, "rocm-perf"), command, "--help"))
            for name in pair if name}


def of_page(build, command):
    """As a reader sees it."""
    page = output("mandoc", "-T", "ascii", os.path.join(build, "man", f"rocm-perf-{command}.1"))
    page = re.sub(".\b", "", page)
    return {name for line in re.findall(r"^     (-.*)$", page, re.M)
            for name in re.findall(r"(?<![-\w])--?[a-z][-a-z0-9]*", re.split(r"\t| {2,}", line)[0])}


def completed(completion, *words):
    """What is offered at the last word."""
    script = 'completion=$1; shift; . "$completion"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rocm_perf; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return set(output("bash", "-c", script, "bash", completion, "rocm-perf", *words).split())


def compare(command, first, left, second, right):
    return [f"{command}: {first} {name}, but not: {second}" for name in sorted(left - right)] + \
           [f"{command}: {second} {name}, but not: {first}" for name in sorted(right - left)]


def completions(completion):
    wanted = {("profile", "--timing", ""): {"counts", "detailed", "off", "warm"}, ("run", "--", "./program", "-"): set(),
              ("optimize", "--timing", ""): {"counts", "detailed"}, ("history", "e"): {"export"},
              ("report", "--format", "h"): {"html"}, ("isolate", "--device", "s"): {"software"},
              ("autotune", "--strategy", "p"): {"portfolio"}, ("docto",): {"doctor"}}
    for words, offered in wanted.items():
        got = completed(completion, *words)
        if got != offered:
            yield f"{' '.join(words)}: bash offers {got}, not {offered}"


def main(build, completion=None):
    commands = re.findall(r"^  ([a-z]+) ", output(os.path.join(build, "rocm-perf"), "--help"), re.M)
    problems = []
    for command in commands:
        explained = of_help(build, command)
        if completion:
            problems += compare(command, "--help explains", explained, "the page explains", of_page(build, command))
        if completion and command != "hipcc":  # whose options are the compiler's
            problems += compare(command, "--help explains", explained, "bash offers", completed(completion, command, "-"))
        if "--help" not in explained:
            problems.append(f"{command}: --help does not explain itself")
    problems += completions(completion) if completion else []
    print("\n".join(problems) if problems else f"{len(commands)} commands, the same options everywhere")
    return 1 if problems or len(commands) < 14 else 0


sys.exit(main(*sys.argv[1:]))
