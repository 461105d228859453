#!/usr/bin/env python3
"""rocm-perf setup against a mirror of tiny packages: what it makes, and what it refuses.

usage: setup_test.py ROCM_PERF
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from mirror import Key, Mirror

if not shutil.which("gpg"):
    print("skipped: no gpg; run ./setup --check")
    sys.exit(77)
PROGRAM = os.path.abspath(sys.argv[1])
SCRATCH = tempfile.mkdtemp(prefix="setup-test-")
LIBS = "usr/lib/x86_64-linux-gnu"
BITCODE = "usr/lib/llvm-22/lib/clang/22/amdgcn/bitcode/ocml.bc"
PATCHED = os.path.join(SCRATCH, "patched")
mirror = Mirror()
failures = []


def compile_patchelf():
    """What stands for patchelf: a program that says what it was asked to do."""
    source = os.path.join(SCRATCH, "patchelf.c")
    with open(source, "w") as to:
        to.write("""#include <stdio.h>
int main(int argc, char **argv) {
    FILE *to = fopen("%s", "a");
    for (int i = 1; i < argc; i++) fprintf(to, "%%s%%c", argv[i], i + 1 < argc ? ' ' : '\\n');
    return fclose(to);
}
""" % PATCHED)
    subprocess.run([os.environ.get("CC", "cc"), "-o", source[:-2], source], check=True)
    with open(source[:-2], "rb") as read:
        return read.read()


def host(name):
    """A library of this machine's libc."""
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"):
        if os.path.exists(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "rb") as read:
                return read.read()
    raise SystemExit(f"no {name} here")


PATCHELF = compile_patchelf()
LONG = "usr/share/" + "a-very-long-name/" * 10 + "file"


def packages():
    """What a mirror has: of experimental and of sid. libc6 and its kind are this machine's."""
    libc = {f"{LIBS}/libc.so.6": host("libc.so.6"), "usr/lib64/ld-linux-x86-64.so.2": host("ld-linux-x86-64.so.2")}
    experimental = [
        ("hipcc", "7.2.4+dfsg-1~exp1", "libamd-comgr-dev, rocm-device-libs-22 (>= 7.2) | rocm-device-libs",
         {"usr/bin/": None, "usr/bin/hipcc": PATCHELF, "usr/bin/script": b"#!/bin/sh\n"}, {}),
        ("libamdhip64-dev", "7.2.4-1~exp2", "libamdhip64-7 (= 7.2.4-1~exp2)", {"usr/include/hip.h": b"x"}, {}),
        ("libamdhip64-7", "7.2.4-1~exp2", "libc6 (>= 2.38), tool", {
            f"{LIBS}/libamdhip64.so.7.2.4": b"HIP", f"{LIBS}/libamdhip64.so.7": ("link", "libamdhip64.so.7.2.4")}, {}),
        ("libhsa-runtime-dev", "7.2.4-1", "libhsa-runtime64-1", {"usr/include/hsa.h": b"x"}, {}),
        ("libhsa-runtime64-1", "7.2.4-1", "", {f"{LIBS}/libhsa-runtime64.so.1": b"HSA"}, {"suffix": ".gz"}),
        ("libamd-comgr-dev", "7.2.4-1", "libllvm:any | nothing", {"usr/include/comgr.h": b"x"}, {"suffix": ""}),
        ("rocminfo", "7.2.4-1", "virtual-thing (>= 2)", {"usr/bin/rocminfo": PATCHELF}, {}),
        ("rocm-device-libs-22", "7.2.4-1", "", {BITCODE: b"BC"}, {}),
        # Too new for what libllvm needs: sid has the right one.
        ("libz9", "1:2.0-1", "", {f"{LIBS}/libz9": b"wrong"}, {}),
        ("tool", "2.0~rc1-1", "libz9", {"usr/bin/tool": b"2.0~rc1"}, {}),
    ]
    sid = [
        ("patchelf", "0.18.0-1", "libc6", {"usr/bin/patchelf": PATCHELF}, {"Pre-Depends": "multi"}),
        ("libc6", "2.44-3", "", libc, {}),
        ("libllvm", "1:22.1.8-3", "libz9 (<< 1:2.0~)",
         {f"{LIBS}/libLLVM.so.22": b"LLVM", LONG: b"long", "lib/merged": b"usr", "usr/bin/again": ("hard", "./usr/bin/hard"),
          } | {"usr/bin/hard": b"hard"}, {}),
        ("libz9", "1:1.9-2", "", {f"{LIBS}/libz9": b"right"}, {}),
        ("provider", "1-1", "", {"usr/share/provider": b"x"}, {"Provides": "other, virtual-thing (= 2.1)"}),
        ("older", "1-1", "", {"usr/share/older": b"x"}, {"Provides": "virtual-thing (= 1)"}),
        ("multi", "1-1", "", {"usr/share/multi": b"x"}, {}),
    ]
    # A hard link stands behind what it links to.
    entries = sid[2][3]
    entries["usr/bin/again"] = entries.pop("usr/bin/again")
    return experimental, sid


