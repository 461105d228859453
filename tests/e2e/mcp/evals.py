"""Plays the tasks of the skill's evals.json over MCP, as an agent would that has read the skill, and checks the answers.

usage: evals.py ROCM_PERF SOURCE [TASK...]   without tasks: all of them
       evals.py ROCM_PERF SOURCE form        the skill and evals.json have the form of the public catalogues

Each task has a mutant, a program or file that differs in one place, of which the right answer is another one: what is
answered comes from results, never from the task. The facts of an answer are in the order of the task's expectations,
and what an agent would say of them stands in the text of an answer, not in structuredContent alone.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROCM_PERF, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SKILL = os.path.join(SOURCE, "skills", "rocm-perf-lab")
SOFTWARE = {"device": "software"}


class Agent:
    """A client in a folder of its own, with the task's files in it."""

    def __init__(self, folder):
        self.folder, self.count, self.read = folder, 0, []
        self.process = subprocess.Popen([ROCM_PERF, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=folder)
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "evals", "version": "1"})

    def ask(self, method, **params):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.count and "result" in answer, answer
        return answer["result"]

    def call(self, name, status=(0,), **arguments):
        """@return what an agent sees: the text, and the JSON"""
        result = self.ask("tools/call", name=name, arguments=arguments)
        text = "".join(block["text"] for block in result["content"])
        assert not result["isError"] and result["_meta"]["rocm-perf/exitStatus"] in status, result
        self.read.append(text)
        return text, result.get("structuredContent")

    def shell(self, *words, status=(0,)):
        done = subprocess.run(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=os.environ | {"PATH": os.path.dirname(ROCM_PERF) + ":" + os.environ["PATH"]})
        assert done.returncode in status, (words, done.returncode, done.stdout)
        return done.stdout

    def build(self, name):
        self.shell("rocm-perf", "hipcc", "-O3", "-g", name + ".hip", "-o", name)

    def change(self, name, old, new):
        path = os.path.join(self.folder, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert text.count(old) == 1, (name, old)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def short(name):
    return name and name.split("(")[0]


def is_modelled(text):
    return "SOFTWARE DEVICE" in text


def named(kernels, name):
    return next(kernel for kernel in kernels if short(kernel["name"]) == name)


def why_slow(agent):
    agent.build("sums")
    agent.call("profile", program="./sums", runs=1, why=True, output="deep", **SOFTWARE)
    text, found = agent.call("why", traces=["deep"])
    kernel = short(found["program"]["kernel"])
    assert f"`{kernel}` takes" in text, text
    return kernel, "too small a grid" in text.split("\n")[0], is_modelled(text)


def is_it_faster(agent):
    agent.build("rows")
    text, found = agent.call("judge", (0, 1), old="rows.hip", new="rows_new.hip", program="./rows", **SOFTWARE)
    verdict = text.split("\n")[0]
    assert verdict == found["sentence"], text
    return (verdict.startswith("right"), bool(found["ratio"]) and found["ratio"]["low"] > 2 and "times as fast" in verdict,
            found["verdict"])


def is_there_a_race(agent):
    agent.build("rows_racy")
    agent.shell("rocm-perf", "run", "--device", "software", "--check", "races", "--check-output", "findings.json", "./rows_racy",
                status=(0, 1))
    with open(os.path.join(agent.folder, "findings.json"), encoding="utf-8") as file:
        found = json.load(file)["findings"]
    first = found[0] if found else None
    return (bool(found), first and (first["memory"], short(first["kernel"])),
            first and os.path.basename(first["first"]["source"]).split(":")[0])


def does_it_fit(agent):
    agent.build("sums")
    _, found = agent.call("profile", program="./sums", runs=1, output="result", **SOFTWARE)
    kernel = named(found["kernels"], "row_sums")
    text, gates = agent.call("compare", (0, 1), results=["result", "result"], gates=["kernel:row_sums:vgprs<=64"])
    fits = kernel["resources"]["vgpr_per_thread"] <= 64
    assert (gates["comparisons"][0]["gates"][0]["result"] == "passed") == fits == ("not hold" not in text), text
    return fits, kernel["occupancy"]["waves_per_simd"], kernel["resources"]["scratch_bytes"] > 0


def what_a_trace_says(agent):
    text, found = agent.call("analyze", traces=["step.json"])
    first = found["critical_path"]["by_symbol"][0]
    assert f"most of it {first['name']}" in text, text
    return first["name"], 0.6 < first["weight"] < 0.7, is_modelled(text)


def which_roof(agent):
    agent.build("axpy")
    agent.call("profile", program="./axpy", runs=1, roofline=True, output="result", **SOFTWARE)
    text, found = agent.call("analyze", traces=["result"], result="roofline")
    kernel = named(found["kernels"], "axpy")
    assert text.startswith("axpy(") and f"is limited by {kernel['bound']}" in text, text
    return kernel["bound"], kernel["arithmetic_intensity"] < 1


def is_it_slower(agent):
    def add(*commits):
        agent.build("axpy")
        agent.call("profile", program="./axpy", runs=1, output="result", **SOFTWARE)
        for commit in commits:
            agent.call("history", action="add", db="history.db", results=["result"], commit=commit)
    add("c1", "c2", "c3", "c4")
    if "slower" in os.listdir(agent.folder):
        agent.change("axpy.hip", "step < 1;", "step < 100;")
    add("c5", "c6")
    text, found = agent.call("history", (0, 1), action="check", db="history.db")
    series = next(one for one in found["series"] if one["kernel"] and short(one["kernel"]) == "axpy")
    since = series["changes"][-1]["commit"] if series["changes"] else None
    assert not since or f"since commit {since} " in text, text
    return series["state"], since


def which_block(agent):
    agent.build("axpy")
    text, found = agent.call("autotune", space="block.json", cmd_template="./axpy {BLOCK}", max_fraction=1, **SOFTWARE)
    best = found["best_config"]["parameters"]["BLOCK"]
    assert f"BLOCK={best}" in text, text
    return best, is_modelled(text)


def what_it_cannot_tell(agent):
    """Time and power on a GPU: only what a GPU has measured is told, and nothing measures power."""
    if not os.path.exists(os.path.join(agent.folder, "result")):
        agent.build("axpy")
        text, _ = agent.call("profile", program="./axpy", runs=1, output="result", **SOFTWARE)
        assert is_modelled(text), text
    listed = agent.ask("resources/list")["resources"]
    uri = next(one["uri"] for one in listed if one["name"] == "result/profile.json")
    result = agent.ask("resources/read", uri=uri)["contents"][0]["text"]
    found = json.loads(result)
    may_tell_time = found["device"] == "hardware"
    may_tell_power = re.search(r'"[a-z_]*(power|watt|joule|pcie)[a-z_]*":', result) is not None
    return may_tell_time, may_tell_power, "run it on the GPU" if not may_tell_time else "told"


CONFIG = {"version": 1, "build": "hipcc -O3 -g sums.hip -o sums",
          "programs": [{"name": "sums", "command": ["./sums"], "sources": ["sums.hip"], "limits": {"registers": 8}}]}


def may_it_go_in(agent):
    with open(os.path.join(agent.folder, "rocm-perf.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    git = ["git", "-c", "user.name=agent", "-c", "user.email=agent@localhost"]
    for words in (["init", "-q"], ["add", "sums.hip", "rocm-perf.json"], ["commit", "-qm", "base"]):
        agent.shell(*git, *words)
    if "slower" in os.listdir(agent.folder):
        agent.change("sums.hip", "        sum += x[row * columns + i];", "        sum += x[row * columns + i], __threadfence();")
    else:
        agent.change("sums.hip", "// Sums of rows and", "// Sums of rows, and")
    text, found = agent.call("ci", (0, 1), base="HEAD", output="result", **SOFTWARE)
    fails = [gate["name"] for gate in found["gates"] if gate["outcome"] == "fails"]
    assert text.startswith({"passed": "Passed: ", "failed": "Failed: "}[found["verdict"]]), text
    return found["verdict"], fails, "% slower than base" in text


def leave(name):
    return lambda agent: open(os.path.join(agent.folder, name), "w").close()


def edit(name, old, new):
    return lambda agent: agent.change(name, old, new)


def measured(agent):
    os.mkdir(os.path.join(agent.folder, "result"))
    shutil.copy(SOURCE + "/tests/data/compare/before.json", os.path.join(agent.folder, "result", "profile.json"))


ACCUMULATORS = """float more[96];
    for (int k = 0; k < 96; k++)
        more[k] = x[row + k];
    for (int i = 0; i < columns; i++)
        for (int k = 0; k < 96; k++)
            more[k] = more[k] * more[(k + 1) % 96] + x[row * columns + i];
    for (int k = 0; k < 96; k++)
        sum += more[k];"""

# Of each task: what an agent does, the facts that are right, how the mutant is made, and the facts that are right of it.
TASKS = {
    1: (why_slow, ("row_sums", True, True),
        edit("sums.hip", "step < 8", "step < 20000"), ("roots", True, True)),
    2: (is_it_faster, (True, True, "right and faster"),
        edit("rows_new.hip", "i < 256", "i < 255"), (False, False, "wrong")),
    3: (is_there_a_race, (True, ("lds", "row_sums"), "rows_racy.hip"),
        edit("rows_racy.hip", "    part[lane] = sum;\n", "    part[lane] = sum;\n    __syncthreads();\n"), (False, None, None)),
    4: (does_it_fit, (True, 8, False),
        edit("sums.hip", "for (int i = 0; i < columns; i++)\n        sum += x[row * columns + i];", ACCUMULATORS), (False, 4, True)),
    5: (what_a_trace_says, ("gemm", True, False),
        edit("step.json", '"dur": 90.0, "args": {"device": 0, "stream": 0, "correlation": 1}},\n', '"dur": 210.0, "args": '
             '{"device": 0, "stream": 0, "correlation": 1}},\n{"ph": "X", "cat": "kernel", "name": "copies", "pid": 0, "tid": 1, '
             '"ts": 230.0, "dur": 90.0, "args": {"device": 0, "stream": 1, "correlation": 4}}], "unused": [\n'),
        ("attention", True, False)),
    6: (which_roof, ("hbm", True), edit("axpy.hip", "step < 1;", "step < 400;"), ("valu", False)),
    7: (is_it_slower, ("slower", "c5"), None, ("steady", None)),
    8: (which_block, (1024, True), edit("axpy.hip", "step < 1;", "step < blockDim.x * blockDim.x / 64;"), (64, True)),
    9: (what_it_cannot_tell, (False, False, "run it on the GPU"), measured, (True, False, "told")),
    10: (may_it_go_in, ("failed", ["time"], True), None, ("passed", [], False)),
}
# Of these the task itself is the changed one.
CHANGED = {7: leave("slower"), 10: leave("slower")}


def tasks():
    with open(os.path.join(SKILL, "evals", "evals.json"), encoding="utf-8") as file:
        return json.load(file)


def play(task, of_mutant):
    plan, right, mutate, right_of_mutant = TASKS[task["id"]]
    with tempfile.TemporaryDirectory() as folder:
        for name in task["files"]:
            shutil.copy(os.path.join(SKILL, name), folder)
        agent = Agent(os.path.realpath(folder))
        prepare = mutate if of_mutant else CHANGED.get(task["id"])
        if prepare:
            prepare(agent)
        answer = plan(agent)
        agent.end()
    wanted = right_of_mutant if of_mutant else right
    assert answer == wanted, f"task {task['id']}{', mutant' if of_mutant else ''}: {answer}, not {wanted}\n" + "\n".join(agent.read)
    assert len(answer) == len(task["expectations"]), task["expectations"]
    print(f"task {task['id']}{', mutant' if of_mutant else ''}: {answer}", flush=True)


def page(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_form():
    """What agentskills.io demands of a skill, and what skill-creator's evals.json has."""
    text = page(os.path.join(SKILL, "SKILL.md"))
    head, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", text, re.S).groups()
    keys = dict(re.fullmatch(r"([a-z-]+): (.+)", line).groups() for line in head.splitlines())
    assert set(keys) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}, keys
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", keys["name"]) and len(keys["name"]) <= 64, keys
    assert keys["name"] == os.path.basename(SKILL), keys
    assert 0 < len(keys["description"]) <= 1024 and not re.search(r"[<>]|: ", keys["description"]), len(keys["description"])
    assert len(keys.get("compatibility", "")) <= 500
    assert len(body.splitlines()) < 500 and len(body) / 3.5 < 2000, len(body)  # tokens: the catalogues allow 5,000
    for name in re.findall(r"\]\(([^)#:]+)\)", body):
        assert re.fullmatch(r"[^/]+/[^/]+", name) and os.path.isfile(os.path.join(SKILL, name)), name
    references = os.listdir(os.path.join(SKILL, "references"))
    for name in references:
        assert f"(references/{name})" in body, name
    # Commands with arguments stand in blocks, which a test runs (documented.sh).
    for name in ["SKILL.md", *("references/" + name for name in references)]:
        prose = re.sub(r"```.*?```", "", page(os.path.join(SKILL, name)), flags=re.S)
        for command in re.findall(r"`(rocm-perf [^`]*)`", prose):
            assert re.fullmatch(r"rocm-perf [a-z]+", command), f"{name}: no test runs `{command}`"
    evals = tasks()
    assert set(evals) == {"skill_name", "evals"} and evals["skill_name"] == keys["name"]
    assert [task["id"] for task in evals["evals"]] == list(TASKS) == list(range(1, 11))
    used = set()
    for task in evals["evals"]:
        assert set(task) == {"id", "prompt", "expected_output", "files", "expectations"}, task
        assert TASKS[task["id"]][1] != TASKS[task["id"]][3], task  # a mutant has another answer
        used.update(task["files"])
    assert used == {"evals/files/" + name for name in os.listdir(os.path.join(SKILL, "evals", "files"))}, used


def main():
    words = sys.argv[3:]
    if words == ["form"]:
        check_form()
        return
    for task in tasks()["evals"]:
        if not words or str(task["id"]) in words:
            for of_mutant in (False, True):
                play(task, of_mutant)


main()
