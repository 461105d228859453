#!/usr/bin/env python3
"""usage: check_llvm.py OCCUPANCY_ROWS WORK_DIR

Compiles kernels that use chosen registers, LDS and workgroup sizes with ROCm's compiler and
compares the occupancy it reports with ours, for every architecture and wave size.

LLVM counts a workgroup's LDS to the byte while the hardware allocates granules, so the LDS sizes
here are whole granules; and it does not ask that whole workgroups fit into the waves the registers
leave, so each limit is compared by itself (test_occupancy.c has the rest).
"""
import glob
import os
import random
import re
import subprocess
import sys

KERNELS = 48
# ISA, wave size, has accumulation registers, LDS granule, SIMDs a workgroup is spread over.
TARGETS = [
    ("gfx90a", 64, True, 512, 4),
    ("gfx942", 64, True, 512, 4),
    ("gfx950", 64, True, 1280, 4),
    ("gfx1030", 32, False, 1024, 4),
    ("gfx1030", 64, False, 1024, 4),
    ("gfx1100", 32, False, 1024, 4),
    ("gfx1101", 64, False, 1024, 4),
    ("gfx1102", 32, False, 1024, 4),
    ("gfx1102", 64, False, 1024, 4),
    ("gfx1151", 32, False, 1024, 4),
    ("gfx1200", 32, False, 1024, 4),
    ("gfx1201", 32, False, 1024, 4),
    ("gfx1201", 64, False, 1024, 4),
    ("gfx1250", 32, False, 2048, 4),
]
VGPRS = [0, 1, 8, 9, 16, 24, 32, 33, 40, 48, 56, 64, 65, 72, 80, 84, 85, 96, 97, 103, 112, 120,
         128, 129, 168, 169, 192, 200, 248, 256]
AGPRS = [0, 0, 0, 1, 4, 8, 32, 64, 128, 200, 256]
SGPRS = [0, 0, 30, 60, 81, 89, 96]
LDS_BYTES = [0, 0, 1, 2000, 5000, 8192, 10000, 16384, 20480, 30000, 32768, 65536]
# gfx1250 has more of both. Assembly cannot name a register beyond v255: kernels hold values in them.
MORE_LDS_BYTES = LDS_BYTES + [40960, 100000, 163840, 327680]
MORE_VGPRS = [260, 328, 505]
BLOCKS = [32, 64, 65, 96, 128, 192, 256, 320, 384, 512, 576, 704, 768, 1000, 1024]


def compiler():
    root = os.environ.get("ROCM_PERF_ROCM", "")
    if not root:
        sys.exit("check_llvm.py: ROCM_PERF_ROCM is not set; run ./setup")
    for pattern in ("usr/lib/llvm-*/bin/clang++", "lib/llvm/bin/clang++", "llvm/bin/clang++"):
        found = sorted(glob.glob(os.path.join(root, pattern)))
        if found:
            return found[-1]
    sys.exit(f"check_llvm.py: no clang++ below {root}")


def known_targets(clang):
    return subprocess.run([clang, "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"],
                          capture_output=True, text=True, check=False).stderr.split()


