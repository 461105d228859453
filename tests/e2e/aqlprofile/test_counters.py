"""Counts three kernels by the command buffers of AMD's aqlprofile, and by the built-in collector: equal, counter by counter.

usage: test_counters.py BUILD TARGET
       test_counters.py BUILD --table FILE    of all targets, as a page of docs/

Event numbers are those of src/device/driver/performance_counters.def. That the device only counts what commands ask for is
seen in the runs with aqlprofile: nothing in their environment asks for counters.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../../..")
DEVICES = {"gfx942": "gfx942:mi300x", "gfx950": "gfx950:mi350x", "gfx90a": "gfx90a:mi250x"}
KERNELS = {"add": "vector add", "lds": "LDS and atomics", "matrix": "matrix instructions"}

# How a block is called in hsa_ven_amd_aqlprofile.h, and how many of its counters there are at once.
BLOCKS = {"CPC": (0, 2), "CPF": (1, 2), "GRBM": (3, 2), "SPI": (5, 6), "SQ": (6, 8), "TA": (10, 2), "TCC": (12, 4),
          "TCP": (13, 4), "TD": (14, 2), "TCA": (11, 4)}
OTHER_BLOCKS = {"GDS": 2, "GRBM_SE": 4, "SX": 9, "MCVML2": 19, "ATC": 21, "ATCL2": 22, "GCEA": 23, "RPB": 24}
LOW_RESOLUTION, HIGH_RESOLUTION = 1, 2  # of AQLPROFILE_ACCUMULATION_*
LEVELS = ["SQ_LEVEL_WAVES", "SQ_INST_LEVEL_VMEM", "SQ_INST_LEVEL_SMEM", "SQ_INST_LEVEL_LDS"]


def text_of(name):
    with open(os.path.join(SOURCE, name)) as file:
        return file.read()


def events_of(target):
    """Block and number of each event of the target, by name."""
    column = ["gfx90a", "gfx942", "gfx950"].index(target)
    rows = re.findall(r"^EVENT\((\w+), (\w+), (\w+), (\w+), (\w+)\)$",
                      text_of("src/device/driver/performance_counters.def"), re.M)
    return {row[1]: (row[0], int(row[2 + column])) for row in rows if row[2 + column] != "NO_EVENT"}


def device_counters():
    """Kinds of the device's counters, by name."""
    return dict(re.findall(r'^COUNTER\((\w+), "\w*", (\w+),', text_of("src/arch/hardware_counters.def"), re.M))


def device_name(name):
    return name.replace("TCC_EA_", "TCC_EA0_")


def instances(block, target):
    if block in ("TCC", "TCA"):
        return 32 if target == "gfx90a" else 16
    return 16 if block in ("TA", "TD", "TCP") else 1


def passes_of(events, target):
    """Lines for the program: as many events of each block as there are counters."""
    queues = {block: [n for b, n in sorted(events.values()) if b == block] for block in BLOCKS}
    passes = []
    while any(queues.values()):
        words = []
        for block, (number, most) in BLOCKS.items():
            words += [f"{number}:{event}:{instances(block, target)}:0" for event in queues[block][:most]]
            queues[block] = queues[block][most:]
        passes.append(" ".join(words))
    return passes


def aqlprofile_prefix():
    found = subprocess.run([os.path.join(SOURCE, "setup"), "--print-aqlprofile"], capture_output=True, text=True)
    if found.returncode:
        print(found.stderr, end="")
        sys.exit(77)
    return found.stdout.strip()


def must(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command[:2]}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


class Bench:
    def __init__(self, build, target, scratch):
        self.build, self.target, self.scratch = os.path.abspath(build), target, scratch
        self.prefix = aqlprofile_prefix()
        self.code = os.path.join(scratch, f"{target}.co")
        self.program = os.path.join(scratch, f"counters_{target}")
        self.suite = os.path.join(self.build, "rocm-perf")
        self.environment = dict(os.environ, ROCM_PATH=os.environ["ROCM_PERF_ROCM"])
        self.compile("--genco", "--no-gpu-bundle-output", "-o", self.code)
        self.compile("-lhsa-runtime64", "-o", self.program)

    def compile(self, *options):
        must([self.suite, "hipcc", "-O2", f"--offload-arch={self.target}", f"-I{self.prefix}/usr/include",
              os.path.join(HERE, "counters.hip"), *options], env=self.environment)

    def counted(self, passes):
        """Sum, largest value and number of values by kernel and (block, event, flags); and standard error."""
        library = os.path.join(self.prefix, "usr/lib/x86_64-linux-gnu/libhsa-amd-aqlprofile64.so.1")
        environment = {k: v for k, v in self.environment.items() if not k.startswith("ROCM_PERF_DEVICE")}
        environment.update(LD_PRELOAD=os.path.join(self.build, "lib/librocm-perf-device.so"),
                           ROCM_PERF_DEVICE=DEVICES[self.target])
        done = must([self.program, self.code, library], input="\n".join(passes), env=environment)
        values = {}
        for line in done.stdout.splitlines():
            kernel, event, *numbers = line.split()
            values[kernel, tuple(map(int, event.split(":")))] = tuple(map(int, numbers))
        return values, done.stderr

    def collected(self, names):
        done = must([self.suite, "profile", "--device", f"software:{DEVICES[self.target]}", "--runs", "1", "--json",
                     "--pmc", ",".join(names), self.program, self.code], env=self.environment, cwd=self.scratch)
        return {k["name"]: k["counters"] for k in json.loads(done.stdout)["kernels"]}


