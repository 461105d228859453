"""Answers to further questions about a trace of gen_trace.py, from the graph that it was made of.

Written for clearness, not speed, and apart from the program that it checks.
"""
from array import array

DUR, GAP, LAUNCH, STREAM, QUEUE, EVENT, SYNC, NULLS, COLL = range(9)
PART = {GAP: "host_gap", LAUNCH: "launch", STREAM: "stream", QUEUE: "queue", EVENT: "event", SYNC: "sync",
        NULLS: "null_stream", COLL: "collective"}
STARTS_WORK = ("hipLaunchKernel", "hipGraphLaunch", "hipMemcpyAsync")
CAPTURABLE = STARTS_WORK + ("hipEventRecord", "hipStreamWaitEvent")


def ranges(a, end, threads):
    """ROCTx ranges (thread or None, start, end, message): nested ones on even threads, one of the whole process."""
    span = (end - a.t0) // 7
    # The PyTorch profiler has none of the whole process.
    # Those of a process end in any order: requests that overlap begin and end one after the other.
    out = [] if a.kineto else [(None, a.t0 + span, end - span // 3, "process")] + \
        [(None, a.t0 + k * span // 40, a.t0 + k * span // 40 + 2 * span + k, "request %d" % (k % 5)) for k in range(100)]
    for tid in range(0, threads, 2):
        for k in range(7):
            start = a.t0 + k * span
            out.append((tid, start, start + span - span // 5, "phase %d" % (k % 3)))
            out.append((tid, start + span // 4, start + span // 2, "inner"))
            # It begins with the phase, and is around it.
            out.append((tid, start, start + span - span // 6, "step"))
    return out


class Answers:
    def __init__(self, sim, end, prio):
        self.g, self.act, self.t0, self.end, self.prio = sim.g, sim.act, sim.a.t0, end, prio
        self.duration_of = {x[9]: x for x in self.act}
        self.finisher = {x[8]: x for x in self.act if x[0] in "KC"}
        self.starter = {x[7]: x for x in self.act if x[0] in "KC"}
        self.caller = {x[7]: x for x in self.act if x[0] == "A"}
        self.ranges = ranges(sim.a, end, sim.a.threads)

    def binding(self, p):
        """(edge, point before it) that determines the time of a point, None for the start."""
        g, best, key = self.g, None, None
        for e in range(g.ptr[p], g.ptr[p + 1]):
            u = g.idx[e]
            k = (-(g.t[u] + g.w[e]), self.prio[g.cls[e]], u)
            if key is None or k < key:
                best, key = (e, u), k
        return best

    def part(self, e):
        """Class and name that an edge's time belongs to."""
        x = self.duration_of.get(e)
        if self.g.cls[e] == DUR and x:
            return {"K": "kernel", "C": "copy", "A": "host_api"}[x[0]], x[3]
        return PART[self.g.cls[e]], "[%s]" % PART[self.g.cls[e]]

    def makespan(self, changed, dropped=()):
        """With other weights for some edges, and without some."""
        w = array("q", self.g.w)
        for e, weight in changed.items():
            w[e] = weight
        for e in dropped:
            w[e] = -(1 << 60)
        return max(self.g.forward(w)) - self.t0

    # --- limits ------------------------------------------------------------------------------

    def edges_of(self, *classes):
        return [e for e in range(len(self.g.w)) if self.g.cls[e] in classes and e not in self.duration_of]

    def captured(self):
        """Gaps before calls and the calls themselves that one graph launch would save."""
        edges, in_chain = [], {}
        for x in self.act:
            if x[0] != "A":
                continue
            thread = (x[1], x[2])
            if in_chain.get(thread) and x[3] in CAPTURABLE:
                edges += [self.g.ptr[x[7]], x[9]]
            in_chain[thread] = x[3] in CAPTURABLE
        return edges

    def limits(self):
        kernels = [x[9] for x in self.act if x[0] == "K"]
        copies = [x[9] for x in self.act if x[0] == "C"]
        calls = [x[9] for x in self.act if x[0] == "A"]
        gaps = self.edges_of(GAP)
        free = {"gpu_infinitely_fast": kernels + copies, "no_host_gap": gaps, "no_host_time": gaps + calls,
                "no_launch_delay": self.edges_of(LAUNCH), "no_wake_delay": self.edges_of(SYNC), "no_copies": copies,
                "graph_capture": self.captured()}
        return {name: self.makespan({e: 0 for e in edges}) for name, edges in free.items()}

    def true_span(self):
        work = set(x[9] for x in self.act if x[0] in "KC")
        g = self.g
        return self.makespan({e: 0 for e in range(len(g.w)) if e not in work},
                             [e for e in range(len(g.w)) if g.cls[e] == QUEUE])

    # --- pairs -------------------------------------------------------------------------------

    def blocker(self, p):
        """The operation whose end a packet is behind, through markers; None when it is the host."""
        while p not in self.finisher:
            step = self.binding(p)
            if step is None or self.g.cls[step[0]] in (LAUNCH, GAP, DUR):
                return None
            p = step[1]
        return p

    def pairs(self):
        g = self.g
        unshared = g.forward(g.w, QUEUE)
        waits = {}
        for p, x in self.starter.items():
            if x[0] != "K":
                continue
            for e in range(g.ptr[p], g.ptr[p + 1]):
                if g.cls[e] != QUEUE:
                    continue
                others = [g.t[g.idx[o]] + g.w[o] for o in range(g.ptr[p], g.ptr[p + 1]) if o != e]
                held = g.t[p] - max(others)
                first = self.blocker(g.idx[e]) if held > 0 else None
                if first is None or self.finisher[first][0] != "K" or unshared[p] >= unshared[first]:
                    continue
                waits.setdefault((self.finisher[first][3], x[3]), []).append((e, held))
        longest = sorted(waits.items(), key=lambda kv: (-sum(h for _, h in kv[1]), kv[0]))[:8]
        out = [{"first": a, "second": b, "count": len(w), "waited_ns": sum(h for _, h in w),
                "gain_ns": self.end - self.t0 - self.makespan({}, [e for e, _ in w])} for (a, b), w in longest]
        return sorted(out, key=lambda p: (-p["gain_ns"], -p["waited_ns"], p["first"], p["second"]))

    # --- ranges ------------------------------------------------------------------------------

    def range_at(self, tid, t):
        """The range with the latest start around a time, the shortest of these: of the thread, else of the process."""
        for wanted in (tid, None):
            around = [(start, -end, name) for thread, start, end, name in self.ranges if thread == wanted and start <= t < end]
            if around:
                return max(around)[2]
        return None

    def pieces(self, tid, since, until):
        """A stretch of time, cut where a range of the thread or of the process begins or ends."""
        cuts = {t for thread, start, end, _ in self.ranges if thread in (tid, None) for t in (start, end) if since < t < until}
        edges = [since, *sorted(cuts), until]
        return [(a, b) for a, b in zip(edges, edges[1:]) if a < b]

    def host_of(self, e, to):
        """The call that an edge is time of: itself, or the gap before it."""
        x = self.duration_of.get(e) if self.g.cls[e] == DUR else self.caller.get(to) if self.g.cls[e] == GAP else None
        return x if x and x[0] == "A" else None

    def add_range(self, out, e, to, since, until):
        """Host time goes to the innermost range of each moment."""
        x = self.host_of(e, to)
        for a, b in self.pieces(x[2], since, until) if x else ():
            name = self.range_at(x[2], a)
            if name:
                out[name] = out.get(name, 0) + b - a

    def path_ranges(self):
        out, p = {}, min(i for i in range(len(self.g.t)) if self.g.t[i] == self.end)
        while (step := self.binding(p)) is not None:
            self.add_range(out, step[0], p, self.g.t[step[1]], self.g.t[p])
            p = step[1]
        return out

    def ranges_around(self, tid, t):
        """(innermost name, all names) of the ranges of the thread and the process that are open at a time."""
        return self.range_at(tid, t), {name for thread, start, end, name in self.ranges if thread in (tid, None) and start <= t < end}

    def range_sums(self):
        """By name of a range: what was launched in it, and how much of the path it has."""
        g, out, calls = self.g, {}, {(x[1], x[6]): x for x in self.act if x[0] == "A"}
        launched = {}
        for x in self.act:
            call = calls.get((x[1], x[6])) if x[0] in "KC" else None
            if not call:
                continue
            begin, took = g.t[call[7]], g.t[x[8]] - g.t[x[7]]
            innermost, names = launched[x[9]] = self.ranges_around(call[2], begin + (g.t[call[8]] - begin) // 2)
            for name in names:
                s = out.setdefault(name, {"launches": 0, "copies": 0, "kernel_ns": 0, "copy_ns": 0, "own_launches": 0, "own_kernel_ns": 0,
                                          "path_ns": 0, "kernels": {}})
                s["launches" if x[0] == "K" else "copies"] += 1
                s["kernel_ns" if x[0] == "K" else "copy_ns"] += took
                if x[0] == "K" and name == innermost:
                    s["own_launches"] += 1
                    s["own_kernel_ns"] += took
                    s["kernels"][x[3]] = s["kernels"].get(x[3], 0) + took
        p = min(i for i in range(len(g.t)) if g.t[i] == self.end)
        while (step := self.binding(p)) is not None:
            e, before = step
            since, until = g.t[before], g.t[p]
            host = self.host_of(e, p)
            parts = [(until - since, launched[e][1])] if e in launched else \
                [(b - a, self.ranges_around(host[2], a)[1]) for a, b in self.pieces(host[2], since, until)] if host else []
            for took, names in parts:
                for name in names:
                    if name in out:
                        out[name]["path_ns"] += took
            p = before
        return out

    # --- idle --------------------------------------------------------------------------------

    def explain(self, p, since, in_ranges):
        """{(class, name): ns} of what a point waited for since then."""
        out, g = {}, self.g
        while g.t[p] > since:
            e, u = self.binding(p)
            key = self.part(e)
            out[key] = out.get(key, 0) + g.t[p] - max(g.t[u], since)
            self.add_range(in_ranges, e, p, max(g.t[u], since), g.t[p])
            p = u
        return out

    def union(self, ops, wanted):
        """Nanoseconds during which an operation runs that is wanted."""
        marks = sorted([(self.g.t[x[7]], 1) for x in ops if wanted(x)] + [(self.g.t[x[8]], -1) for x in ops if wanted(x)])
        running, since, total = 0, 0, 0
        for t, step in marks:
            total += t - since if running else 0
            running, since = running + step, t
        return total

    def idle(self):
        g, agents, names, in_ranges = self.g, {}, {}, {}
        for rank in sorted(set(x[1] for x in self.act)):
            ops = [x for x in self.act if x[0] in "KC" and x[1] == rank]
            if not ops:
                continue
            by_class, gaps, until, idle = {}, [], self.t0, 0
            for x in sorted(ops, key=lambda x: (g.t[x[7]], x[7])):
                if g.t[x[7]] > until:
                    gaps.append((until, x[7]))
                until = max(until, g.t[x[8]])
            if self.end > until:
                gaps.append((until, min(i for i in range(len(g.t)) if g.t[i] == self.end)))
            for since, p in gaps:
                idle += g.t[p] - since
                for (part, name), ns in self.explain(p, since, in_ranges).items():
                    by_class[part] = by_class.get(part, 0) + ns
                    names[name] = names.get(name, 0) + ns
            is_comm = lambda x: x[3].startswith("nccl")
            busy = self.union(ops, lambda x: True)
            kernels = self.union(ops, lambda x: x[0] == "K")
            agents[str(rank)] = {
                "busy_ns": busy, "idle_ns": idle, "gaps": len(gaps), "by_class": by_class,
                "exposed_copy_ns": busy - kernels,
                "exposed_collective_ns": kernels - self.union(ops, lambda x: x[0] == "K" and not is_comm(x)),
            }
        return {"agents": agents, "by_symbol": names, "by_range": in_ranges}


    # --- near-critical -----------------------------------------------------------------------

    def slacks(self):
        """By start point: by how much an operation may grow before the end moves."""
        g, out = self.g, {}
        latest = g.backward(self.end)
        for p, x in self.starter.items():
            into = next(q for q in (x[8], g.idx[g.ptr[x[8]]]) if g.ptr[q] <= x[9] < g.ptr[q + 1])
            out[p] = latest[into] - g.t[p] - g.w[x[9]]
        return out

    def histogram(self, slack):
        span = self.end - self.t0
        bounds = sorted([(0, "0"), (1000, "1us"), (span // 1000, "0.1%"), (span // 100, "1%"), (span // 10, "10%")])
        bins = {name: [0, 0] for _, name in bounds + [(None, "more")]}
        for p, ns in slack.items():
            name = next((name for bound, name in bounds if ns <= bound), "more")
            bins[name][0] += 1
            bins[name][1] += self.g.t[self.starter[p][8]] - self.g.t[p]
        return bins

    def chain(self, p, taken):
        """Activities along the binding edges before a point, up to one that is taken."""
        out = []
        while (step := self.binding(p)) is not None:
            x = self.duration_of.get(step[0])
            if x and id(x) in taken:
                break
            if x:
                out.append(x)
            p = step[1]
        return out

    def near(self):
        g, slack = self.g, self.slacks()
        taken = set(id(x) for x in self.chain(min(i for i in range(len(g.t)) if g.t[i] == self.end), set()))
        took = lambda x: g.t[x[8]] - g.t[x[7]]
        paths = []
        for _ in range(10):
            left = [p for p, x in self.starter.items() if id(x) not in taken]
            if not left:
                break
            p = min(left, key=lambda p: (slack[p], -g.t[self.starter[p][8]], -p))
            chain = [self.starter[p]] + self.chain(p, taken)
            taken |= set(map(id, chain))
            ops = [x for x in chain if x[0] in "KC"]
            paths.append({"slack_ns": slack[p], "operations": len(ops), "start_ns": g.t[ops[-1][7]], "end_ns": g.t[ops[0][8]],
                          "kernel_ns": sum(took(x) for x in ops if x[0] == "K"),
                          "copy_ns": sum(took(x) for x in ops if x[0] == "C")})
        epsilon, symbols = max(1000, (self.end - self.t0) // 1000), {}
        for p, x in self.starter.items():
            s = symbols.setdefault(x[3], [0, 0, 0])
            s[0] += 1
            s[1] += took(x)
            s[2] += took(x) if slack[p] <= epsilon else 0
        return {"epsilon_ns": epsilon, "histogram": self.histogram(slack), "by_symbol": symbols, "paths": paths}


    # --- collectives -------------------------------------------------------------------------

    def collective_waits(self):
        """Per rank: time in collectives before the last rank had come."""
        g, rounds, waits = self.g, {}, {}
        for x in self.act:
            if x[0] == "K" and x[3].startswith("nccl"):
                nth = rounds.setdefault(x[1], [])
                nth.append(x)
        for together in zip(*rounds.values()):
            last = max(g.t[x[7]] for x in together)
            for x in together:
                waits[str(x[1])] = waits.get(str(x[1]), 0) + last - g.t[x[7]]
        return waits


    def collectives(self):
        """Of all ranks together: time in collectives, that without another kernel of the rank beside it, and how long each rank
        was waited for."""
        g, rounds, kernels, waited = self.g, {}, {}, {}
        for x in self.act:
            if x[0] == "K":
                (rounds if x[3].startswith("nccl") else kernels).setdefault(x[1], []).append(x)
        ret = {"count": 0, "time_ns": 0, "exposed_ns": 0}
        for rank, parts in rounds.items():
            other = sorted((g.t[x[7]], g.t[x[8]]) for x in kernels.get(rank, []))
            for x in parts:
                at, end = g.t[x[7]], g.t[x[8]]
                ret["count"] += 1
                ret["time_ns"] += end - at
                for a, b in other:
                    if b > at and a < end:
                        ret["exposed_ns"] += max(0, a - at)
                        at = max(at, b)
                ret["exposed_ns"] += max(0, end - at)
        for together in zip(*rounds.values()):
            last = max(together, key=lambda x: g.t[x[7]])
            waited[str(last[1])] = waited.get(str(last[1]), 0) + sum(g.t[last[7]] - g.t[x[7]] for x in together)
        return {**ret, "waited_for_ns": waited}


def answers(sim, end, prio):
    a = Answers(sim, end, prio)
    return {"path_ranges": a.path_ranges(), "ranges": a.range_sums(), "collective_wait_ns": a.collective_waits(), "near": a.near(), "limits": a.limits(), "true_span_ns": a.true_span(), "pairs": a.pairs(), "idle": a.idle(),
            "collectives": a.collectives()}
