"""Sessions of `rocm-perf optimize --proposer llm` for tests, in the working directory."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "sk-proj-4f7d1c22e5b94bd0a6"
failures = []
environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}


def want(what, value, *got):
    if not value:
        failures.append(f"{what}: {got}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def prepare(build, name):
    """The program NAME, its source, and the text of its kernel."""
    environment["PATH"] = os.path.abspath(build) + ":" + environment["PATH"]
    with open(os.path.join(HERE, f"../programs/{name}.hip")) as file:
        text = file.read()
    with open(f"{name}.hip", "w") as file:
        file.write(text)
    made = run("rocm-perf", "hipcc", "-O3", f"{name}.hip", "-o", name)
    if made.returncode:
        raise SystemExit(made.stderr)
    kernel = text[text.index("__global__"):]
    return text, kernel[:kernel.index("\n}\n") + 2]


def optimize(name, settings, *options):
    with open("llm.json", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        json.dump(settings, file)
    return run("rocm-perf", "optimize", f"./{name}", "--source", f"{name}.hip", "--device", "software", "--timing",
               "detailed", "--proposer", "llm", "--llm-config", "llm.json", "--allow", "body", "-o", "session", *options)


def result():
    """optimize.json, which must be as its schema says."""
    schemas = os.path.join(HERE, "../../../schemas/optimize.schema.json")
    checked = run(sys.executable, os.path.join(HERE, "../../validate_schema.py"), schemas, "session/optimize.json")
    want("the schema", checked.returncode == 0, checked.stdout, checked.stderr)
    with open("session/optimize.json") as file:
        return json.load(file)


def records(kind):
    with open("session/journal.jsonl") as file:
        lines = [json.loads(line)["record"] for line in file]
    return [line["data"] for line in lines if line["kind"] == kind]


def key_is_nowhere():
    for folder, _, names in os.walk("."):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                want(f"the key is in {folder}/{name}", name == "llm.json" or KEY.encode() not in file.read())
