#!/usr/bin/env python3
"""Runs the shell steps of a workflow as GitHub or GitLab would: each GitHub step by bash -e with its env, what stands in
$GITHUB_PATH in front of $PATH, and after a failure only steps with `if: always()`; of GitLab before_script and script as one
script. What only the service can do (uses:, cache:, artifacts:) is printed as "not run".

usage: ci_workflow.py github|gitlab FILE NAME=VALUE...     (values of ${{ NAME }} and of variables)
Exit status: that of the first step that failed.
"""
import os
import re
import subprocess
import sys


def block(lines, at, indent):
    """The lines of a block that begins behind line at, without their indent, and where it ends."""
    found = []
    while at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > indent):
        found.append(lines[at])
        at += 1
    least = min(len(line) - len(line.lstrip()) for line in found if line.strip())
    return "\n".join(line[least:] for line in found) + "\n", at


def github_steps(lines):
    steps, at = [], lines.index("    steps:") + 1
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("      - "):
            steps.append({"env": {}})
            line = "        " + line[8:]
        match = re.match(r"        (\w+): ?(.*)$", line)
        if match and match[1] == "run":
            steps[-1]["run"], at = block(lines, at, 8) if match[2] == "|" else (match[2] + "\n", at)
        elif match and match[1] == "env":
            text, at = block(lines, at, 8)
            steps[-1]["env"] = dict(item.split(": ", 1) for item in text.splitlines())
        elif match:
            steps[-1][match[1]] = match[2]
    return steps


def run_github(lines, values):
    path, summary, status = os.path.abspath("github_path"), os.path.abspath("github_summary"), 0
    base = dict(os.environ, GITHUB_ACTIONS="true", GITHUB_PATH=path, GITHUB_STEP_SUMMARY=summary)
    open(path, "w").close()
    fill = lambda text: re.sub(r"\$\{\{ *([\w.]+) *\}\}", lambda m: values[m[1]], text)
    for step in github_steps(lines):
        name = step.get("name") or step.get("uses")
        if "run" not in step:
            print("not run:", name, flush=True)
            continue
        if status and step.get("if") != "always()":
            continue
        first = "".join(line.rstrip("\n") + ":" for line in reversed(open(path).readlines()))
        env = dict(base, PATH=first + base["PATH"], **{key: fill(value) for key, value in step["env"].items()})
        print("step:", name, flush=True)
        ended = subprocess.run(["bash", "-e", "-c", fill(step["run"])], env=env, cwd="repository").returncode
        if ended and step.get("continue-on-error") != "true":
            status = status or ended
    return status


def run_gitlab(lines, values):
    env, script, part = dict(os.environ, GITLAB_CI="true", **values), ["set -e"], None
    for line in lines:
        match = re.match(r"  (\w+):", line)
        part = match[1] if match else part
        variable = re.match(r"    (\w+): (.*)$", line)
        if part == "variables" and variable:
            env[variable[1]] = re.sub(r"\$(\w+)", lambda m: env[m[1]], variable[2].strip('"'))
        elif part in ("before_script", "script") and line.startswith("    - "):
            script.append(line[6:])
    for name in ("cache", "artifacts"):
        print("not run:", name, flush=True)
    return subprocess.run(["bash", "-c", "\n".join(script)], env=env, cwd="repository").returncode


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        lines = file.read().splitlines()
    values = dict(word.split("=", 1) for word in sys.argv[3:])
    sys.exit((run_github if sys.argv[1] == "github" else run_gitlab)(lines, values))


if __name__ == "__main__":
    main()
