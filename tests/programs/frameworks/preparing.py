"""What the prepare programs have in common: Debian's packages, unpacked and not installed, and compiling against them."""
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request

SETUP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../setup")


UNREACHABLE = 69  # EX_UNAVAILABLE of sysexits.h; tests/night/frameworks knows it


def fail(text, status=4):
    print(f"prepare: {text}", file=sys.stderr)
    sys.exit(status)


def arguments(usage):
    """The folder to fill."""
    if len(sys.argv) != 2:
        sys.exit(usage)
    for name in ("ROCM_PERF_ROCM", "ROCM_PERF", "ROCM_PERF_LIBRARIES"):
        if name not in os.environ:
            fail(f"{name} is not set")
    return os.path.realpath(sys.argv[1])


def fetch(folder, names):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if subprocess.run([SETUP, "--fetch", folder, *names], stdout=sys.stderr).returncode:
        fail("Debian's packages cannot be fetched: " + " ".join(names))
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".deb")]


def extract(archive, member, folder, rule="data"):
    """Never outside of the folder, where this Python can see to that; in an older one by the name alone."""
    if hasattr(tarfile, "data_filter"):
        archive.extract(member, folder, filter=rule)
    elif member.name.startswith("/") or ".." in member.name.split("/"):
        fail(f"{archive.name}: {member.name} would be outside of {folder}")
    else:
        archive.extract(member, folder)


def fetch_source(package, name, sha256, path):
    """A file of PyPI, or of the index of PIP_INDEX_URL. pip itself would run the package's build to learn its facts."""
    page = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + f"/{package}/"
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(page, timeout=60) as index:
            found = re.search(rf'href="([^"#]*{re.escape(name)})[#"]', index.read().decode())
        if not found:
            fail(f"{page} does not have {name}")
        with urllib.request.urlopen(urllib.parse.urljoin(page, found[1]), timeout=60) as source, open(path, "wb") as file:
            while part := source.read(1 << 20):
                digest.update(part)
                file.write(part)
    except urllib.error.HTTPError as error:
        fail(f"{name} cannot be fetched from {page}: {error}")
    except OSError as error:  # that of URLs is one, too
        fail(f"{name} cannot be fetched from {page}: {error}", UNREACHABLE)
    if digest.hexdigest() != sha256:
        os.unlink(path)
        fail(f"{name} of {page} is not what it was: its SHA-256 is {digest.hexdigest()}")


def unpack_one(deb, folder, only):
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=tar.stdout, mode="r|") as archive:
        for member in archive:
            if any(fnmatch.fnmatch(member.name.removeprefix("./"), pattern) for pattern in only):
                extract(archive, member, folder, "tar")
    if tar.wait():
        fail(f"{deb} cannot be unpacked")


def unpack(folder, names, only=("*",)):
    """Once, into folder, what of the packages has a path like one of only. Returns their versions by name."""
    wanted = hashlib.sha256(repr((names, only)).encode()).hexdigest()
    try:
        with open(f"{folder}/.packages") as file:
            first, *lines = file.read().splitlines()
        if first == wanted:
            return dict(line.split() for line in lines)
    except (OSError, ValueError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    scratch = folder.rstrip("/") + ".debs"
    versions = {}
    for deb in fetch(scratch, names):
        name, version = os.path.basename(deb).split("_")[:2]
        versions[name] = version.replace("%3a", ":")
        unpack_one(deb, folder, only)
    shutil.rmtree(scratch)
    forget_rpaths(folder)
    with open(f"{folder}/.packages", "w") as file:
        file.write("\n".join([wanted, *(f"{name} {version}" for name, version in versions.items())]))
    return versions


def forget_rpaths(folder):
    """A library that has its own list of folders would not look into those of the program."""
    patch = os.path.join(os.environ["ROCM_PERF_ROCM"], "usr/bin/patchelf")
    for path in glob.glob(f"{folder}/usr/lib/x86_64-linux-gnu/*.so*"):
        if not os.path.islink(path) and subprocess.run([patch, "--remove-rpath", path]).returncode:
            fail(f"{path} cannot be patched")


def upstream(version):
    """Debian's version of a package without what Debian added: 7.2.4+dfsg-1~exp1 is 7.2.4."""
    return version.split(":")[-1].split("-")[0].split("+")[0]


def made_of(source, options):
    """What says that a program need not be compiled again."""
    digest = hashlib.sha256(repr(options).encode())
    for path in (source, os.path.join(os.environ["ROCM_PERF_ROCM"], ".rocm-perf-prefix")):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def compile_program(source, program, *options):
    """Once, by rocm-perf hipcc."""
    stamp, wanted = program + ".made-of", made_of(source, options)
    if os.path.exists(program) and os.path.exists(stamp):
        with open(stamp) as file:
            if file.read() == wanted:
                return
    print(f"prepare: compiling {os.path.basename(source)}", file=sys.stderr, flush=True)
    command = ["nice", "-n", "10", os.environ["ROCM_PERF"], "hipcc", "-O3", "-std=c++17", "-w", *options, source]
    if subprocess.run([*command, "-o", program], stdout=sys.stderr).returncode:
        fail(f"{source} does not compile")
    with open(stamp, "w") as file:
        file.write(wanted)


def environment(folder, packages):
    """Once, a virtual environment of Python with these packages. Returns its program."""
    program, stamp = f"{folder}/bin/python", f"{folder}/packages"
    if os.path.exists(stamp) and os.path.exists(program):
        with open(stamp) as file:
            if file.read() == repr(packages):
                return program
    shutil.rmtree(folder, ignore_errors=True)
    if subprocess.run([sys.executable, "-m", "venv", folder], stdout=sys.stderr).returncode:
        fail("python3 -m venv fails (Debian: python3-venv)")
    pip = subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
                         stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    sys.stderr.write(pip.stderr)
    if pip.returncode and "connection broken by" in pip.stderr:
        fail("pip cannot reach PyPI", UNREACHABLE)
    if pip.returncode:
        fail("pip cannot install " + " ".join(packages))
    with open(stamp, "w") as file:
        file.write(repr(packages))
    return program


def compile_library(source, library, *options):
    """A small library of the machine's own compiler, which takes no time."""
    os.makedirs(os.path.dirname(library), exist_ok=True)
    command = [os.environ.get("CC", "gcc"), "-O1", "-shared", "-fPIC", f"-Wl,-soname,{os.path.basename(library)}", *options]
    if subprocess.run([*command, "-o", library, source], stdout=sys.stderr).returncode:
        fail(f"{source} does not compile")


def library_folders():
    """Where the libraries of ./setup --libraries are."""
    folder = os.path.join(os.environ["ROCM_PERF_LIBRARIES"], "usr/lib/x86_64-linux-gnu")
    return [folder, f"{folder}/openblas-pthread"]


def libraries(*names, folder=None):
    """Options that link with libraries in a folder, and with those of ./setup --libraries."""
    folders = [*([folder] if folder else []), *library_folders()]
    return [*(f"-L{f}" for f in folders), "-Wl,-rpath," + ":".join(folders), "-Wl,--allow-shlib-undefined",
            *(f"-l:{name}" for name in names)]