def choose(rng, target):
    """Resources that one workgroup of that size can have."""
    isa, wave, accumulates, granule, simds = target
    all_lds = MORE_LDS_BYTES if isa == "gfx1250" else LDS_BYTES
    block = rng.choice(BLOCKS)
    waves_per_simd = -(-(-(-block // wave)) // simds)
    file_size = 512 if wave == 64 else 1024
    most = file_size // waves_per_simd // 16 * 16
    vgpr = min(rng.choice(VGPRS), most, 256)
    agpr = min(rng.choice(AGPRS), max(0, most - max(16, -(-vgpr // 4) * 4))) if accumulates else 0
    lds = min(-(-rng.choice(all_lds) // granule) * granule, max(all_lds) // granule * granule)
    return vgpr, agpr, rng.choice(SGPRS), lds, block


def holding(number, values, block):
    """A kernel that holds so many values at once, each in a register of its own."""
    loop = f"_Pragma(\"clang loop unroll(full)\") for (int i = 0; i < {values}; i++) "
    return (f"extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({block},{block}), "
            f"amdgpu_waves_per_eu(1))) void k{number}(volatile int *p) {{ int x[{values}]; "
            f"{loop}x[i] = p[i * 64]; __asm__ volatile(\"\" ::: \"memory\"); {loop}p[i * 64] = x[i]; }}")


def source(rows):
    lines = []
    for number, (vgpr, agpr, sgpr, lds, block) in enumerate(rows):
        used = [f'"{kind}{n - 1}"' for kind, n in (("v", vgpr), ("a", agpr), ("s", sgpr)) if n]
        body = ""
        if lds:
            body = (f"__attribute__((shared)) static char bytes[{lds}];"
                    ' __asm__ volatile("" ::"v"(bytes)); ')
        if vgpr > 256:
            lines.append(holding(number, vgpr, block))
            continue
        lines.append(f"extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({block},"
                     f"{block}), amdgpu_waves_per_eu(1))) void k{number}() {{ {body}"
                     f"__asm__ volatile(\"\" ::: {', '.join(used) or chr(34) + 'memory' + chr(34)});"
                     " }")
    return "\n".join(lines) + "\n"


def compile_rows(clang, target, rows, work_dir):
    isa, wave = target[:2]
    name = os.path.join(work_dir, f"{isa}_{wave}")
    with open(name + ".hip", "w", encoding="utf-8") as file:
        file.write(source(rows))
    command = [clang, "-x", "hip", f"--offload-arch={isa}", "--cuda-device-only",
               "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-O3", "-S",
               "-o", name + ".s", name + ".hip"]
    if isa.startswith("gfx1") and wave == 64:
        command.insert(1, "-mwavefrontsize64")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"check_llvm.py: {' '.join(command)}\n{done.stderr[:2000]}")
    with open(name + ".s", encoding="utf-8") as file:
        return file.read()


def reported(listing, target, rows):
    """Per kernel: the row for occupancy_rows and the occupancy LLVM reports."""
    isa, wave, accumulates = target[:3]
    parts = re.split(r"; -- Begin function k(\d+)", listing)
    for number, body in zip(parts[1::2], parts[2::2]):
        def field(key, text=body):
            return int(re.search(rf"; {key}: (\d+)", text).group(1))
        agpr = field("NumAgprs") if accumulates else 0
        sgpr = field("TotalNumSgprs") if accumulates else 128
        yield (f"{isa} {field('NumVgprs')} {agpr} {sgpr} {field('LDSByteSize')} "
               f"{rows[int(number)][4]} {wave}", field("Occupancy"))


def main(args):
    occupancy_rows, work_dir = args
    os.makedirs(work_dir, exist_ok=True)
    clang = compiler()
    rng = random.Random(2026)
    compared = failures = 0
    known = known_targets(clang)
    for target in TARGETS:
        if target[0] not in known:
            print(f"{target[0]} is skipped: {clang} does not know it")
            continue
        rows = [choose(rng, target) for _ in range(KERNELS)]
        if target[0] == "gfx1250":
            rows[:len(MORE_VGPRS)] = [(vgpr, 0, 0, 0, 128) for vgpr in MORE_VGPRS]
        pairs = list(reported(compile_rows(clang, target, rows, work_dir), target, rows))
        text = "\n".join(row for row, _ in pairs) + "\n"
        ours = subprocess.run([occupancy_rows], input=text, capture_output=True, text=True,
                              check=True).stdout.split()
        if len(ours) != KERNELS:
            sys.exit(f"check_llvm.py: {len(ours)} answers for {KERNELS} kernels of {target[0]}")
        for (row, llvm), mine in zip(pairs, ours):
            compared += 1
            if int(mine) != llvm:
                print(f"{row}: LLVM says {llvm} waves per SIMD, we say {mine}")
                failures += 1
    print(f"{compared} kernels compared, {failures} differ")
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
