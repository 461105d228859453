"""Traces kernels by the command buffers of AMD's aqlprofile, and adds up what the streams say of each instruction: the same
as --deep-analysis of the same program.

usage: test_thread_trace.py BUILD TOKEN_SUMS TARGET

How often each instruction is executed is equal. Times are equal as far as the format can say them (docs/device.md): it rounds
them to four clocks, and does not say when an instruction that needs no unit began. If AMD's decoder is here
($ROCPROF_ATT_LIBRARY_PATH, or in the ROCm), it must say the same of the streams as the tests' own reader, clock by clock.
"""
import csv
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../../..")
DEVICES = {"gfx942": "gfx942:mi300x", "gfx950": "gfx950:mi350x", "gfx90a": "gfx90a:mi250x"}
# Kernel of the program, its symbol, and the shader engines that are traced.
KERNELS = [("loop", "loop", 0x1), ("tiles", "tiles", 0x11), ("calls", "calls", 0x1)]
WAITS = ("s_waitcnt", "s_nop", "s_barrier", "s_sleep")
MESSAGES = ("s_endpgm", "s_sendmsg")
DECODER = "librocprof-trace-decoder.so"
BUFFER, SMALL_BUFFER = 96 << 20, 389120  # the small one leaves 128 KiB to an engine
OUT_OF_RESOURCES = 0x1008


def must(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command[:3]}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def aqlprofile_prefix():
    found = subprocess.run([os.path.join(SOURCE, "setup"), "--print-aqlprofile"], capture_output=True, text=True)
    if found.returncode:
        print(found.stderr, end="")
        sys.exit(77)
    return found.stdout.strip()


def decoder():
    folders = [os.environ.get("ROCPROF_ATT_LIBRARY_PATH", ""), os.path.join(os.environ["ROCM_PERF_ROCM"], "lib"), "/opt/rocm/lib"]
    found = [f for f in (os.path.join(folder, DECODER) for folder in folders if folder) if os.path.exists(f)]
    return found[0] if found else None


class Stream:
    """What token_sums says: lines of instructions by distance from the kernel, registers in order, the rest."""

    def __init__(self, text):
        self.text = text
        self.rows, self.registers = {}, []
        for line in text.splitlines():
            if "|" in line:
                distance, isa, *numbers = line.split("|")
                self.rows[int(distance)] = (isa, *map(int, numbers))
            elif line.startswith("register"):
                self.registers.append(tuple(int(word, 16) for word in line.split()[1:]))
        self.waves, self.instructions, self.unknown = map(int, re.search(
            r"^waves (\d+) instructions (\d+) unknown (\d+)$", text, re.M).groups())


