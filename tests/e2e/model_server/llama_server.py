"""llama.cpp's server with a model of random weights: a real peer that talks nonsense."""
import os
import socket
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))


def llama_prefix():
    """Where ./setup --check has put it. Ends the test as skipped when it is not there."""
    found = subprocess.run([os.path.join(HERE, "../../../setup"), "--print-model-server"], capture_output=True,
                           text=True)
    if found.returncode:
        print(found.stderr, end="")
        sys.exit(77)
    return found.stdout.strip()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def start_llama(prefix, scratch):
    """Its own loader and libraries: it is built for a newer C library than this machine's."""
    libraries = os.path.join(prefix, "usr/lib/x86_64-linux-gnu")
    model, port = os.path.join(scratch, "random.gguf"), free_port()
    subprocess.run([sys.executable, os.path.join(HERE, "tiny_model.py"), model, "7"], check=True)
    log = open(os.path.join(scratch, "llama.log"), "w")
    # The plain processor's code: no other needs to fit this machine.
    environment = dict(os.environ, GGML_BACKEND_PATH=f"{libraries}/ggml/backends0/libggml-cpu-x64.so")
    child = subprocess.Popen(
        [f"{libraries}/ld-linux-x86-64.so.2", "--library-path", f"{libraries}:{libraries}/llama",
         f"{prefix}/usr/bin/llama-server", "--model", model, "--host", "127.0.0.1", "--port", str(port),
         "--seed", "7", "--ctx-size", "16384", "--parallel", "1", "--threads", "1", "--no-ui"],
        stdout=log, stderr=log, env=environment)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(300):
        try:
            if opener.open(f"http://127.0.0.1:{port}/health", timeout=2).status == 200:
                return child, port
        except OSError:
            time.sleep(0.1)
        if child.poll() is not None:
            break
    child.kill()
    with open(log.name) as text:
        raise SystemExit("llama-server does not start:\n" + text.read())