def compare(bench):
    """Rows (name, kind, what aqlprofile's commands gave and what the collector gave by kernel); names that read 0."""
    events, kinds = events_of(bench.target), device_counters()
    both = [n for n in events if device_name(n) in kinds]
    found, told = bench.counted(passes_of(events, bench.target))
    own = bench.collected([device_name(n) for n in both])
    rows = []
    for name in both:
        block, number = events[name]
        rows.append((name, kinds[device_name(name)],
                     {k: (found[k, (BLOCKS[block][0], number, 0)][0], own[k][device_name(name)]) for k in KERNELS}))
    for kernel in KERNELS:  # what a maximum over the dies gives
        total, most, values = found[kernel, (BLOCKS["GRBM"][0], events["GRBM_GUI_ACTIVE"][1], 0)]
        assert most * values == total, (kernel, total, most, values)
    without = [n for n in events if n not in both]
    for name in without:
        block, number = events[name]
        assert all(found[k, (BLOCKS[block][0], number, 0)][0] == 0 for k in KERNELS), name
        assert told.count(f"performance counter {name} ({block} event {number}) reads 0: ") == 1, (name, told)
    for name in both:
        assert f"performance counter {name} (" not in told, (name, told)
    return rows, without


def other_blocks(bench):
    """Of these nothing is known: each is named."""
    for name, number in OTHER_BLOCKS.items():
        found, told = bench.counted([f"{number}:2:1:0"])
        assert all(value[0] == 0 for value in found.values()), (name, found)
        assert told.count(f"performance counter {name} event ") == 1, (name, told)


def levels(bench, rows):
    """A level with a counter behind it that adds it up each cycle, and each four cycles."""
    for name in LEVELS:
        number = events_of(bench.target)[name][1]
        expected = next(of for n, _, of in rows if n == name)
        for flags, cycles in ((HIGH_RESOLUTION, 1), (LOW_RESOLUTION, 4)):
            found, told = bench.counted([f"6:{number}:1:{flags} 6:4:1:0"])
            assert "reads 0" not in told, told
            for kernel in KERNELS:
                value = found[kernel, (BLOCKS["SQ"][0], number, flags)][0]
                assert value == expected[kernel][1] // cycles, (name, kernel, value, expected)


def test(build, target):
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(build, target, scratch)
        rows, without = compare(bench)
        levels(bench, rows)
        other_blocks(bench)
    other = [f"{name} of {k}: {mine} by aqlprofile, {own} by the collector"
             for name, _, of in rows for k, (mine, own) in of.items() if mine != own]
    assert not other, "\n".join(other)
    assert len(rows) > 100 and any(mine for _, _, of in rows for mine, _ in of.values())
    print(f"{target}: {len(rows)} counters equal in {len(KERNELS)} kernels, {len(without)} events without "
          "counterpart read 0")
    return rows, without


def number(value):
    return f"{value:,.0f}"


def table(build, path):
    """The page: what both gave for each counter; the last digit counts, so numbers stand there once when they are equal."""
    targets = {target: test(build, target) for target in DEVICES}
    names = []
    for rows, _ in targets.values():
        names += [device_name(n) for n, _, _ in rows if device_name(n) not in names]
    with open(path, "w") as file:
        file.write(PAGE_HEAD)
        file.write("| counter | kind | " + " | ".join(f"{t} {k}" for t in DEVICES for k in KERNELS) + " |\n")
        file.write("|---|---|" + "---:|" * (len(DEVICES) * len(KERNELS)) + "\n")
        for name in names:
            cells, kind = [], ""
            for rows, _ in targets.values():
                row = next((r for r in rows if device_name(r[0]) == name), None)
                kind = row[1].lower() if row else kind
                cells += [number(row[2][k][0]) if row else "–" for k in KERNELS]
            file.write(f"| `{name}` | {kind} | " + " | ".join(cells) + " |\n")
        file.write(PAGE_WITHOUT)
        for target, (_, without) in targets.items():
            file.write(f"\n**{target}**: {', '.join(f'`{n}`' for n in without if not n.startswith('SQ_ACCUM_PREV'))}\n")


PAGE_HEAD = """# Counters through AMD's aqlprofile

Three kernels of 64 waves on the software device, counted in two ways: by the command buffers that AMD's aqlprofile (Debian's
package, 7.2.4) makes, submitted around each kernel and read back through its own iteration over the data, added up over all
instances as rocprofv3 does; and by the built-in collector (`rocm-perf profile --pmc`). **Both give the same number for every
counter that both have**, so that it stands here once. `./check` repeats the comparison on each target
(`tests/e2e/aqlprofile`), which also writes this page. How the device does it:
[device.md](device.md#performance-counters-of-other-tools); what the kinds mean: [counters.md](counters.md#what-it-has).

"""

PAGE_WITHOUT = """
## Events without a counterpart

Tools may select them. They read 0, and each is named once on standard error.
"""

if __name__ == "__main__":
    if sys.argv[2] == "--table":
        table(sys.argv[1], sys.argv[3])
    else:
        test(sys.argv[1], sys.argv[2])
