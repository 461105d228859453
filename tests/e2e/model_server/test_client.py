#!/usr/bin/env python3
"""The client of model servers against a server that does what servers do, and worse.

usage: test_client.py BUILD

Each case: what the server sends, the exit status, what is printed. Whatever is written anywhere
must not hold the key.
"""
import json
import os
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scripted_server import (HEAD, Server, body, completion, cut, events, flood, reset, silent,
                             stream, whole)

ASK = os.path.join(sys.argv[1], "tests", "model-ask")
KEY = "sk-proj-4f7d1c22e5b94bd0a6"
KERNEL = "__global__ void scale(float *x) {\n    x[threadIdx.x] *= 2.0f; // é\n}"
GOOD = f"Here it is.\n```cpp\n{KERNEL}\n```\nIt is faster.\n"
QUICK = {"retry_delay_s": 0.02, "connect_timeout_s": 2, "idle_timeout_s": 5, "total_timeout_s": 10}
MOST_KIB = 512 << 10  # of memory, with the sanitizers' own; a flood takes that in a second
OK, VERDICT, USAGE, BAD_INPUT, ENVIRONMENT, NO_BUDGET, INTERRUPTED = 0, 1, 2, 3, 4, 6, 130

scratch = tempfile.mkdtemp()
failures = []
ran = 0


def write_settings(members, mode=0o600, name="llm.json"):
    path = os.path.join(scratch, name)
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "w") as file:
        file.write(members if isinstance(members, str) else json.dumps(members))
    os.chmod(path, mode)
    return path


def plain_environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ROCM_PERF_LLM", "OPENAI_"))
            and not k.lower().endswith("_proxy")}
    kept.update(HOME=scratch, **more)
    kept.pop("XDG_CONFIG_HOME", None)
    return kept


def ask(settings, prompt="make it fast", questions=1, environment=None, interrupt_after_s=None):
    files = {name: os.path.join(scratch, name) for name in ("prompt", "journal", "out", "err")}
    with open(files["prompt"], "w") as file:
        file.write(prompt)
    open(files["journal"], "w").close()
    with open(files["out"], "wb") as out, open(files["err"], "wb") as err:
        child = subprocess.Popen([ASK, settings, files["prompt"], files["journal"], str(questions)],
                                 stdout=out, stderr=err, env=environment or plain_environment())
        if interrupt_after_s:
            time.sleep(interrupt_after_s)
            child.send_signal(signal.SIGINT)
        status = child.wait(timeout=60)
    text = {name: open(path, errors="surrogateescape").read() for name, path in files.items()}
    if KEY in text["out"] + text["err"] + text["journal"] or KEY[:12] in text["err"] + text["journal"]:
        failures.append(f"the key was written: {text}")
    return status, text["out"], text["err"], text["journal"]


def check(name, got, status, *said, out=None):
    global ran
    ran += 1
    problems = []
    if got[0] != status:
        problems.append(f"exit status {got[0]} instead of {status}")
    problems += [f"stderr does not say {text!r}" for text in said if text not in got[2]]
    if out is not None and got[1] != out:
        problems.append(f"stdout is {got[1]!r}")
    if status != OK and got[1]:
        problems.append(f"stdout is not empty: {got[1]!r}")
    if problems:
        failures.append(f"{name}: {'; '.join(problems)}\n  stderr: {got[2]!r}")


def case(name, behaviours, status, *said, out=None, requests=None, prompt="make it fast", questions=1,
         interrupt_after_s=None, longest_s=None, **settings):
    behaviours = behaviours if isinstance(behaviours, list) else [behaviours]
    with Server(*behaviours) as server:
        path = write_settings({"base_url": server.url, "model": "m", "api_key": KEY, **QUICK,
                               **settings})
        begin = time.monotonic()
        got = ask(path, prompt, questions, interrupt_after_s=interrupt_after_s)
        took_s = time.monotonic() - begin
        check(name, got, status, *said, out=out)
        if requests is not None and len(server.requests) != requests:
            failures.append(f"{name}: {len(server.requests)} requests instead of {requests}")
        if longest_s and took_s > longest_s:
            failures.append(f"{name}: took {took_s:.1f} s")
        return got, server.requests