class Bench:
    def __init__(self, build, sums, target, scratch):
        self.sums, self.target, self.scratch = os.path.abspath(sums), target, scratch
        self.prefix = aqlprofile_prefix()
        self.libraries = os.path.join(self.prefix, "usr/lib/x86_64-linux-gnu")
        self.suite = os.path.join(os.path.abspath(build), "rocm-perf")
        self.device = ["--device", f"software:{DEVICES[target]}"]
        self.program = os.path.join(scratch, "thread_trace")
        must([self.suite, "hipcc", "-O2", f"--offload-arch={target}", f"-I{self.prefix}/usr/include",
              os.path.join(HERE, "thread_trace.hip"), "-o", self.program])

    def traced(self, kernel, buffer, engines):
        """Standard output of the program, and the streams with the memory of the code."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        environment = dict(os.environ, LD_LIBRARY_PATH=self.libraries)
        library = os.path.join(self.libraries, "libhsa-amd-aqlprofile64.so.1")
        done = must([self.suite, "run", *self.device, self.program, kernel, library, folder, str(buffer), hex(engines)],
                    env=environment)
        return done.stdout, [os.path.join(folder, "code"), *sorted(glob.glob(folder + "/engine-*.att"))]

    def summed(self, files, *options):
        return Stream(must([self.sums, self.target, *files, *options]).stdout)

    def analysed(self, kernel, symbol, engines):
        """Rows of the instructions by distance from the kernel, as the built-in collector leaves them."""
        result = tempfile.mkdtemp(dir=self.scratch) + "/result"
        must([self.suite, "profile", *self.device, "--deep-analysis", "--runs", "1", "--att-target-cu", "1",
              "--att-shader-engine-mask", hex(engines), "--att-simd-select", "0xf", "--kernel-include-regex", f"^{symbol}\\(",
              "--kernel-iteration-range", "[1]", "-o", result, self.program, kernel])
        (name,) = glob.glob(result + "/**/stats_ui_output_*.csv", recursive=True)
        with open(name) as file:
            rows = list(csv.DictReader(file))
        (entry,) = [int(r["Vaddr"]) for r in rows if r["Instruction"].startswith(";") and
                    re.match(rf"{symbol}\(", r["Source"])]
        return {int(r["Vaddr"]) - entry: r for r in rows if not r["Instruction"].startswith(";") and int(r["Hitcount"])}


def compare(stream, own):
    """Of each instruction: executions, and times as far as the stream has them."""
    assert stream.unknown == 0 and stream.instructions == sum(row[1] for row in stream.rows.values())
    assert stream.rows.keys() == own.keys(), stream.rows.keys() ^ own.keys()
    totals = [0, 0, 0, 0]
    for distance, (isa, executions, latency, stall) in stream.rows.items():
        row = own[distance]
        hits, own_latency, own_stall = (int(row[name]) for name in ("Hitcount", "Latency", "Stall"))
        what = (distance, isa, executions, latency, stall, row)
        assert executions == hits, what
        if isa.startswith(WAITS):
            # It begins where the one before it ended, and is a stall: idle time before it counts.
            assert stall == latency, what
            assert abs(latency - own_latency - int(row["Idle"])) <= 4 * hits, what
            continue
        if isa.startswith("s_endpgm"):
            own_latency += 4 * hits
        assert abs(latency - own_latency) <= 4 * hits and abs(stall - own_stall) <= 4 * hits, what
        for i, number in enumerate((latency, own_latency, stall, own_stall)):
            totals[i] += number
    latency, own_latency, stall, own_stall = totals
    assert abs(latency - own_latency) <= own_latency / 50 and abs(stall - own_stall) <= own_latency / 50, totals
    return totals


def known_to_amd(stream):
    """AMD's binary (0.1.6) lets a message begin where the instruction before it ended, its published source does not."""
    return {at: row[:2] if row[0].startswith(MESSAGES) else row for at, row in stream.rows.items()}


def user_data(stream):
    """What is written to USERDATA_2, and the clock to USERDATA_3, as decoders need it."""
    data = [value for register, value in stream.registers if register == 0xC342]
    assert data[0] == 0x434F5200, data
    words = dict(zip(data[3::2], data[4::2]))
    assert (words[0x204], words[0x304], words[0x104], words[0x404], words[0x4]) == (0x23456000, 0x1, 0x2000, 0, 7 << 2 | 0), data
    clock = [value for register, value in stream.registers if register == 0xC343]
    assert len(clock) == 8 and clock[0] == clock[4] == 5, clock
    assert clock[5] > clock[1] and clock[6] == clock[2] == 0 and (clock[3], clock[7]) == (clock[1], clock[5]), clock


def overflow(bench):
    """A buffer that is too small: aqlprofile says so, and what is there is the beginning."""
    said, files = bench.traced("long", SMALL_BUFFER, 1)
    assert f"status {OUT_OF_RESOURCES:#x}\n" in said, said
    assert os.path.getsize(files[1]) == 8 + (128 << 10), said
    part, whole = bench.summed(files), bench.summed(bench.traced("long", BUFFER, 1)[1])
    assert 5000 < part.instructions < whole.instructions, (part.instructions, whole.instructions)
    assert all(row[1] <= whole.rows[at][1] for at, row in part.rows.items())


def main(build, sums, target):
    os.environ["ROCM_PATH"] = os.environ["ROCM_PERF_ROCM"]
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(build, sums, target, scratch)
        amd = decoder()
        for kernel, symbol, engines in KERNELS:
            said, files = bench.traced(kernel, BUFFER, engines)
            assert "status 0x0\n" in said, said
            assert len(files) == 1 + bin(engines).count("1"), files
            stream = bench.summed(files)
            latency, own_latency, stall, own_stall = compare(stream, bench.analysed(kernel, symbol, engines))
            if kernel == "loop":
                user_data(stream)
            if amd:
                decoded = bench.summed(files, "--decoder", amd)
                assert known_to_amd(decoded) == known_to_amd(stream) and "info" not in decoded.text, decoded.text
            print(f"{target} {kernel}: {stream.waves} waves, {stream.instructions} instructions, of those with a unit latency "
                  f"{latency} ({own_latency}), stall {stall} ({own_stall}){', AMD the same' if amd else ''}")
        overflow(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])
