# Programs of the machine's Python on a private ROCm whose libc is newer: they load HIP, and so do the Pythons that they
# start. Everything else that they start runs with the machine's libc, as it does without rocm-perf.
. "$(dirname "$0")/../lib.sh"
rocm=$(rocm-perf doctor --json | python3 -c 'import json,sys; r = json.load(sys.stdin)["rocm"]; print(r["path"] if r["kind"] == "private" else "")')
if [ -z "$rocm" ]; then
    # An installed ROCm is of the machine's libc: nothing may be changed here.
    expect 0 rocm-perf run --device software python3 -c 'import os; assert "ROCM_PERF_DEVICE_LOADER" not in os.environ'
    exit 0
fi
expect 0 env -u PYTHONHOME python3 -c 'import os, sys; print(os.path.realpath(sys.executable))'
python=$(cat out)

# What looks for AMD's folder finds one of its layout, and rocm-perf sees which ROCm that is.
expect 0 env -u ROCM_PATH -u ROCM_HOME rocm-perf run --device software python3 -c 'import ctypes, os
assert os.environ["ROCM_HOME"] == os.environ["ROCM_PATH"]
for name in "libamdhip64.so.7", "libhiprtc.so", "libamd_comgr.so.3":
    ctypes.CDLL(os.environ["ROCM_PATH"] + "/lib/" + name)
assert not os.path.exists(os.environ["ROCM_PATH"] + "/lib/libc.so.6")
print(os.environ["ROCM_PATH"])'
says out "$rocm/opt/rocm"
expect 0 env ROCM_PATH="$rocm/opt/rocm" ROCM_HOME=/mine rocm-perf run --device software -- sh -c 'rocm-perf doctor --json; echo; echo "$ROCM_HOME"'
says out "\"path\": \"$rocm\""
says out /mine

# One device, and one kernel of a code object.
cat >twice.hip <<'EOF'
#include <hip/hip_runtime.h>
extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }
EOF
rocm-perf hipcc --genco --offload-arch=gfx942 -O3 twice.hip -o twice.co
cat >hip.py <<'EOF'
import ctypes

hip = ctypes.CDLL("libamdhip64.so.7")


def devices(_=None):
    count = ctypes.c_int()
    assert hip.hipGetDeviceCount(ctypes.byref(count)) == 0
    return count.value


def check(status):
    assert status == 0, status


def twice():
    module, kernel, at = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(hip.hipModuleLoadData(ctypes.byref(module), open("twice.co", "rb").read()))
    check(hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"twice"))
    check(hip.hipMalloc(ctypes.byref(at), 256))
    values = (ctypes.c_int * 64)(*range(64))
    check(hip.hipMemcpy(at, values, 256, 1))
    words = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(at), ctypes.c_void_p))
    check(hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, words, None))
    check(hip.hipMemcpy(values, at, 256, 2))
    assert list(values) == [2 * i for i in range(64)]


if __name__ == "__main__":
    assert ctypes.CDLL("libamdhip64.so").hipInit(0) == 0
    twice()
    print("devices", devices())
EOF
for program in python3 "$python"; do
    expect 0 rocm-perf run --device software -- "$program" hip.py
    says out 'devices 1'
done
expect 0 rocm-perf profile --device software --runs 1 --json -- python3 -m hip
json kernels out | grep -q '"twice"' || fail 'the kernel is not named'
expect 0 rocm-perf isolate --device software --kernel twice -o captured -- python3 hip.py
expect 0 rocm-perf replay full-vm --device software --capture-dir captured --iterations 1 --verify

# Where Python code launches a kernel: its own line, not that of an installed package or of Python's C code.
mkdir -p site-packages/launcher
cat >site-packages/launcher/__init__.py <<'EOF'
import ctypes

hip = ctypes.CDLL("libamdhip64.so.7")


def fill(at, value):
    assert hip.hipMemset(at, value, 4096) == 0
EOF
cat >lines.py <<'EOF'
import ctypes
import sys
import threading

sys.path.insert(0, "site-packages")
import launcher

at = ctypes.c_void_p()
assert launcher.hip.hipMalloc(ctypes.byref(at), 4096) == 0
lines = []