def answers():
    good = KERNEL + "\n"
    _, requests = case("whole", whole(GOOD), OK, "spent 150 tokens", out=good, requests=1, stream=False)
    asked = json.loads(requests[0].body)
    if (requests[0].line != "POST /v1/chat/completions HTTP/1.1" or asked["model"] != "m" or asked["stream"]
            or requests[0].headers["authorization"] != f"Bearer {KEY}" or asked["max_tokens"] != 8000
            or [m["role"] for m in asked["messages"]] != ["system", "user"]
            or asked["messages"][1]["content"] != "make it fast" or "temperature" in asked):
        failures.append(f"the request: {requests[0]}")
    case("whole although a stream was asked for", whole(GOOD), OK, out=good)
    for chunk in (None, 1, 2, 3, 5, 1000):
        case(f"stream in chunks of {chunk}", stream(events(GOOD), chunk), OK, "spent 150 tokens", out=good)
    for newline in ("\r\n", "\r"):
        case(f"lines ended by {newline!r}", stream(events(GOOD, newline=newline), 3), OK, out=good)
    case("byte order mark", stream(b"\xef\xbb\xbf" + events(GOOD), 1), OK, out=good)
    case("no [DONE]", stream(events(GOOD, done=False)), OK, out=good)
    case("no empty line at the end", stream(events(GOOD).rstrip()), OK, out=good)
    case("connection stays open behind the end", stream(events(GOOD), linger_s=20), OK, out=good, longest_s=3)
    case("no usage: estimated", stream(events(GOOD, usage=False)), OK, "spent ", out=good)
    case("length", stream(events(GOOD[:60], finish="length")), VERDICT, "cut at the limit of tokens", requests=1)
    case("filter", stream(events(GOOD, finish="content_filter")), VERDICT, "content_filter")
    case("no block", whole(KERNEL), VERDICT, "no fenced block")
    case("two blocks", whole(GOOD + GOOD), VERDICT, "more than one fenced block")
    case("open block", whole(f"```\n{KERNEL}\n"), VERDICT, "has no end")
    case("empty block", whole("```\n\n```"), VERDICT, "block of the answer is empty")
    case("empty", whole(""), VERDICT, "the answer is empty")
    case("null content", body('{"choices":[{"index":0,"message":{"content":null},"finish_reason":"stop"}]}'),
         VERDICT, "the answer is empty")
    case("refusal", body('{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}'),
         VERDICT, "declined")
    case("longer fence", whole(f"````c\n{KERNEL}\n```\nstill code\n````"), OK, out=KERNEL + "\n```\nstill code\n")


def bad_bytes():
    case("no JSON", body("{this is not JSON"), VERDICT, "not JSON", requests=1)
    case("no JSON in the stream", stream(b"data: {\"choices\n\n"), VERDICT, "not JSON")
    case("not UTF-8", body(completion(GOOD).encode().replace(b"faster", b"\xff\xfe")), VERDICT, "not UTF-8")
    case("not UTF-8 in the stream", stream(b'data: {"choices":[{"delta":{"content":"\xc3("}}]}\n\n'),
         VERDICT, "not UTF-8")
    case("zero byte", body(completion("```\na\\b\n```").replace("\\\\b", "\\u0000")), VERDICT, "holds a zero byte")
    case("other JSON", body('{"ok": true}'), ENVIRONMENT, "not a chat completion", "/v1")
    case("web page", body("<html>" * 10, kind="text/html"), ENVIRONMENT, "web page", requests=1)
    case("huge answer", whole("x" * 1100000), VERDICT, "larger than 1048576 bytes")
    case("huge body", body(b" " * (9 << 20)), VERDICT, "larger than 8388608 bytes")
    case("huge stream", stream(b": " + b"x" * 100 + b"\n" + events(GOOD * 25000, pieces=20000)), VERDICT,
         "larger than 1048576 bytes")
    case("endless line", stream(b"data: " + b"x" * (9 << 20)), VERDICT, "event is larger")
    case("endless comments", stream((b":" + b"x" * 65535 + b"\n") * 600, chunk=1 << 20), VERDICT,
         "sent more than 33554432 bytes")
    case("deep JSON", body("[" * 100000), VERDICT, "not JSON")


