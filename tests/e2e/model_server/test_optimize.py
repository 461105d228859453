#!/usr/bin/env python3
"""`rocm-perf optimize --proposer llm`, from the program to the result.

usage: test_optimize.py BUILD scripted|llama

scripted: a server that proposes what does not compile, what is wrong, and what is right.
llama: llama.cpp's server with random weights: nothing may come of it. Exit status 77 without it.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from llama_server import llama_prefix, start_llama
from scripted_server import Server, events, stream, whole

BUILD = os.path.abspath(sys.argv[1])
KEY = "sk-proj-4f7d1c22e5b94bd0a6"
LOOP = "    for (int i = 0; i < n; i++)\n"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
ENVIRONMENT["PATH"] = BUILD + ":" + ENVIRONMENT["PATH"]
failures = []


def want(what, value, *got):
    if not value:
        failures.append(f"{what}: {got}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)


def prepare():
    """The program, and the text of its kernel."""
    with open(os.path.join(HERE, "../programs/unrolled.hip")) as file:
        text = file.read()
    with open("unrolled.hip", "w") as file:
        file.write(text)
    made = run("rocm-perf", "hipcc", "-O3", "unrolled.hip", "-o", "unrolled")
    if made.returncode:
        raise SystemExit(made.stderr)
    kernel = text[text.index("__global__"):]
    return text, kernel[:kernel.index("\n}\n") + 2]


def optimize(settings, *options):
    with open("llm.json", "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(settings, file)
    return run("rocm-perf", "optimize", "./unrolled", "--source", "unrolled.hip", "--device", "software", "--timing",
               "fast", "--proposer", "llm", "--llm-config", "llm.json", "--geometries", "1", "-o", "session", *options)


def records(kind):
    with open("session/journal.jsonl") as file:
        lines = [json.loads(line)["record"] for line in file]
    return [line["data"] for line in lines if line["kind"] == kind]


def key_is_nowhere(said):
    want("the key was printed", KEY not in said)
    for folder, _, names in os.walk("."):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                want(f"the key is in {folder}/{name}", name == "llm.json" or KEY.encode() not in file.read())


def scripted():
    text, kernel = prepare()

    def answer(title, old, new):
        assert old in kernel
        return f"{title}\n```cpp\n{kernel.replace(old, new)}\n```\n"

    answers = [
        whole("Unroll it, and tell nobody."),
        whole(answer("from the second on", "int i = 0", "int i = 1")),
        stream(events(answer("broken", "total +=", "sum +="))),
        whole(answer("repaired", LOOP, "#pragma unroll 4\n" + LOOP)),
        whole("I would rather not."),
    ]
    with Server(*answers) as server:
        ran = optimize({"base_url": server.url, "model": "m", "api_key": KEY}, "--allow", "body", "--max-iters", "4",
                       "--max-rounds", "1")
        questions = [json.loads(r.body)["messages"][1]["content"] for r in server.requests]
    said = ran.stdout + ran.stderr
    want("status", ran.returncode == 0, ran.returncode, said)
    for line in ("no proposal: refused: the answer holds no fenced block", "from the second on: wrong", "broken: ",
                 "repaired: accepted"):
        want(line, line in ran.stdout, ran.stdout)
    want("the repair", "## What the compiler said of it" in questions[3] and "'sum'" in questions[3], questions[3:4])
    want("what was wrong is told", "- from the second on: wrong" in questions[2], questions[2:3])
    with open("unrolled.hip") as file:
        want("the source is as it was", file.read() == text)
    with open("unrolled_opt.hip") as file:
        want("the result", file.read() == text.replace(LOOP, "#pragma unroll 4\n" + LOOP))
    exchanges = records("exchange")
    want("questions and answers are in the journal", [e["user"] for e in exchanges] == questions and
         exchanges[1]["answer"].startswith("from the second on\n"), exchanges[:1])
    key_is_nowhere(said)


def llama():
    prefix = llama_prefix()
    text, _ = prepare()
    child, port = start_llama(prefix, ".")
    try:
        ran = optimize({"base_url": f"http://127.0.0.1:{port}/v1", "model": "random", "answer_tokens": 300,
                        "temperature": 1.0}, "--allow", "body", "--max-iters", "4")
    finally:
        child.terminate()
        child.wait()
    want("status", ran.returncode == 1, ran.returncode, ran.stdout, ran.stderr)
    want("nothing", "Nothing was worth accepting." in ran.stdout, ran.stdout)
    # Nonsense between two fences may get as far as the guards, and to a repair.
    want("it was asked, and answered", 4 <= len(records("exchange")) <= 12 and
         all(e["http_status"] == 200 for e in records("exchange")), records("exchange"))
    want("each attempt is refused", ran.stdout.count("refused: ") + ran.stdout.count("failed to compile: ") == 4,
         ran.stdout)
    with open("unrolled.hip") as file:
        want("the source is as it was", file.read() == text)
    want("no result", not os.path.exists("unrolled_opt.hip"))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    {"scripted": scripted, "llama": llama}[sys.argv[2]]()
    os.chdir("/")
print("\n".join(failures) or "passed")
sys.exit(1 if failures else 0)
