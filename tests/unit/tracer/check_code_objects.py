#!/usr/bin/env python3
"""usage: check_code_objects.py CODE_ROWS WORK_DIR

Compiles kernels that use chosen registers and LDS for every GPU of the tables with ROCm's compiler,
and compares what we read from the code objects with what the compiler says that it wrote.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analyze"))
from check_llvm import compiler, known_targets

# ISA, wave size, registers that the descriptor counts as one, scalar registers (0: as used).
TARGETS = [
    ("gfx908", 64, 4, 0),
    ("gfx90a", 64, 8, 0),
    ("gfx942", 64, 8, 0),
    ("gfx950", 64, 8, 0),
    ("gfx1030", 32, 8, 128),
    ("gfx1100", 64, 4, 128),
    ("gfx1101", 32, 8, 128),
    ("gfx1102", 64, 4, 128),
    ("gfx1151", 32, 8, 128),
    ("gfx1200", 32, 8, 128),
    ("gfx1201", 64, 4, 128),
    ("gfx1250", 32, 16, 128),
]
KERNELS = [(1, 0), (41, 1000), (201, 4096), (256, 65536)]


def source():
    lines = []
    for number, (vgprs, lds) in enumerate(KERNELS):
        array = (f"__attribute__((shared)) static char bytes[{lds}]; "
                 '__asm__ volatile("" ::"v"(bytes)); ') if lds else ""
        lines.append('extern "C" __attribute__((global, amdgpu_flat_work_group_size(64,64), '
                     f"amdgpu_waves_per_eu(1))) void k{number}() {{ {array}"
                     f'__asm__ volatile("" ::: "v{vgprs - 1}"); }}')
    return "\n".join(lines) + "\n"


def compiled(clang, isa, wave, name, *options):
    command = [clang, "-x", "hip", f"--offload-arch={isa}", "--cuda-device-only",
               "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O3", *options,
               name + ".hip"]
    if isa.startswith("gfx1") and wave == 64:
        command.insert(1, "-mwavefrontsize64")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"check_code_objects.py: {' '.join(command)}\n{done.stderr[:2000]}")


def main(args):
    code_rows, work_dir = args
    os.makedirs(work_dir, exist_ok=True)
    clang = compiler()
    known = known_targets(clang)
    compared = failures = 0
    for isa, wave, unit, sgprs in TARGETS:
        if isa not in known:
            print(f"{isa} is skipped: {clang} does not know it")
            continue
        name = os.path.join(work_dir, isa)
        with open(name + ".hip", "w", encoding="utf-8") as file:
            file.write(source())
        compiled(clang, isa, wave, name, "-S", "-o", name + ".s")
        compiled(clang, isa, wave, name, "-o", name + ".co")
        with open(name + ".s", encoding="utf-8") as file:
            parts = re.split(r"; -- Begin function k(\d+)", file.read())
        ours = subprocess.run([code_rows, name + ".co"] + ["k" + n for n in parts[1::2]],
                              capture_output=True, text=True, check=True).stdout.splitlines()
        for row, body in zip(ours, parts[2::2]):
            said = {key: int(re.search(rf"; {key}: (\d+)", body).group(1))
                    for key in ("NumVgprs", "VGPRBlocks", "LDSByteSize")}
            target, waves, vgprs, lds, granted, scalars, lanes = row.split()
            compared += 1
            if (target.split(":")[0] != isa or int(waves) != wave or int(lanes) != wave or
                    int(vgprs) < said["NumVgprs"] or int(lds) != said["LDSByteSize"] or
                    (isa != "gfx908" and int(granted) != unit * (said["VGPRBlocks"] + 1)) or
                    int(granted) < said["NumVgprs"] or (sgprs and int(scalars) != sgprs)):
                print(f"{isa}: we read {row}; the compiler says {said}")
                failures += 1
    print(f"{compared} kernels compared, {failures} differ")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
