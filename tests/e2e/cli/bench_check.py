"""bench_check.py FILE NAME...: the file of bench has these measurements, and each is what the model says.

5 % is what the difference of two launches may be off: durations are whole ticks of 10 ns, of some 2 microseconds at least, and
a chase of the LDS has a few instructions of its own loop."""
import json, sys

NEAR = (-0.05, 0.05)
# What the model does not give back, and why.
OTHERWISE = {
    # An empty kernel fetches its code, which is in no cache.
    "launch": (0, 0.3),
    # Turning from reads to writes costs a memory time.
    "hbm_copy": (-0.15, 0.05),
    # Lines that several compute units read at about the same time come faster.
    "l2_read": (-0.05, 0.3),
    # Where a SIMD has two ports the oldest wave of each goes first. So the last one ends alone, and alone it does not fill its port.
    "fma_f32": (-0.08, 0.05),
    # Its six dies take less through their ports than the memory gives.
    ("AMD Instinct MI300A", "hbm_read"): (-0.1, 0.05),
    ("AMD Instinct MI300A", "hbm_write"): (-0.15, 0.05),
    ("AMD Instinct MI300A", "hbm_copy"): (-0.2, 0.05),
    # A channel serves reads and writes in the order in which they are asked for: a write waits for a read that comes later.
    ("AMD Instinct MI250X", "hbm_copy"): (-0.35, 0.05),
}
# Nobody has published anything of these: the model has no constant.
WITHOUT = {
    "AMD Instinct MI250X": {"atomics", "atomics_one_word", "peer"},
    "AMD Instinct MI300A": {"atomics", "atomics_one_word", "host_to_device", "device_to_host"},
}

document = json.load(open(sys.argv[1]))
product = document["gpu"]["product"]
without = WITHOUT.get(product, {"atomics", "atomics_one_word"})
rows = {row["name"]: row for row in document["measurements"]}
bad = sorted(set(rows) ^ set(sys.argv[2:]))
for name, row in rows.items():
    low, high = OTHERWISE.get((product, name)) or OTHERWISE.get(name) or NEAR
    if row["median"] is None:
        good = row["reason"] and (row["expected"] is None or name == "peer")
    elif row["expected"] is None:
        good = name in without
    else:
        good = low <= row["median"] / row["expected"] - 1 <= high and row["least"] == row["most"]
    if not good:
        bad.append(row)
for one in bad:
    print(one)
sys.exit(bool(bad))