def both(first, second):
    lines.append(sys._getframe().f_lineno + 1)
    launcher.fill(at, first)

    for value in (second for second in [second]):
        lines.append(sys._getframe().f_lineno + 1)
        launcher.fill(at, value)


both(1, 2)
thread = threading.Thread(target=both, args=(3, 4))
thread.start()
thread.join()
# Code that is made anew each time, as of a notebook's cells, lies where the one before was.
for cell in range(1, 9):
    exec(compile("\n" * cell + "launcher.fill(at, 1)", "cell%d.py" % cell, "exec"))
assert launcher.hip.hipDeviceSynchronize() == 0
print(sys.version_info[1], *sorted(set(lines)))
EOF
expect 0 rocm-perf profile --why --device software --runs 1 -o lines -- python3 lines.py
python3 - <<'EOF' || fail "lines of calls in Python"
import glob, json, re, sqlite3
minor, *lines = map(int, re.search(r"^([0-9]+ [0-9]+ [0-9]+)$", open("out").read(), re.M)[1].split())
places = [json.loads(row[0]) for row in sqlite3.connect(glob.glob("lines/*.db")[0]).execute(
    "select line_info from rocpd_event where call_stack like '%hipMemset%' or call_stack like '%fill%'")]
found = sorted({p["line"] for p in places if p.get("function") == "both" and p["file"].endswith("/lines.py")})
cells = sorted({(p["file"].rsplit("/")[-1], p["line"]) for p in places if "cell" in p.get("file", "")})
assert not any(p.get("file", "").endswith(".c") for p in places), places
if minor in range(10, 14):
    assert cells == [("cell%d.py" % n, n + 1) for n in range(1, 9)], cells
    assert found == lines, (found, lines, places)
else:
    assert not found and not cells, (found, cells)
    print("skipped: lines of calls in Python, which are read from 3.10 to 3.13, and this is 3.%d" % minor)
EOF

# A program of the machine that loads HIP by itself, and unloads it before it ends.
cat >loads.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *hip = dlopen("libamdhip64.so", RTLD_LAZY | RTLD_LOCAL), *at = NULL;
    int (*allocate)(void **, size_t) = hip ? (int (*)(void **, size_t))dlsym(hip, "hipMalloc") : NULL;
    int (*set)(void *, int, size_t) = hip ? (int (*)(void *, int, size_t))dlsym(hip, "hipMemset") : NULL;

    if (!set || !allocate || allocate(&at, 4096) || set(at, 1, 4096))
        return 1;
    printf("unloaded %d\n", dlclose(hip));
    return 0;
}
EOF
cc loads.c -o loads -ldl || fail 'compile loads.c'
expect 0 rocm-perf run --device software -- ./loads
says out 'unloaded 0'
expect 0 rocm-perf profile --device software --runs 1 -o loads-profile -- sh -c ./loads
says out 'fillBuffer'

# One that merely has HIP's name in it starts as it is where the user says so, and where it has no device.
cat >names.c <<'EOF'
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

const char *const name = "libamdhip64.so";

int main(int argc, char **argv)
{
    struct stat is, self;
    int fd = open("/proc/self/exe", O_RDONLY);

    return stat(argv[0], &self) != 0 || fstat(fd, &is) != 0 || is.st_ino != self.st_ino ? 7 : argc - 1;
}
EOF
cc names.c -o names || fail 'compile names.c'
expect 0 ./names
expect 0 env ROCM_PERF_OWN_LOADER=other:names rocm-perf run --device software -- ./names
expect 0 env ROCM_PERF_OWN_LOADER=names rocm-perf run --device software -- sh -c './names && echo child'
says out child
expect 0 rocm-perf run --device software -- sh -c 'env -u LD_PRELOAD ./names && echo alone'
says out alone
expect 0 env ROCM_PERF_OWN_LOADER=names rocm-perf run --device software -- ./loads
says out 'unloaded 0'

# Children: those that load HIP find the device, and the others the machine's libc.
printf '#!/bin/sh\n/bin/true && grep -c "$ROCM" /proc/self/maps\nexit 9\n' >shell.sh
cat >children.py <<'EOF'
import multiprocessing
import os
import subprocess
import sys

import hip

COUNT = "import hip; print('devices', hip.devices(), flush=True)"