def publish(key, change=None, **how):
    """Puts a whole mirror there, whose packages a function may have changed."""
    experimental, sid = packages()
    if change:
        change(experimental, sid)
    mirror.files.clear()
    mirror.log.clear()
    mirror.delay_s = 0
    mirror.suite("experimental", experimental, key, **how)
    mirror.suite("sid", sid, key, **how)


def command(prefix, *options):
    return [PROGRAM, "setup", "--prefix", prefix, "--mirror", mirror.url, *options]


def setup(prefix, *options, env=None, user=None):
    return subprocess.run(command(prefix, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=env or with_apt("true"), user=user, timeout=120)


def with_apt(checks):
    """An environment with an apt-config that says whether apt looks at the age of an index."""
    folder = new(f"apt-{checks}")
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/apt-config", "w") as to:
        to.write(f"#!/bin/sh\necho \"$2='{checks}'\"\n")
    os.chmod(folder + "/apt-config", 0o755)
    return dict(os.environ, PATH=folder + ":" + os.environ["PATH"])


def check(what, good, ran=None):
    if not good:
        failures.append(what)
        print(f"FAILED: {what}")
        if ran:
            print(f"  exit {ran.returncode}\n{ran.stdout}{ran.stderr}")


def refused(what, ran, status, words, prefix):
    check(what, ran.returncode == status and words in ran.stderr and not os.path.exists(prefix), ran)


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def new(name):
    return os.path.join(SCRATCH, name)


key, other = Key(new("key")), Key(new("other"), "SHA512")


def makes():
    publish(key)
    prefix = new("made/rocm")
    ran = setup(prefix, "--keyring", key.file)
    check("made", ran.returncode == 0 and ran.stdout == f"ROCm 7.2.4 (private, from Debian) in {prefix}\n\nNext: export ROCM_PATH={prefix}\n", ran)
    stamp = read(prefix, ".rocm-perf-prefix").decode().splitlines()
    check("stamp", stamp[:4] == ["format 2", "rocm 7.2.4", "llvm 22", f"path {prefix}"], ran)
    chosen = dict(line.split()[1:] for line in stamp[4:])
    check("versions", chosen.get("libz9") == "1:1.9-2" and "provider" in chosen and "older" not in chosen and
          chosen.get("tool") == "2.0~rc1-1" and "multi" in chosen and len(chosen) == 15)
    check("right version unpacked", read(prefix, LIBS, "libz9") == b"right")
    check("long name", read(prefix, LONG) == b"long")
    check("merged /usr", read(prefix, "usr/lib/merged") == b"usr" and os.readlink(prefix + "/lib64") == "usr/lib64")
    check("links", os.readlink(f"{prefix}/{LIBS}/libamdhip64.so.7") == "libamdhip64.so.7.2.4" and
          os.path.samefile(prefix + "/usr/bin/again", prefix + "/usr/bin/hard"))
    check("no set-user-ID", os.stat(prefix + "/usr/bin/hipcc").st_mode & 0o7777 == 0o755)
    patched = read(PATCHED).decode()
    for name in ("hipcc", "rocminfo", "patchelf"):
        check(f"{name} gets its loader", f"--set-interpreter {prefix}/lib64/ld-linux-x86-64.so.2 --force-rpath --set-rpath "
              f"{prefix}/{LIBS} {prefix}.fetched/unpacked/usr/bin/{name}\n" in patched)
    usual = prefix + "/opt/rocm"
    check("the layout of /opt/rocm", read(usual, ".info/version") == b"7.2.4\n" and
          os.path.samefile(f"{usual}/lib/libamdhip64.so.7", f"{prefix}/{LIBS}/libamdhip64.so.7.2.4") and
          os.path.samefile(f"{usual}/.rocm-perf-prefix", f"{prefix}/.rocm-perf-prefix") and
          os.path.isdir(usual + "/amdgcn/bitcode") and not os.path.exists(usual + "/lib/libz9"))
    check("no script is patched", "/script\n" not in patched and "patchelf.plain" not in patched)
    check("LLVM's own path", f"--remove-rpath {prefix}.fetched/unpacked/{LIBS}/libLLVM.so.22\n" in patched)
    check("nothing else is left", sorted(os.listdir(new("made"))) == ["rocm", "rocm.lock"])
    mirror.log.clear()
    ran = setup(prefix, "--keyring", key.file)
    check("a whole one stays", ran.returncode == 0 and not mirror.log, ran)
    shutil.rmtree(prefix + "/opt")
    ran = setup(prefix, "--keyring", key.file)
    check("one of an older setup gets that layout", ran.returncode == 0 and not mirror.log and
          os.path.exists(usual + "/.rocm-perf-prefix"), ran)
    # One that was moved is no longer whole.
    os.rename(new("made"), new("moved"))
    ran = setup(new("moved/rocm"), "--keyring", key.armored())
    check("a moved one is made anew, with an armored key", ran.returncode == 0 and len(mirror.log) > 10, ran)


def refuses():
    prefix = new("refused")
    publish(key)
    refused("Debian has not signed it", setup(prefix), 3, "is not signed by Debian: no known key has signed it", prefix)
    refused("another key", setup(prefix, "--keyring", other.file), 3, "is not signed by a key of the keyring", prefix)
    ran = setup(prefix, "--unverified")
    check("--unverified", ran.returncode == 0 and ran.stderr.count("NOT VERIFIED") == 2, ran)
    shutil.rmtree(prefix, ignore_errors=True)
    publish(other)
    ran = setup(prefix, "--keyring", other.file)
    check("SHA-512", ran.returncode == 0 and "is signed by a key of the keyring" in ran.stderr, ran)
    shutil.rmtree(prefix, ignore_errors=True)
    publish(None)
    refused("no signature", setup(prefix, "--keyring", key.file), 3, "it is no signed text", prefix)
    publish(key)
    release = mirror.files["/debian/dists/sid/InRelease"]
    for what, changed in (("changed", release.replace(b"Origin: Test", b"Origin: Best")),
                          ("text in front", b"Origin: Evil\n" + release), ("cut", release[:len(release) // 2]),
                          ("empty", b""), ("a portal's page", b"<html>Log in</html>")):
        mirror.put("dists/sid/InRelease", changed)
        refused(what, setup(prefix, "--keyring", key.file), 3, "dists/sid/InRelease is not signed by", prefix)
    # What stands behind the signature is not believed.
    publish(key)
    release = mirror.files["/debian/dists/sid/InRelease"]
    mirror.put("dists/sid/InRelease", release + b"\nSuite: other\nSHA256:\n 00 1 main/binary-amd64/Packages.xz\n")
    ran = setup(prefix, "--keyring", key.file)
    check("text behind", ran.returncode == 0, ran)
    shutil.rmtree(prefix, ignore_errors=True)
    publish(key, named="stable")
    refused("another suite", setup(prefix, "--keyring", key.file), 3, "is the index of stable, not of experimental", prefix)
    publish(key)
    mirror.put("dists/sid/main/binary-amd64/Packages.xz", b"something else")
    refused("a changed list", setup(prefix, "--keyring", key.file), 3, "is not what its signed index says", prefix)
    publish(key)
    good = mirror.files["/debian/pool/main/hipcc_7.2.4+dfsg-1~exp1_amd64.deb"]
    mirror.put("pool/main/hipcc_7.2.4+dfsg-1~exp1_amd64.deb", good[:-1] + b"!")
    refused("a changed package", setup(prefix, "--keyring", key.file), 3,
            "hipcc_7.2.4+dfsg-1~exp1_amd64.deb is not what the index says (its SHA-256 differs): it is refused", prefix)
    mirror.put("pool/main/hipcc_7.2.4+dfsg-1~exp1_amd64.deb", good)
    mirror.log.clear()
    ran = setup(prefix, "--keyring", key.file)
    check("and then the right one", ran.returncode == 0 and 1 <= len([p for p in mirror.log if p.endswith(".deb")]) <= 14, ran)
    shutil.rmtree(prefix, ignore_errors=True)


def lacks():
    prefix = new("lacks")
    publish(key, days=-20)
    ran = setup(prefix, "--keyring", key.file)
    refused("an old index", ran, 3, "choose another mirror with --mirror", prefix)
    check("as apt would not", "was valid until" in ran.stderr, ran)
    ran = setup(prefix, "--keyring", key.file, env=with_apt("false"))
    check("an old index, as apt does", ran.returncode == 0 and ran.stderr.count("was valid until") == 2 and
          ran.stderr.count("is signed by a key") == 2, ran)
    shutil.rmtree(prefix, ignore_errors=True)
    ran = setup(prefix, "--keyring", key.file, "--unverified")
    check("an old index on purpose", ran.returncode == 0 and "was valid until" in ran.stderr, ran)
    shutil.rmtree(prefix, ignore_errors=True)
    publish(key, lambda experimental, sid: sid.pop(1))
    refused("a need that nobody meets", setup(prefix, "--keyring", key.file), 4, "needs libc6", prefix)
    publish(key, lambda experimental, sid: experimental.pop(0))
    refused("no ROCm", setup(prefix, "--keyring", key.file), 4, "the mirror has no package hipcc", prefix)
    publish(key, lambda experimental, sid: experimental[7][3].clear())
    refused("no device libraries", setup(prefix, "--keyring", key.file), 4, "make no whole ROCm (no device libraries)", prefix)
    publish(key, lambda experimental, sid: sid[1][4].update({"Installed-Size": 10 ** 10}))
    refused("a small disk", setup(prefix, "--keyring", key.file), 4, "MB are needed while ROCm is unpacked; make room", prefix)
    publish(key, lambda experimental, sid: experimental[7][3].update({"../../evil": b"x"}))
    refused("a name that leads out", setup(prefix, "--keyring", key.file), 3, "leads out of the folder", prefix)
    check("and nothing is there", not os.path.exists(new("evil")))
    os.makedirs(new("outside"))
    for what, name, words in (("a file behind a link", "usr/out/evil", "a name leads out of the folder by a link"),
                              ("folders behind a link", "usr/out/a/b/", "a name leads out of the folder by a link"),
                              ("a hard link through a link", "usr/mine", "a link leads out of the folder")):
        with open(new("outside/theirs"), "w") as to:
            to.write("theirs")
        entry = ("hard", "usr/out/theirs") if name == "usr/mine" else None if name.endswith("/") else b"x"
        publish(key, lambda experimental, sid: experimental[7][3].update({"usr/out": ("link", new("outside")), name: entry}))
        refused(what, setup(prefix, "--keyring", key.file), 3, words, prefix)
        check(f"{what}: nothing is outside", os.listdir(new("outside")) == ["theirs"])
    publish(key, lambda experimental, sid: experimental[7][3].update({"usr/out": ("link", new("nothing")), "usr/out/evil": b"x"}))
    refused("a file behind a link to nothing", setup(prefix, "--keyring", key.file), 3, "leads out of the folder by a link", prefix)
    os.makedirs(new("llvm/bin"))
    shutil.copy(new("patchelf"), new("llvm/bin/program"))
    publish(key, lambda experimental, sid: experimental[7][3].update({"usr/lib/llvm-9": ("link", new("llvm"))}))
    if os.path.exists(PATCHED):
        os.remove(PATCHED)
    ran = setup(prefix, "--keyring", key.file)
    check("programs behind a link are left alone", ran.returncode == 0 and b"llvm-9" not in read(PATCHED), ran)
    shutil.rmtree(prefix, ignore_errors=True)
    publish(key)
    mirror.files.clear()
    refused("a wrong mirror", setup(prefix, "--keyring", key.file), 4, "cannot fetch http://127.0.0.1", prefix)
    ran = subprocess.run([PROGRAM, "setup", "--prefix", prefix, "--mirror", "http://127.0.0.1:9/debian"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    refused("nobody answers", ran, 4, "cannot fetch http://127.0.0.1:9", prefix)
    os.makedirs(new("mine/full"))
    ran = setup(new("mine"))
    check("a folder of somebody", ran.returncode == 2 and "it is left alone" in ran.stderr, ran)
    publish(key)
    os.makedirs(new("beside.fetched/full"))
    ran = setup(new("beside"), "--keyring", key.file)
    check("a folder of somebody beside it", ran.returncode == 2 and "beside.fetched is there, and is not of rocm-perf setup" in ran.stderr and
          os.listdir(new("beside.fetched")) == ["full"], ran)
    os.makedirs(new("near.partial/full"))
    ran = setup(new("near"), "--keyring", key.file)
    check("nor another one", ran.returncode == 0 and os.listdir(new("near.partial")) == ["full"] and
          not os.path.exists(new("near.fetched")), ran)
    ran = setup(new("a:b"))
    check("a colon", ran.returncode == 2 and "without a colon" in ran.stderr, ran)
    mirror.log.clear()
    refused("no such keyring", setup(prefix, "--keyring", new("nobody.gpg")), 2, "cannot read the keyring", prefix)
    check("and nothing is asked for", not mirror.log)
    os.makedirs(new("empty"))
    publish(key)
    ran = setup(new("empty"), "--keyring", key.file)
    check("an empty folder", ran.returncode == 0, ran)


def fetchers():
    """Each program that can fetch, alone in PATH; and none."""
    publish(key)
    for name in ("curl", "wget", "python3"):
        path = shutil.which(name) if name != "python3" else "/usr/bin/python3"
        if not path or not os.path.exists(path):
            continue
        os.makedirs(new(f"bin-{name}"))
        os.symlink(path, new(f"bin-{name}/{name}"))
        os.symlink(shutil.which("gzip"), new(f"bin-{name}/gzip"))
        ran = setup(new(f"by-{name}"), "--keyring", key.file, env={"PATH": new(f"bin-{name}"), "HOME": SCRATCH})
        check(f"by {name}", ran.returncode == 0, ran)
        mirror_of = mirror.files.pop("/debian/dists/sid/InRelease")
        ran = setup(new(f"not-by-{name}"), "--keyring", key.file, env={"PATH": new(f"bin-{name}"), "HOME": SCRATCH})
        check(f"{name} finds nothing", ran.returncode == 4 and "cannot fetch http" in ran.stderr, ran)
        mirror.files["/debian/dists/sid/InRelease"] = mirror_of + bytes(40 << 20)
        refused(f"{name} and a text without end", setup(new(f"not-by-{name}"), "--keyring", key.file, env={
            "PATH": new(f"bin-{name}"), "HOME": SCRATCH}), 3, "sid/InRelease is longer than the 16777216 bytes", new(f"not-by-{name}"))
        mirror.files["/debian/dists/sid/InRelease"] = mirror_of
    hipcc = "/debian/pool/main/hipcc_7.2.4+dfsg-1~exp1_amd64.deb"
    mirror.files[hipcc] += bytes(1 << 20)
    refused("a package that is longer", setup(new("longer"), "--keyring", key.file), 3, "bytes that it should have: it is refused", new("longer"))
    mirror.files[hipcc] = mirror.files[hipcc][:-1 << 20]
    with open(new(".curlrc"), "w") as to:
        to.write("include\n")
    ran = subprocess.run([PROGRAM, "setup", "--prefix", new("secret"), "--keyring", key.file, "--mirror",
                          mirror.url.replace("//", "//me:password@")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, HOME=SCRATCH), timeout=120)
    check("a password is not shown, and .curlrc adds nothing", ran.returncode == 0 and "word" not in ran.stderr and
          f"archive, {mirror.url}\n" in ran.stderr, ran)
    os.makedirs(new("bin-none"))
    os.symlink(shutil.which("gzip"), new("bin-none/gzip"))
    if not os.path.exists("/usr/lib/apt/apt-helper"):
        ran = setup(new("by-none"), "--keyring", key.file, env={"PATH": new("bin-none"), "HOME": SCRATCH})
        check("by none", ran.returncode == 4 and "install curl, wget or python3" in ran.stderr, ran)
    else:
        ran = setup(new("by-apt"), "--keyring", key.file, env={"PATH": new("bin-none"), "HOME": SCRATCH})
        check("by apt's own", ran.returncode == 0, ran)


def first_setup():
    """What ./setup compiles, where a server's words have control characters."""
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
    with open(sources + "/setup", encoding="utf-8") as script:
        line = re.search(r'"\$compiler" -O1 (.*?) >"\$LOG"', script.read(), re.S)[1]
    subprocess.run(["bash", "-c", f"SCRATCH={SCRATCH}; ${{CC:-cc}} -O0 {line}"], cwd=sources, check=True)
    mirror.files.clear()
    mirror.reason = "\x1b]0;evil\x07"
    ran = subprocess.run([new("setup-rocm"), new("first")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={
        "PATH": new("bin-python3"), "ROCM_PERF_DEBIAN_MIRROR": mirror.url}, timeout=60)
    mirror.reason = None
    check("a server's words are escaped", ran.returncode == 4 and rb"404: \x1b]0;evil\x07" in ran.stderr and b"\x1b" not in ran.stderr, ran)


def single_packages():
    """./setup --fetch: apt takes none that Debian has not signed, and it needs a folder and a name."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../setup")
    ran = subprocess.run([script, "--fetch", new("fetched")], stderr=subprocess.PIPE, text=True)
    check("--fetch without packages", ran.returncode == 2 and "--fetch needs a folder and packages" in ran.stderr, ran)
    if not shutil.which("apt-get") or not os.path.exists("/usr/share/keyrings/debian-archive-keyring.gpg"):
        return
    publish(key)
    ran = subprocess.run([script, "--fetch", new("fetched"), "hipcc"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         timeout=120, env=dict(os.environ, ROCM_PERF_DEBIAN_MIRROR=mirror.url, ROCM_PERF_CACHE=new("fetch-cache")))
    check("--fetch from who has not Debian's key", ran.returncode == 4 and "is not signed" in ran.stderr and
          not os.listdir(new("fetched")), ran)


def killed():
    prefix = new("killed")
    for how, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        publish(key)
        mirror.delay_s = 0.3
        child = subprocess.Popen(command(prefix, "--keyring", key.file), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len([p for p in mirror.log if p.endswith(".deb")]) < 6:
            time.sleep(0.02)
        child.send_signal(how)
        said = child.communicate(timeout=60)[1]
        check(f"ended by {how.name}", child.returncode == status and not os.path.exists(prefix))
        check(f"{how.name}: one line", how == signal.SIGKILL or said.splitlines()[-1] == "rocm-perf: interrupted by SIGINT")
    time.sleep(1)  # whoever was fetching has seen it
    mirror.log.clear()
    mirror.delay_s = 0
    ran = setup(prefix, "--keyring", key.file)
    check("goes on", ran.returncode == 0 and len([p for p in mirror.log if p.endswith(".deb")]) < 15, ran)
    # Two at once: one makes it, the other waits.
    prefix = new("twice")
    publish(key)
    mirror.delay_s = 0.1
    children = [subprocess.Popen(command(prefix, "--keyring", key.file), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True) for _ in range(2)]
    said = [child.communicate(timeout=60) for child in children]
    check("two at once", all(child.returncode == 0 for child in children) and
          len([p for p in mirror.log if p.endswith(".deb")]) == 15 and any("waiting for it" in s[1] for s in said))


def as_root_only():
    """A full disk needs a file system of its own, another user needs root to become one."""
    if os.getuid() != 0:
        print("not root: no full disk, no other user")
        return
    publish(key, lambda experimental, sid: [p[4].update({"Installed-Size": 1}) for p in experimental + sid])
    small = new("small")
    os.makedirs(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], stderr=subprocess.DEVNULL).returncode == 0:
        ran = setup(small + "/rocm", "--keyring", key.file)
        subprocess.run(["umount", small], check=True)
        check("a full disk", ran.returncode == 4 and "No space left on device" in ran.stderr, ran)
    publish(key)
    # What cannot be put in the place of the old one leaves the old one.
    old = new("old")
    os.makedirs(old)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", old], stderr=subprocess.DEVNULL).returncode == 0:
        with open(old + "/.rocm-perf-prefix", "w") as to:
            to.write("format 1\n")
        ran = setup(old, "--keyring", key.file)
        left = os.listdir(old)
        subprocess.run(["umount", old], check=True)
        check("the old one stays", ran.returncode == 4 and "cannot write" in ran.stderr and left == [".rocm-perf-prefix"], ran)
    home = new("home")
    os.makedirs(home)
    os.chmod(SCRATCH, 0o755)
    for path in (PATCHED,):
        os.chmod(path, 0o666)
    os.chown(home, 65534, 65534)
    shutil.copy(PROGRAM, home)
    program, copy = PROGRAM, os.path.join(home, "rocm-perf")
    ran = subprocess.run([copy] + command(home + "/rocm", "--keyring", home + "/key.gpg")[1:], text=True, user=65534, group=65534,
                         extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE) \
        if shutil.copy(key.file, home) and not os.chmod(home + "/key.gpg", 0o644) else None
    check("as nobody", ran.returncode == 0, ran)
    ran = subprocess.run([copy] + command("/rocm-test", "--keyring", home + "/key.gpg")[1:], text=True, user=65534, group=65534,
                         extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("nobody may not write there", ran.returncode == 4 and "ermission denied" in ran.stderr, ran)
    del program


try:
    for part in (makes, refuses, lacks, fetchers, first_setup, single_packages, killed, as_root_only):
        began = time.time()
        part()
        print(f"{part.__name__}: {time.time() - began:.1f} s")
finally:
    key.end()
    other.end()
    shutil.rmtree(SCRATCH, ignore_errors=True)
print(f"{len(failures)} failed" if failures else "all right")
sys.exit(bool(failures))
