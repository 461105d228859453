#!/usr/bin/env python3
"""`rocm-perf analyze` on traces whose GPUs have other clocks than the host, or ends that are late.

usage: clocks.py ROCM_PERF SCHEMA FOLDER [PREFIX]
PREFIX: digits before the seeds of the generator, for programs that nobody has looked at.
The answers of gen_trace.py hold whatever the clocks: what is moved or clipped is counted, by how much is
said, and makespan and what-ifs are those of the program.
"""
import sys

import traps

US, MS, S, HOUR = 10**3, 10**6, 10**9, 3600 * 10**9
LAUNCH, WAKE = 5000, 8000  # of the generator: clocks that differ by less contradict nothing
# One shift of the clock that agrees with all calls is as good as another: the trace tells how long launch and wake-up
# take together, not each. A what-if that ends at another kind of them is off by some such delays.
EITHER = 0.005


class Seeded(traps.Run):
    def __init__(self, program, schema, folder, prefix=""):
        super().__init__(program, schema, folder)
        self.prefix = prefix

    def generate(self, *options):
        at = options.index("--seed") + 1
        super().generate(*options[:at], self.prefix + options[at], *options[at + 1:])


def shift(r, by, drift_ppm=0):
    """The GPU's clock is ahead by that much, and gains on the host's."""
    change = " + ".join(["{0}", str(by), f"({{0}} - 1000000000000) * {drift_ppm} / 1000000"])
    for table in ("{kernel_dispatch}", "{memory_copy}"):
        r.spoil(r.files[0], f"UPDATE {table} SET start = {change.format('start')}, end = {change.format('end')}")


def shifts(r):
    for by in (1, 20, US, 9 * US, 60 * US, MS, S, 5 * S, HOUR):
        for sign in (1, -1):
            by = by if sign > 0 else min(by, 900 * S)  # the generator's times begin at 1000 s
            what = f"GPU clock {sign * by} ns ahead"
            r.generate("-n", "1000", "--seed", "4", "--warm")
            shift(r, sign * by)
            r.analyze()
            r.near(what, EITHER)
            p, repairs = r.got["processes"][0], r.got["repairs"]
            slack = WAKE if sign > 0 else LAUNCH if by < 50 * US else -WAKE
            r.expect(what, p["clock_ahead_ns"] == sign * max(0, by - slack) and p["moved_ns"] == max(0, by - slack), p)
            r.expect(what, repairs["moved_clocks"] == (by > slack) and repairs["clipped_ends"] == 0, repairs)
            r.expect(what, p["clocks_apart"] == (by - slack >= 50 * US) and not p["clocks_contradict"], p)
            r.expect(what, r.got["overlap"]["kernel_time_ns"] == r.oracle["kernel_time_ns"], r.got["overlap"])


def drifts(r):
    for ppm in (-300, -50, 50, 300):
        what = f"GPU clock gains {ppm} us a second"
        r.generate("-n", "6000", "--seed", "5", "--warm", "--host-gap-ns", "150000")
        shift(r, 2 * S, ppm)
        r.analyze()
        r.near(what, 0.001)
        p = r.got["processes"][0]
        r.expect(what, abs(p["clock_ahead_ns"] - 2 * S) < MS and not p["clocks_contradict"], p)


def gpus_apart(r):
    """Two GPUs in a process, each with a clock of its own."""
    r.generate("-n", "1000", "--seed", "6", "--warm")
    r.spoil(r.files[0], "UPDATE {kernel_dispatch} SET agent_id = 2 WHERE queue_id > 2",
            "UPDATE {memory_copy} SET dst_agent_id = 2, src_agent_id = 0 WHERE stream_id % 4 IN (2, 3)")
    shift(r, 3 * S)
    r.spoil(r.files[0], "UPDATE {kernel_dispatch} SET start = start - 7000000000, end = end - 7000000000 WHERE agent_id = 2",
            "UPDATE {memory_copy} SET start = start - 7000000000, end = end - 7000000000 WHERE dst_agent_id = 2")
    r.analyze()
    r.near("two GPUs", 0.002)
    r.expect("two GPUs", r.got["repairs"]["moved_clocks"] == 2, r.got["repairs"])


def outliers(r):
    late = "UPDATE {kernel_dispatch} SET end = end + %d WHERE id = %d"
    for by in (30 * US, MS, S, HOUR):
        for row in (500, 1000):  # the last: only calls say that it is late
            what = f"one end {by} ns late, kernel {row}"
            r.generate("-n", "1000", "--seed", "7", "--warm")
            r.spoil(r.files[0], late % (by, row))
            r.analyze()
            # Nothing waits for the last one but a call that takes longer than 30 us: nobody can tell.
            unseen = by == 30 * US and row == 1000
            r.near(what, by / min(w["makespan_ns"] for w in r.oracle["whatif"]) if unseen else 0.001)
            repairs = r.got["repairs"]
            if unseen:
                continue
            counted = (repairs["clipped_ends"], repairs["late_ends"])
            # 30 us may be less than the kernel itself: late, but what it lasted can be.
            r.expect(what, counted in ([(0, 1), (1, 0)] if by == 30 * US else [(1, 0)]) and repairs["moved_clocks"] == 0 and
                     0 < repairs["clipped_by_ns"] + repairs["late_by_ns"] <= by, repairs)
    r.generate("-n", "1000", "--seed", "7", "--warm")
    r.spoil(r.files[0], "UPDATE {memory_copy} SET end = end + 1000000000 WHERE id = 20")
    r.analyze()
    r.near("one copy late", 0.001)
    r.expect("one copy late", r.got["repairs"]["clipped_ends"] == 1, r.got["repairs"])
    r.generate("-n", "1000", "--seed", "7", "--warm")
    r.spoil(r.files[0], "UPDATE {kernel_dispatch} SET start = start - 100000000000 WHERE id = 601")
    r.analyze()
    r.near("one start early", 0.001)
    r.expect("one start early", r.got["repairs"]["clipped_ends"] == 1 and r.got["repairs"]["moved_clocks"] == 0, r.got["repairs"])


def stamped_late(r):
    """Every end up to 600 ns behind the next start: durations, and with them the sum, are as recorded."""
    r.generate("-n", "1000", "--seed", "8", "--warm", "--dispatch-gap-ns", "0")
    r.spoil(r.files[0], "UPDATE {kernel_dispatch} SET end = end + 300")
    r.analyze()
    r.near("all ends late", 0.005)
    r.expect("all ends late", r.got["overlap"]["kernel_time_ns"] == r.oracle["kernel_time_ns"] + 300 * 1000, r.got["overlap"])
    r.expect("all ends late", r.got["repairs"]["clipped_ends"] == 0 and r.got["repairs"]["late_by_ns"] in range(1, 301), r.got["repairs"])


def main():
    r = Seeded(*sys.argv[1:4], *sys.argv[4:5])
    for test in (shifts, drifts, gpus_apart, outliers, stamped_late):
        test(r)
    r.remove()
    print("\n".join(r.wrong)[:4000] or "all clocks are handled")
    sys.exit(bool(r.wrong))


if __name__ == "__main__":
    main()