if __name__ == "__main__":
    assert os.environ["ROCM"] in open("/proc/self/maps").read()
    assert "LD_LIBRARY_PATH" not in os.environ
    subprocess.run(["/bin/true"], check=True)
    assert os.environ["ROCM"] not in subprocess.check_output(["cat", "/proc/self/maps"], text=True)
    assert subprocess.run(["sh", "shell.sh"], capture_output=True).stdout == b"0\n"
    assert subprocess.run(["sh", "shell.sh"], capture_output=True).returncode == 9
    subprocess.run(["cc", "-x", "c", "-", "-o", "made"], input=b"int main(void) { return 5; }", check=True)
    assert subprocess.run(["./made"]).returncode == 5
    assert subprocess.run("exit 3", shell=True).returncode == 3
    subprocess.run([sys.executable, "-c", "pass"], env={}, check=True)
    for start in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(start).Pool(1) as pool:
            assert pool.map(devices := hip.devices, [0]) == [1], start
            pool.close()
            pool.join()
    subprocess.run([sys.executable, "-c", COUNT], check=True)
    subprocess.run("exec python3 -c '%s'" % COUNT.replace("'", '"'), shell=True, check=True)
    for spawn in os.posix_spawn, os.posix_spawnp:
        assert os.waitpid(spawn(sys.executable, [sys.executable, "-c", COUNT], os.environ), 0)[1] == 0
    assert os.spawnlp(os.P_WAIT, "python3", "python3", "-c", COUNT) == 0
EOF
cat >again.py <<'EOF'
import os
import sys

import hip

assert hip.devices() == 1
os.execv(sys.executable, [sys.executable, "-c", "import hip; raise SystemExit(6 + hip.devices())"])
EOF
export ROCM="$rocm"
for program in python3 "$python"; do
    expect 0 rocm-perf run --device software -- "$program" children.py
    [ "$(grep -c '^devices 1$' out)" = 5 ] || { cat out err >&2; fail 'children without a device'; }
    [ ! -s err ] || { cat err >&2; fail 'children complain'; }
    expect 7 rocm-perf run --device software -- "$program" again.py
done

# A thread with the smallest stack that there is starts programs, too.
cat >small.c <<'EOF'
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
static int ways;
static void *start(void *file)
{
    char *const argv[] = {file, NULL};
    int status;
    pid_t pid;
    if (posix_spawn(&pid, file, NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid && status == 0)
        ways++;
    if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid && status == 0)
        ways++;
    if ((pid = fork()) == 0)
        execve(file, argv, environ);
    if (waitpid(pid, &status, 0) == pid && status == 0)
        ways++;
    return NULL;
}
int small(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &attributes, start, "/bin/true") != 0 || pthread_join(thread, NULL) != 0)
        return -1;
    return ways;
}
EOF
cc -shared -fPIC -D_GNU_SOURCE small.c -o small.so -pthread
expect 0 rocm-perf run --device software -- "$python" -c 'import ctypes, hip; hip.devices(); print("ways", ctypes.CDLL("./small.so").small())'
says out 'ways 3'

# What a program sees of itself is what it would see without the loader.
cat >self.py <<'EOF'
import os
import sys

os.chdir("/")
print(sys.executable, sys.prefix, sys.base_prefix, sys.argv, sys.flags.isolated, os.path.realpath(sys.executable))
print(os.readlink("/proc/self/exe"), os.path.realpath("/proc/self/exe"), os.readlink("/proc/%d/exe" % os.getpid()))
EOF
cp self.py env-script
sed -i '1i #!/usr/bin/env python3' env-script
cp self.py script
sed -i "1i #!$python -I" script
"$python" -m venv --without-pip venv
cp self.py venv-script
sed -i "1i #!$SCRATCH/venv/bin/python" venv-script
chmod +x env-script script venv-script
same_as_alone() {
    expect 0 "$@"
    cp out alone
    expect 0 rocm-perf run --device software -- "$@"
    cmp alone out || { cat alone out >&2; fail "$* sees something else of itself"; }
}
expect 0 rocm-perf run --device software -- python3 -c 'print(open("/proc/self/comm").read())'
says out python
same_as_alone "$python" self.py one 'two three'
same_as_alone ./env-script one
same_as_alone ./script one
same_as_alone venv/bin/python self.py
same_as_alone ./venv-script
PATH="$SCRATCH/venv/bin:$PATH" same_as_alone python3 self.py
# Where Python is found by another program's help (pyenv), that program finds it here, too.
same_as_alone python3 -c 'import sys; print(sys.prefix)'