def floods():
    """Servers that never end. The client must, by a bound on bytes: not one of these may grow it."""
    too_much = "more than 262144 bytes of headers and trailers"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    case("endless trailers", flood(chunked + b"0\r\n", b"X: y\r\n" * 1000), VERDICT, too_much, requests=1)
    case("endless trailers behind an answer", flood(chunked + b"%x\r\n" % len(completion(GOOD)) +
         completion(GOOD).encode() + b"\r\n0\r\n", b"Retry-After: 9\r\n" * 1000), VERDICT, too_much, requests=1)
    case("endless trailers of a refusal", flood(chunked.replace(b"200 OK", b"500 X") + b"0\r\n", b"X: y\r\n" * 1000),
         VERDICT, too_much, requests=1)
    case("endless headers", flood(HEAD, b"X: y\r\n" * 1000), VERDICT, too_much, requests=1)
    case("endless 100 Continue", flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), VERDICT, too_much, requests=1)
    case("endless 103 with headers", flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000), VERDICT,
         too_much, requests=1)
    # libcurl's own bounds: 100 KiB a line, 4 KiB a trailer.
    case("endless header line", flood(HEAD + b"X: ", b"y" * 65536), ENVIRONMENT, longest_s=8)
    case("endless status line", flood(b"HTTP/1.1 200 ", b"y" * 65536), ENVIRONMENT, longest_s=8)
    case("endless trailer line", flood(chunked + b"0\r\nX: ", b"y" * 65536), ENVIRONMENT, longest_s=8)
    # What only the count of all bytes sees; the time limits are far.
    far = {"idle_timeout_s": 50, "total_timeout_s": 50}
    case("endless extension of a chunk", flood(chunked + b"1;x=", b"y" * 65536), VERDICT,
         "more than 67108864 bytes for one answer", requests=1, **far)
    case("chunks of one byte, each with an extension", flood(chunked, (b"1;" + b"y" * 65530 + b"\r\n \r\n")), VERDICT,
         "more than 67108864 bytes for one answer", requests=1, **far)
    # A server may compress although nobody asked; what counts is what comes out.
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = bomb.compress(b" " * (64 << 20)) + bomb.flush()
    case("compressed bomb that was not asked for", body(bomb, extra="Content-Encoding: gzip\r\n"), VERDICT, "not",
         requests=1)
    case("bomb in the transfer encoding", cut(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n%x\r\n" % len(bomb) +
                                             bomb + b"\r\n0\r\n\r\n"), VERDICT, requests=1)
    case("endless redirects", lambda c, r: body("", 307, extra="Location: /v1/chat/completions\r\n")(c, r), ENVIRONMENT,
         "not followed", requests=1)
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > MOST_KIB:
        failures.append(f"a client took {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss} KiB of memory")


