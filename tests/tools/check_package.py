#!/usr/bin/env python3
"""What tools/package writes by itself, of a small tree: the tarball, the wheel, and that the documents name what is carried.

usage: check_package.py SOURCES
"""
import base64
import hashlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import tarfile
import tempfile
import zipfile

sys.dont_write_bytecode = True
SOURCES = sys.argv[1]
loader = importlib.machinery.SourceFileLoader("package", f"{SOURCES}/tools/package")
package = importlib.util.module_from_spec(importlib.util.spec_from_loader("package", loader))
loader.exec_module(package)
EPOCH = 1_700_000_000
PROGRAMS = ("bin/rocm-perf", "lib/rocm-perf-lab/rocm-perf-replay")
FILES = PROGRAMS + ("lib/librocm-perf.so.0.1.0", "include/rocm-perf/rocm-perf.h", "share/man/man1/rocm-perf.1",
                    "share/doc/rocm-perf-lab/LICENSES")
LINKS = {"bin/rocm-perf-lab": "rocm-perf", "lib/librocm-perf.so": "librocm-perf.so.0",
         "lib/librocm-perf.so.0": "librocm-perf.so.0.1.0", "share/man/man1/rocm-perf-lab.1": "rocm-perf.1"}
faults = []


def expect(good, text):
    if not good:
        faults.append(text)


def make_stage(folder, date):
    """The same tree, with other dates and modes of whoever made it."""
    for name in FILES:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"this is {name}\n")
        os.chmod(path, 0o700 if name in PROGRAMS else 0o600 if date % 2 else 0o664)
        os.utime(path, (date, date))
    for name, target in LINKS.items():
        os.symlink(target, os.path.join(folder, name))


def check_tarball(path):
    with tarfile.open(path) as tar:
        for info in tar:
            name = info.name.removeprefix("rocm-perf-lab-9.9/")
            mode = 0o777 if name in LINKS else 0o755 if name in PROGRAMS else 0o644
            expect((info.mode, info.uid, info.mtime, info.linkname) == (mode, 0, EPOCH, LINKS.get(name, "")), f"tarball: {info}")
        expect({n.removeprefix("rocm-perf-lab-9.9/") for n in tar.getnames()} == set(FILES) | set(LINKS), "tarball: names")


def check_wheel(path):
    expect(os.path.basename(path) == "rocm_perf_lab-9.9-py3-none-manylinux_2_28_x86_64.whl", f"wheel: {path}")
    wheel, folder = zipfile.ZipFile(path), "rocm_perf_lab-9.9"
    names = wheel.namelist()
    record = wheel.read(f"{folder}.dist-info/RECORD").decode().splitlines()
    for line in record[:-1]:
        name, digest, size = line.rsplit(",", 2)
        data = wheel.read(name)
        right = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        expect(digest == f"sha256={right}" and int(size) == len(data), f"wheel: {line}")
    expect([line.split(",")[0] for line in record] == names, "wheel: RECORD has other files")
    modes = {i.filename: i.external_attr >> 16 for i in wheel.infolist()}
    for name in PROGRAMS[1:]:
        expect(modes.get(f"{folder}.data/data/{name}") == 0o100755, f"wheel: {name} cannot be started")
    for name in ("rocm-perf", "rocm-perf-lab"):
        expect(modes.get(f"{folder}.data/scripts/{name}") == 0o100755, f"wheel: no command {name}")
    expect(wheel.read(f"{folder}.data/data/lib/librocm-perf.so.0") == b"this is lib/librocm-perf.so.0.1.0\n", "wheel: library")
    expect(b"\nTag: py3-none-manylinux_2_28_x86_64\n" in wheel.read(f"{folder}.dist-info/WHEEL"), "wheel: tag")
    metadata = wheel.read(f"{folder}.dist-info/METADATA").decode()
    expect("\nName: rocm-perf-lab\nVersion: 9.9\n" in metadata and "Requires-Dist" not in metadata, "wheel: METADATA")
    # A package index refuses these fields in an older form, and License beside License-Expression.
    expect("Metadata-Version: 2.4\n" in metadata and "\nLicense: " not in metadata and "\nLicense-Expression: MIT AND " in metadata,
           "wheel: licenses")
    for name in re.findall(r"^License-File: (.*)$", metadata, re.M):
        expect(f"{folder}.dist-info/licenses/{name}" in names, f"wheel: no {name}")
    expect(not [n for n in names if n.endswith(".py")], "wheel: Python")


with tempfile.TemporaryDirectory() as scratch:
    made = []
    for date in (EPOCH + 1, EPOCH + 2):
        stage, out = f"{scratch}/{date}", f"{scratch}/out{date}"
        os.mkdir(out)
        make_stage(stage, date)
        made.append([package.make_tarball(stage, "9.9", EPOCH, out), package.make_wheel(stage, "9.9", EPOCH, out)])
    for first, second in zip(*made):
        expect(open(first, "rb").read() == open(second, "rb").read(), f"{os.path.basename(first)} is not the same twice")
    check_tarball(made[0][0])
    check_wheel(made[0][1])
page = open(f"{SOURCES}/docs/install.md").read().lower()
for name, version, *_ in package.SOURCES:
    expect(name == "curl" or f"| {name} | {version} |" in page, f"docs/install.md does not name {name} {version}")
print("\n".join(faults) or "tarball, wheel and documents are as they should be")
sys.exit(1 if faults else 0)