# Libraries of the user: a folder, one that has the machine's libc, one that is loaded first, and a module with its own
# libstdc++, which is older than ROCm's.
mkdir -p mine own
printf 'int answer(void) { return 42; }\n' >mine.c
printf 'int first(void) { return 1; }\n' >first.c
printf '#include <string>\nextern "C" int letters(const char *text) { return std::string(text).size(); }\n' >letters.cc
cc -shared -fPIC mine.c -o mine/libmine.so
cc -shared -fPIC first.c -o first.so
cp "$(c++ -print-file-name=libstdc++.so.6)" own/
c++ -shared -fPIC letters.cc -o own/letters.so -Wl,--disable-new-dtags,-rpath,'$ORIGIN'
cat >libraries.py <<'EOF'
import ctypes
import os
import subprocess

assert ctypes.CDLL("own/letters.so").letters(b"word") == 4
assert ctypes.CDLL("libmine.so").answer() == 42
assert ctypes.CDLL(None).first() == 1
import hip  # noqa: E402

assert hip.devices() == 1
child = subprocess.check_output(["sh", "-c", "echo $LD_LIBRARY_PATH $LD_PRELOAD; cat /proc/self/maps"], text=True)
assert child.startswith(os.environ["LIBRARIES"] + " "), child
assert "first.so" in child and os.environ["ROCM"] not in child, child
EOF
export LIBRARIES="$SCRATCH/mine:/usr/lib/x86_64-linux-gnu:/lib64"
expect 0 env LD_LIBRARY_PATH="$LIBRARIES" LD_PRELOAD="$SCRATCH/first.so" rocm-perf run --device software -- "$python" libraries.py

# Ends of programs, and programs that are none of this.
expect 3 rocm-perf run --device software -- python3 -c 'raise SystemExit(3)'
expect 143 rocm-perf run --device software -- python3 -c 'import os; os.kill(os.getpid(), 15)'
printf 'int main(void) { return 4; }\n' >four.c
cc -static four.c -o static
expect 4 rocm-perf run --device software ./static
cp "$python" with-rights
chmod u+s with-rights
expect 0 rocm-perf run --device software ./with-rights -S -c "import os; assert os.environ['ROCM'] not in open('/proc/self/maps').read()"
if command -v node >/dev/null; then
    same_as_alone node -e 'console.log(process.execPath, require("child_process").execFileSync(process.execPath, ["-p", "6 * 7"]).toString())'
fi
printf 'echo text\n' >text
printf '#!/nowhere/python3\n' >nobody
chmod +x text nobody
expect 2 rocm-perf run --device software ./text
says err 'text is neither a program nor a script with a #! line'
expect 2 rocm-perf run --device software ./nobody
says err 'nobody cannot be executed: its interpreter /nowhere/python3 is missing'
head -c 4 "$python" >small
printf '\001\001\001' >>small
head -c 100 /dev/zero >>small
chmod +x small
expect 2 rocm-perf run --device software ./small
says err 'small is a program of 32 bits: ROCm has libraries for 64-bit x86 only; compile it for that'

# Tensile's assembler leaves the size of the arguments out of descriptors: it is in the metadata alone.
python3 - <<'EOF'
import struct
code = bytearray(open("twice.co", "rb").read())
elf = code.index(b"\x7fELF")
table, = struct.unpack_from("<Q", code, elf + 40)
size, count, names = struct.unpack_from("<HHH", code, elf + 58)
headers = [struct.unpack_from("<IIQQQQ", code, elf + table + size * i) for i in range(count)]
for header in headers:
    at = elf + headers[names][4] + header[0]
    if code[at:at + 8] == b".rodata\0":
        assert struct.unpack_from("<I", code, elf + header[4] + 8)[0] >= 8
        struct.pack_into("<I", code, elf + header[4] + 8, 0)
open("twice.co", "wb").write(code)
EOF
expect 0 rocm-perf isolate --device software --kernel twice -o unsaid -- python3 hip.py
expect 0 rocm-perf replay full-vm --device software --capture-dir unsaid --iterations 1 --verify