def faults():
    good = KERNEL + "\n"
    case("429 then good", [body("{}", 429, extra="Retry-After: 1\r\n"), whole(GOOD)], OK, out=good, requests=2)
    case("429, wait too long", body("{}", 429, extra="Retry-After: 3600\r\n"), ENVIRONMENT,
         "asks to wait for 3600 s", requests=1)
    case("429, wait much too long", body("{}", 429, extra="Retry-After: 100000\r\n"), ENVIRONMENT,
         "asks to wait for 100000 s", requests=1)
    case("500 503 then good", [body("oops", 500), body("", 503), whole(GOOD)], OK, out=good, requests=3)
    case("500 for ever", body('{"error":{"message":"it\\nburns\\u001b[31m"}}', 500), ENVIRONMENT,
         "4 attempts, the last", "HTTP status 500: it burns\ufffd[31m", requests=4)
    case("reset then good", [reset, stream(events(GOOD))], OK, out=good, requests=2)
    case("closed without a word, then good", [cut(b""), whole(GOOD)], OK, out=good, requests=2)
    case("closed in the middle", cut(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                     b"Transfer-Encoding: chunked\r\n\r\n400\r\n" + events(GOOD)[:200]),
         ENVIRONMENT, "attempts, the last", requests=4)
    case("ended in the middle, without chunks", cut(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                                                    + events(GOOD)[:300].rpartition(b"data")[0]),
         ENVIRONMENT, "broke off in the middle", requests=4)
    case("Content-Length too large", body(completion(GOOD), length=100000), ENVIRONMENT, requests=4)
    case("Content-Length too small", body(completion(GOOD), length=40), VERDICT, "not JSON", requests=1)
    case("not HTTP", cut(b"SSH-2.0-OpenSSH_9.2\r\n"), ENVIRONMENT, requests=1)
    case("error in the stream", stream(b'data: {"error":{"message":"out of memory"}}\n\n'), ENVIRONMENT,
         "reports an error: out of memory", requests=1)
    for status, said in ((400, "too long"), (401, "is the key right"), (404, "the model's name"), (422, "too long")):
        case(f"{status}", body('{"error":{"message":"too long"}}', status), ENVIRONMENT, f"status {status}", said,
             requests=1)
    case("401 that tells the key", body(json.dumps({"error": {"message": f"wrong key {KEY}!"}}), 401), ENVIRONMENT,
         "wrong key ****", requests=1)
    case("key cut in a message", body(json.dumps({"error": "x" * 285 + KEY}), 401), ENVIRONMENT, "x****")
    case("answer that tells the key", whole(GOOD.replace("faster", KEY)), VERDICT, "holds the key")
    case("answer that tells a short key", whole(GOOD.replace("faster", "hunter2a")), VERDICT, "holds the key",
         api_key="hunter2a")
    case("answer with the word that is the key", whole(GOOD.replace("faster", "none")), OK, out=good, api_key="none")
    _, requests = case("max_completion_tokens", [body('{"error":{"message":"Unsupported parameter: use '
                       '\'max_completion_tokens\'"}}', 400), whole(GOOD)], OK, out=good, requests=2)
    if "max_tokens" in json.loads(requests[1].body):
        failures.append("max_tokens was asked for again")


def times():
    slow = {"total_timeout_s": 1.5, "idle_timeout_s": 0.5}
    case("silent", silent, ENVIRONMENT, "sent nothing for 0.5 s", "idle_timeout_s", requests=1, longest_s=3, **slow)
    case("drips", stream(events(GOOD), chunk=1, pause_s=0.02), ENVIRONMENT, "within 1.5 s", "total_timeout_s",
         requests=1, longest_s=4, **slow)
    case("interrupted", silent, INTERRUPTED, "interrupted by SIGINT", interrupt_after_s=0.5, longest_s=3)
    case("interrupted while it waits", body("{}", 429, extra="Retry-After: 30\r\n"), INTERRUPTED,
         "interrupted by SIGINT", interrupt_after_s=0.7, longest_s=3, requests=1)


def budget():
    case("budget", whole(GOOD), NO_BUDGET, "spent 0 tokens", requests=0, prompt="x" * 3000, budget_tokens=1100)
    _, requests = case("less for the answer", whole(GOOD), OK, prompt="x" * 3000, budget_tokens=1500)
    if json.loads(requests[0].body)["max_tokens"] != 1500 - (3000 + 20 + 2) // 3:
        failures.append(f"max_tokens {requests[0].body[-200:]}")
    got, requests = case("until it is used up", whole(GOOD, usage=(300, 100)), OK, prompt="x", budget_tokens=1000,
                         questions=2)
    with Server(whole(GOOD, usage=(300, 100))) as server:
        got = ask(write_settings({"base_url": server.url, "model": "m", "budget_tokens": 1000}), questions=9)
        if got[0] != NO_BUDGET or len(server.requests) != 2:
            failures.append(f"budget over several questions: {len(server.requests)} {got}")


