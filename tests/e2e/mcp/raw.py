"""Lines to `rocm-perf mcp`, and what comes back. usage: raw.py ROCM_PERF SOURCE

Nothing here waits for a time to pass: each step waits for a message of the server.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

ROCM_PERF, SOURCE = sys.argv[1:]
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Server:
    def __init__(self, *options, handshake=True, cwd=None, allow="/"):
        options = [*options, "--allow", allow] if allow else options
        self.process = subprocess.Popen([ROCM_PERF, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd)
        if handshake:
            self.send("initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "raw", "version": "1"})
            result = self.read()["result"]
            assert result["protocolVersion"] == "2025-11-25" and set(result["capabilities"]) == {"tools", "resources"}, result
            self.send("notifications/initialized")

    def line(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, id=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.line(json.dumps(message if id is None else message | {"id": id}))

    def call(self, id, name, arguments=None, token=None):
        meta = {"_meta": {"progressToken": token}} if token is not None else {}
        self.send("tools/call", id, name=name, arguments=arguments or {}, **meta)

    def read(self):
        message = json.loads(self.process.stdout.readline())
        assert message["jsonrpc"] == "2.0", message
        return message

    def refused(self, code, id=None):
        message = self.read()
        assert message["error"]["code"] == code and message["id"] == id, message

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert rest == b"", rest
        assert self.process.wait() == 0


def text(result):
    return "".join(block["text"] for block in result["content"])


def malformed():
    server = Server(handshake=False)
    server.line("{")
    server.refused(-32700)
    server.line('[{"jsonrpc":"2.0","id":1,"method":"ping"}]')
    server.refused(-32600)
    server.line("")
    server.send("tools/list", 1)  # before the handshake
    server.refused(-32600, 1)
    server.send("ping", 2)
    assert server.read() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    server.send("initialize", 3, protocolVersion="2025-11-25")
    server.refused(-32602, 3)
    server.send("initialize", 4, protocolVersion="1999-01-01", capabilities={}, clientInfo={})
    assert server.read()["result"]["protocolVersion"] == "2025-11-25"
    server.send("initialize", 5, protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    server.refused(-32600, 5)
    server.line('{"jsonrpc":"2.0","id":6,"method":"ping","params":{"x":"' + "x" * (2 << 20) + '"}}')
    server.refused(-32600)
    server.send("no/method", 7)
    server.refused(-32601, 7)
    server.send("notifications/none")  # nothing is said to that
    server.line('{"jsonrpc":"2.0","method":"notifications/none","params":[]}')  # nor to a wrong one
    server.line('{"jsonrpc":"2.0","id":1,"result":{}}')  # nor to that
    server.call(8, "rm")
    server.refused(-32602, 8)
    server.send("tools/list", 9, cursor="x")
    server.refused(-32602, 9)
    server.end()


def limits():
    """A message of 1 MiB is served, one byte more is refused, however its end comes; likewise words of a command."""
    def ping(id, bytes):
        start = '{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":"' % id
        return start + "x" * (bytes - len(start) - 3) + '"}}'

    server = Server()
    most = 1 << 20
    for id in range(1, 4):
        server.line(ping(id, most))
        assert server.read() == {"jsonrpc": "2.0", "id": id, "result": {}}
        server.line(ping(id, most + 1))
        message = server.read()
        assert message["id"] is None and "more than 1048576 bytes" in message["error"]["message"], message
    server.call(4, "profile", {"program": "x" * 131072})
    assert "argument program: is too long" in text(server.read()["result"])
    server.call(5, "analyze", {"traces": ["x" * 131071]})  # the longest one comes to the command, which says what is wrong
    assert "a path of 131071 bytes is longer than the system allows" in text(server.read()["result"])
    server.call(6, "analyze", {"traces": [""] * 16380})  # as many words as a command gets
    assert "read trace" in text(server.read()["result"])
    server.end()


def without_newline():
    """What is written before the end is answered, also without a newline behind it."""
    most = 1 << 20
    blank = b'{"jsonrpc":"2.0","id":1,"method":"ping"' + b" " * most + b"}"
    for sent, id, key in ((b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 1, "result"), (b"{", None, "error"),
                          (blank[:39] + blank[-(most - 39):], 1, "result"), (blank, None, "error")):
        done = subprocess.run([ROCM_PERF, "mcp"], input=b"\n" + sent, stdout=subprocess.PIPE, check=True)
        lines = done.stdout.splitlines()
        assert len(lines) == 1, lines
        message = json.loads(lines[0])
        assert message["id"] == id and key in message, message


def modern():
    server = Server(handshake=False)
    server.send("server/discover", 1, _meta=MODERN)
    result = server.read()["result"]
    assert result["resultType"] == "complete" and "2026-07-28" in result["supportedVersions"], result
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "rocm-perf-lab"
    server.send("tools/list", 2, _meta=MODERN)
    result = server.read()["result"]
    assert result["resultType"] == "complete" and result["cacheScope"] == "public" and result["ttlMs"] >= 0
    server.send("tools/list", 3, _meta=MODERN | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"})
    error = server.read()["error"]
    assert error["code"] == -32022 and error["data"]["requested"] == "1900-01-01", error
    server.send("tools/list", 4, _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    server.refused(-32602, 4)
    server.send("ping", 5, _meta=MODERN)
    server.refused(-32601, 5)
    server.end()


TOOLS = ["analyze", "autotune", "bench", "ci", "compare", "doctor", "history", "isolate", "judge", "optimize", "profile", "replay",
         "report", "why"]


def listed():
    """What a model reads before it has asked anything is short; a client that asks gets all, as before."""
    sizes = []
    for options in ([], ["--output-schemas"]):
        server = Server(*options)
        server.send("tools/list", 1)
        result = server.read()["result"]
        sizes.append(len(json.dumps(result, separators=(",", ":"))))
        assert sorted(tool["name"] for tool in result["tools"]) == TOOLS, result
        assert any("outputSchema" in tool for tool in result["tools"]) == bool(options), options
        server.end()
    assert sizes[0] <= 12 << 10 < sizes[1], sizes


def read_whole(server, uri):
    """All pages of a resource, one behind the other."""
    joined, page, pages = "", 1, 1
    while page <= pages:
        server.send("resources/read", f"{uri} {page}", uri=f"{uri}?page={page}")
        first = server.read()["result"]["contents"][0]
        assert len(first["text"].encode()) <= 1 << 15
        pages = first.get("_meta", {}).get("rocm-perf/pages", 1)
        joined, page = joined + first["text"], page + 1
    return joined


def workspace(folder):
    """Paths lie in the folder of the server, or in one that it was told; a refusal names that option."""
    trace = "tests/data/rocpd/streams-hip_results.db"
    shutil.copy(f"{SOURCE}/{trace}", os.path.join(folder, "trace.db"))
    os.symlink(SOURCE, os.path.join(folder, "link"))
    server = Server(cwd=folder, allow=None)
    server.call(1, "analyze", {"traces": ["trace.db"]})
    assert not server.read()["result"]["isError"]
    for id, path in ((2, f"{SOURCE}/{trace}"), (3, f"link/{trace}"), (4, f"new/../../{trace}")):
        server.call(id, "analyze", {"traces": [path]})
        result = server.read()["result"]
        assert result["isError"] and f"argument traces: {path} is not in the workspace" in text(result), result
        assert "rocm-perf mcp --allow /" in text(result), result
    server.call(5, "profile", {"program": "true", "directory": SOURCE})
    assert "argument directory: " in text(server.read()["result"])
    server.call(6, "profile", {"program": "true", "args": ["/etc/passwd"], "runs": 1})  # which is found, and runs
    assert "no kernel" in text(server.read()["result"])
    server.end()
    server = Server("--allow", "/usr", cwd=folder, allow=SOURCE)
    server.call(1, "analyze", {"traces": [f"link/{trace}"]})
    assert not server.read()["result"]["isError"]
    server.call(2, "analyze", {"traces": ["/etc/passwd"]})
    assert "--allow /etc allows it" in text(server.read()["result"])
    server.end()


def resources(folder):
    """An answer has its result once: in short, as structuredContent, and in pages."""
    shutil.copytree(SOURCE + "/tests/data/rocpd", os.path.join(folder, "rocpd"))
    os.mkdir(os.path.join(folder, "result"))
    shutil.copy(SOURCE + "/tests/data/compare/before.json", os.path.join(folder, "result", "profile.json"))
    server = Server(cwd=folder, allow=None)
    server.call(1, "analyze", {"traces": ["rocpd/streams-hip_results.db"], "full": True})
    result = server.read()["result"]
    said = text(result)
    assert len(said) < 1000 and "Details: resource rocm-perf://calls/1 (" in said and "end to end" in said, said
    assert json.loads(read_whole(server, "rocm-perf://calls/1")) == result["structuredContent"]
    server.call(2, "doctor")
    assert "rocm-perf://calls/2" in text(server.read()["result"])
    server.send("resources/list", 3)
    listed = {one["name"]: one["uri"] for one in server.read()["result"]["resources"]}
    assert set(listed) == {"result/profile.json", "call 1", "call 2"}, listed
    with open(os.path.join(folder, "result", "profile.json"), encoding="utf-8") as file:
        assert read_whole(server, listed["result/profile.json"]) == file.read()
    server.send("resources/templates/list", 4)
    assert len(server.read()["result"]["resourceTemplates"]) == 2
    for uri in ("rocm-perf://calls/3", "file:///etc/passwd", f"file://{folder}/../x", f"file://{folder}/%2e%2e/x"):
        server.send("resources/read", 5, uri=uri)
        error = server.read()["error"]
        assert error["code"] == -32002 and error["data"] == {"uri": uri}, error
        server.send("resources/read", 6, uri=uri, _meta=MODERN)  # whose code that is
        assert server.read()["error"]["code"] == -32602
    for params in ({}, {"uri": 1}):
        server.send("resources/read", 7, **params)
        server.refused(-32602, 7)
    server.send("resources/list", 8, cursor="x")
    server.refused(-32602, 8)
    server.send("resources/subscribe", 9, uri="x")
    server.refused(-32601, 9)
    server.send("resources/list", 10, _meta=MODERN)
    result = server.read()["result"]
    assert result["ttlMs"] == 0 and result["cacheScope"] == "private" and result["resultType"] == "complete", result
    server.end()


EXCHANGE = 2  # of renameat2, in one step


def swapped(folder):
    """A folder that becomes a link to another one all the time: what is outside of the workspace is never read. And a name
    has no line of its own."""
    inside, outside = os.path.join(folder, "inside"), os.path.join(folder, "outside")
    paths = [os.path.join(inside, name) for name in ("turns", "other")]
    for path in (outside, paths[0]):
        os.makedirs(path)
        with open(os.path.join(path, "text"), "w", encoding="utf-8") as file:
            file.write(os.path.basename(path))
    os.symlink(outside, paths[1])
    libc, words = ctypes.CDLL(None), [path.encode() for path in paths]
    swapper = os.fork()
    if swapper == 0:
        while libc.renameat2(-100, words[0], -100, words[1], EXCHANGE) == 0:
            pass
        os._exit(1)
    try:
        server, answers = Server(cwd=inside, allow=None), {}
        for id in range(3000):
            server.send("resources/read", id, uri=f"file://{paths[0]}/text")
            message = server.read()
            seen = message["result"]["contents"][0]["text"] if "result" in message else "refused"
            answers[seen] = answers.get(seen, 0) + 1
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    assert set(answers) == {"turns", "refused"}, answers
    os.mkdir(os.path.join(inside, "a\nb"))
    shutil.copy(SOURCE + "/tests/data/compare/before.json", os.path.join(inside, "a\nb", "profile.json"))
    server.send("resources/list", 1)
    one, = server.read()["result"]["resources"]
    assert one["name"] == "a\\x0ab/profile.json" and one["uri"].endswith("/a%0Ab/profile.json"), one
    server.send("tools/call", 2, name="profile", arguments=None)
    assert text(server.read()["result"]) == "argument program: is missing"
    server.end()


def calls():
    server = Server("--output-schemas")
    server.send("tools/list", 1)
    tools = {tool["name"]: tool for tool in server.read()["result"]["tools"]}
    server.call(2, "doctor", token="t")
    message = server.read()
    assert message["method"] == "notifications/progress" and message["params"]["progressToken"] == "t", message
    result = server.read()["result"]
    assert result["structuredContent"]["ready"] is True and not result["isError"], result
    try:
        import jsonschema
        jsonschema.validate(result["structuredContent"], tools["doctor"]["outputSchema"])
    except ImportError:
        pass
    trace = "tests/data/rocpd/streams-hip_results.db"
    server.call(3, "analyze", {"directory": SOURCE, "traces": [trace]})
    result = server.read()["result"]
    command = [ROCM_PERF, "analyze", "--json", trace]
    assert result["structuredContent"] == json.loads(subprocess.check_output(command, cwd=SOURCE)), result
    server.call(4, "analyze", {"traces": ["--help"]})  # a file of that name, not an option
    result = server.read()["result"]
    assert result["isError"] and result["_meta"]["rocm-perf/exitStatus"] == 3 and "--help" in text(result), result
    server.call(5, "analyze", {"traces": ["x"], "json": True})
    result = server.read()["result"]
    assert result["isError"] and "no argument json" in text(result), result
    server.call(6, "compare", {"results": [SOURCE + "/" + trace] * 2, "gates": ["dispatches<=0"]})
    result = server.read()["result"]  # a negative verdict is a result
    assert not result["isError"] and result["_meta"]["rocm-perf/exitStatus"] == 1, result
    assert "negative verdict" in text(result), result
    server.call(7, "why", {"directory": SOURCE, "traces": [trace]})
    result = server.read()["result"]
    command = [ROCM_PERF, "analyze", "--analysis", trace]
    assert result["structuredContent"] == json.loads(subprocess.check_output(command, cwd=SOURCE)), result
    assert "critical path" in result["content"][0]["text"], result
    server.end()


def keeps_and_writes(folder):
    """A history and a page by tools: the history has a result, is listed and checked; the page is where the answer says."""
    server = Server(cwd=folder)
    server.call(1, "history", {"action": "add", "results": [SOURCE + "/tests/data/compare/before.json"], "commit": "abc"})
    assert "result 1, commit abc" in text(server.read()["result"])
    for id, action in ((2, "list"), (3, "show"), (4, "check")):
        server.call(id, "history", {"action": action})
        result = server.read()["result"]
        command = [ROCM_PERF, "history", action, "--json"]
        assert result["structuredContent"] == json.loads(subprocess.check_output(command, cwd=folder)), result
    server.call(5, "history", {"action": "list", "recent": 3})  # which is of check
    result = server.read()["result"]
    assert result["isError"] and "--recent" in text(result), result
    server.call(6, "report", {"traces": [SOURCE + "/tests/data/rocpd/streams-hip_results.db"], "output": "page.html"})
    result = server.read()["result"]
    assert text(result).startswith("page.html: "), result
    with open(os.path.join(folder, "page.html"), encoding="utf-8") as file:
        assert file.read(15).lower() == "<!doctype html>"
    server.end()


CONFIG = {"version": 1, "build": "sleep 0$(cat seconds)", "programs": [{"name": "says", "command": ["./says"],
          "limits": {"time": None}, "checks": {"races": False, "uninit": False, "bounds": False}}]}


def holds_changes(folder):
    """A change that says the same passes, another one fails; a repository of which the top is above is refused; a cancelled
    call leaves no tree behind."""
    repository, made = os.path.join(folder, "repository"), os.path.join(folder, "tmp")
    for path in (os.path.join(repository, "deep"), made):
        os.makedirs(path)
    def put(name, text):
        with open(os.path.join(repository, name), "w") as file:
            file.write(text)
        os.chmod(os.path.join(repository, name), 0o755)
    git = ["git", "-C", repository, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    put("says", "#!/bin/sh\necho hello\n")
    put("seconds", "0")
    put(".gitignore", "results\n")  # as a user may write who has seen the folder once
    put("rocm-perf.json", json.dumps(CONFIG))
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run(git + words, check=True)
    server = Server(cwd=os.path.join(repository, "deep"), allow=None)
    server.call(1, "ci", {"base": "HEAD"})
    assert "is not in the workspace" in text(server.read()["result"])
    server.end()
    os.environ["TMPDIR"] = made
    server = Server(cwd=repository, allow=None)
    del os.environ["TMPDIR"]
    for id, said, wanted, status in ((2, "hello", "Passed: all ", 0), (3, "goodbye", "Failed: 1 of ", 1)):
        put("says", f"#!/bin/sh\n# {id}\necho {said}\n")
        server.call(id, "ci", {"base": "HEAD", "directory": "deep", "output": "../results", "device": "software"})
        result = server.read()["result"]
        assert text(result).startswith(wanted) and not result["isError"], result
        assert result["_meta"]["rocm-perf/exitStatus"] == status, result
        with open(os.path.join(repository, "results", "ci.json"), encoding="utf-8") as file:
            assert json.load(file) == result["structuredContent"]
    assert "its output is not that of base: standard output, line 1" in text(result), result
    for arguments, why in (({"base": "no such"}, "no such"), ({}, "argument base: is missing"), ({"base": "--help"}, "--help"),
                           ({"base": "HEAD", "output": "../out"}, "argument output: "),
                           ({"base": "HEAD", "build": "true"}, "no argument build")):
        server.call(4, "ci", arguments)
        result = server.read()["result"]
        assert result["isError"] and why in text(result), result
    put("seconds", "1000")
    server.call("long", "ci", {"base": "HEAD", "output": "results"}, token=1)
    while "build" not in server.read()["params"]["message"]:
        pass
    assert os.listdir(made)
    server.send("notifications/cancelled", requestId="long")
    server.call(5, "doctor")
    assert server.read()["id"] == 5 and os.listdir(made) == []
    server.end()


def tree(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), folder)] = file.read()
    return found


def finishes_what_was_interrupted(folder):
    """A tool that changes files is not said to be read-only; without such a result both change nothing."""
    server = Server()
    server.send("tools/list", 1)
    tools = {tool["name"]: tool for tool in server.read()["result"]["tools"]}
    before, after = (f"{SOURCE}/tests/data/compare/{side}.json" for side in ("before", "after"))
    for name in ("compare", "analyze"):
        result = os.path.join(folder, name)
        new = os.path.join(result, ".rocm-perf-complete")
        os.makedirs(new)
        shutil.copy(before, os.path.join(result, "profile.json"))
        shutil.copy(after, os.path.join(new, "profile.json"))
        shutil.copy(SOURCE + "/tests/data/rocpd/streams-hip_results.db", os.path.join(new, "trace_results.db"))
        expected = tree(new)
        arguments = {"results": [before, result]} if name == "compare" else {"traces": [result]}
        for id in ("interrupted", "in order"):
            server.call(name + id, name, arguments)
            answer = server.read()["result"]
            assert not answer["isError"], answer
            assert tree(result) == expected, (id, sorted(tree(result)))
        assert not tools[name].get("annotations", {}).get("readOnlyHint"), tools[name]["annotations"]
    server.end()


STAYS = """#!/bin/sh
setsid sh -c 'echo $$ >"$0.child"; while :; do sleep 1; done' "$0" &
echo $$ >"$0.self"
while [ ! -s "$0.child" ]; do sleep 0.1; done
trap '' TERM
while :; do echo it runs; sleep 1; done
"""


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_it_runs(server):
    while True:
        message = server.read()
        assert message.get("method") == "notifications/progress", message
        if "it runs" in message["params"]["message"]:
            return


def cancelled(folder, by_eof):
    """A program that does not listen to SIGTERM, and has a child in another session."""
    program = os.path.join(folder, "stays")
    with open(program, "w") as file:
        file.write(STAYS)
    os.chmod(program, 0o755)
    server = Server()
    server.call("long", "profile", {"program": program, "directory": folder}, token=1)
    wait_until_it_runs(server)
    pids = [int(open(program + end).read()) for end in (".self", ".child")]
    assert all(map(is_there, pids)), pids
    if not by_eof:
        server.call("waits", "doctor")
        server.send("ping", "now")  # is answered although a call runs
        assert server.read()["id"] == "now"
        server.call("long", "doctor")
        server.refused(-32600, "long")
        server.call("never", "doctor")
        for id in ("never", "long", "unknown"):
            server.send("notifications/cancelled", requestId=id)
        message = server.read()  # nothing more of the cancelled ones
        assert message["id"] == "waits" and message["result"]["structuredContent"]["ready"], message
    server.end()
    assert not any(map(is_there, pids)), pids


def says_much_or_nothing(folder):
    """A client is not flooded, and hears of a program that says nothing."""
    program = os.path.join(folder, "with blank")
    with open(program, "w") as file:
        file.write("#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do echo line $i >&2; i=$((i + 1)); done\nexec sleep 1000\n")
    os.chmod(program, 0o755)
    server = Server()
    server.call(1, "profile", {"program": program, "directory": folder}, token=1)
    server.call(2, "doctor", token=2)
    of_first, of_second = [], []
    while not (of_first and "still runs" in of_first[-1]):
        params = server.read()["params"]
        (of_first if params["progressToken"] == 1 else of_second).append(params["message"])
    assert any("line 19999" in message for message in of_first), of_first[-3:]
    assert len(of_first) < 2000, len(of_first)
    assert of_second[0] == "waiting for the calls before", of_second
    for id in (2, 1):
        server.send("notifications/cancelled", requestId=id)
    server.end()


def not_read():
    """A client that reads nothing of far more than a pipe holds can still end the server."""
    server = Server()
    for id in range(100):
        server.send("tools/list", id)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait() == 130


def main():
    malformed()
    limits()
    without_newline()
    not_read()
    modern()
    listed()
    calls()
    for scenario in (workspace, resources, swapped, keeps_and_writes, holds_changes, finishes_what_was_interrupted, lambda folder: cancelled(folder, False), lambda folder: cancelled(folder, True), says_much_or_nothing):
        folder = tempfile.mkdtemp()
        try:
            scenario(folder)
        finally:
            shutil.rmtree(folder)


main()
