"""usage: check_frameworks.py SOURCE

What the programs that run frameworks fetch and refuse: from an index of files of this test's own."""
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tarfile
import tempfile

SOURCE = sys.argv[1]
sys.dont_write_bytecode = True


def load(name, path):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(SOURCE, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


preparing = load("preparing", "tests/programs/frameworks/preparing.py")
night = load("night", "tests/night/frameworks")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def status_of(function, *words):
    try:
        function(*words)
    except SystemExit as end:
        return end.code
    return 0


def check_fetching(folder):
    data, made = b"source" * 1000, os.path.join(folder, "made")
    right = hashlib.sha256(data).hexdigest()
    write(f"{folder}/files/a-1.tar.gz", data)
    write(f"{folder}/simple/a/index.html", b'<a href="../../files/a-1.tar.gz#sha256=0">a-1.tar.gz</a>')
    # A folder of files has no index page of its own, as a server has.
    os.environ["PIP_INDEX_URL"] = f"file://{folder}/simple"
    opened = preparing.urllib.request.urlopen
    preparing.urllib.request.urlopen = lambda url, timeout: opened(url + "index.html" if url.endswith("/") else url)
    assert status_of(preparing.fetch_source, "a", "a-1.tar.gz", right, made) == 0
    with open(made, "rb") as file:
        assert file.read() == data
    assert status_of(preparing.fetch_source, "a", "a-1.tar.gz", "0" * 64, made) == 4
    assert not os.path.exists(made), "what is not as it was stays"
    assert status_of(preparing.fetch_source, "a", "a-2.tar.gz", right, made) == 4
    assert status_of(preparing.fetch_source, "b", "b-1.tar.gz", right, made) == preparing.UNREACHABLE


def check_unpacking(folder):
    for name, good in (("in/side", True), ("../outside", False)):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            member = tarfile.TarInfo(name)
            member.size = 3
            tar.addfile(member, io.BytesIO(b"abc"))
        archive.seek(0)
        with tarfile.open(fileobj=archive) as tar:
            for member in tar:
                try:
                    unpacked = status_of(preparing.extract, tar, member, f"{folder}/to") == 0
                except tarfile.TarError:
                    unpacked = False
                assert unpacked == good, name
    assert not os.path.exists(f"{folder}/outside")


def check_memory():
    assert night.lacks({}, 1) is None
    assert night.lacks({"memory_gb": 15}, 16) is None
    assert night.lacks({"memory_gb": 15}, 7.6) == "takes 15 GB of memory, and 8 GB are available"
    assert night.available_gb() > 0


def check_names():
    for only in ("nope", "cupy/nope", "cupy/kernels/gfx90a", "cupy,nope", ""):
        assert status_of(night.parse, ["--only", only]) == 2, only
    for only in ("cupy", "cupy/kernels", "cupy/kernels/gfx942", "pytorch/profiler", "rocprim,cupy"):
        assert night.parse(["--only", only])["only"] == only.split(","), only
    try:
        night.check_names(["cupy/nope"])
    except night.getopt.GetoptError as error:
        assert "cupy/kernels" in str(error) and "rocprim" not in str(error), error


with tempfile.TemporaryDirectory() as scratch:
    check_fetching(os.path.realpath(scratch))
    check_unpacking(scratch)
    check_memory()
    if sys.version_info >= (3, 11): # it reads TOML
        check_names()