def redirects():
    with Server(whole(GOOD)) as other:
        where = f"http://localhost:{other.port}/v1/chat/completions"
        for status in (301, 302, 307, 308):
            case(f"redirect {status}", body("", status, extra=f"Location: {where}?token=1\r\n"), ENVIRONMENT,
                 f"redirects to {where};", "not followed", requests=1)
        if other.requests:
            failures.append("a redirect was followed")
    # A proxy never gets a request that stays on this machine.
    with Server(whole("no")) as proxy, Server(whole(GOOD)) as server:
        path = write_settings({"base_url": server.url, "model": "m", "api_key": KEY})
        got = ask(path, environment=plain_environment(http_proxy=f"http://127.0.0.1:{proxy.port}"))
        check("proxy", got, OK, out=KERNEL + "\n")
        if proxy.requests:
            failures.append("a request to this machine went through a proxy")
    # To other machines as libcurl does; the key never without encryption.
    with Server(whole(GOOD)) as proxy:
        environment = plain_environment(http_proxy=f"http://127.0.0.1:{proxy.port}",
                                        https_proxy=f"http://127.0.0.1:{proxy.port}")
        got = ask(write_settings({"base_url": "http://model.invalid/v1", "model": "m"}), environment=environment)
        check("through a proxy", got, OK, out=KERNEL + "\n")
        ask(write_settings({"base_url": "https://model.invalid/v1", "model": "m", "api_key": KEY}),
            environment=environment)
        if [r.line.split()[0] for r in proxy.requests] != ["POST", "CONNECT"] or any(
                "authorization" in r.headers for r in proxy.requests):
            failures.append(f"requests to the proxy: {proxy.requests}")


def encryption():
    if not shutil.which("openssl"):
        failures.append("openssl is missing: it makes the certificate (apt-get install openssl)")
        return
    names = [os.path.join(scratch, name) for name in ("key.pem", "cert.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", names[0], "-out", names[1], "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(names[1], names[0])
    with Server(whole(GOOD), wrap=lambda c: context.wrap_socket(c, server_side=True)) as server:
        settings = {"base_url": server.url, "model": "m", "api_key": KEY}
        check("unknown certificate", ask(write_settings(settings)), ENVIRONMENT, "cannot be trusted", "ca_file")
        check("known certificate", ask(write_settings({**settings, "ca_file": names[1]})), OK, out=KERNEL + "\n")
        settings["base_url"] = server.url.replace("127.0.0.1", "localhost")
        check("certificate of another name", ask(write_settings({**settings, "ca_file": names[1]})), ENVIRONMENT,
              "cannot be trusted")
        if len(server.requests) != 1:
            failures.append("something was sent to a server that is not trusted")


def nobody():
    with Server(silent) as server:
        port = server.port
    got = ask(write_settings({"base_url": f"http://127.0.0.1:{port}/v1", "model": "m"}))
    check("nobody listens", got, ENVIRONMENT, "nothing answers at", "llm.json")


def no_library():
    """libcurl is loaded when it is needed: files that are none stand before the real ones."""
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"):
        open(os.path.join(scratch, name), "w").close()
    settings = write_settings({"base_url": "http://127.0.0.1:1/v1", "model": "m"})
    got = ask(settings, environment=plain_environment(LD_LIBRARY_PATH=scratch))
    check("no libcurl", got, ENVIRONMENT, "libcurl, which is not installed here; install libcurl4")


def places():
    """Where settings come from. Refusals are in the unit test."""
    with Server(whole(GOOD)) as server, Server(whole(GOOD)) as other:
        environment = plain_environment(ROCM_PERF_LLM_BASE_URL=server.url + "/", ROCM_PERF_LLM_MODEL="mine",
                                        OPENAI_API_KEY=KEY, OPENAI_BASE_URL=other.url)
        check("environment", ask("", environment=environment), OK)
        if "authorization" in server.requests[0].headers or json.loads(server.requests[0].body)["model"] != "mine":
            failures.append("the key of another server was sent")
        environment = plain_environment(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=other.url, OPENAI_MODEL="theirs")
        check("usual variables", ask("", environment=environment), OK)
        os.makedirs(os.path.join(scratch, ".config", "rocm-perf"), exist_ok=True)
        write_settings({"base_url": server.url, "model": "filed"}, name=".config/rocm-perf/llm.json")
        check("file at home", ask("", environment=environment), OK)
        models = [json.loads(r.body)["model"] for r in server.requests + other.requests]
        if models != ["mine", "filed", "theirs"] or other.requests[0].headers.get("authorization") != f"Bearer {KEY}":
            failures.append(f"asked: {models}")


for group in (answers, bad_bytes, floods, faults, times, budget, redirects, encryption, nobody, no_library,
              places):
    group()
shutil.rmtree(scratch)
print("\n".join(failures) or f"{ran} cases")
sys.exit(1 if failures else 0)
