"""Scores of searches over time, by the public methodology for comparing auto-tuners (Willemsen et al.,
"A Methodology for Comparing Auto-Tuning Optimization Algorithms", Future Generation Computer Systems 159, 2024): 0 is
random search, 1 the optimum at once. Written from its formulas; bench/tune-peer --check holds it against the
package autotuning_methodology."""
import bisect
import math
import statistics

START, END, STEPS = 0.01, 0.95, 10000  # percentiles between median and optimum; points of time


class Space:
    """What random search does in a space of which every configuration was run.
    values: of configurations, None: it failed; seconds: that each took to build and run."""

    def __init__(self, values, seconds):
        self.values, self.seconds = values, seconds
        self.sorted = sorted(v for v in values if v is not None)
        self.optimum, self.median = self.sorted[0], statistics.median(self.sorted)
        failed = [s for v, s in zip(values, seconds) if v is None]
        self.second = statistics.fmean(s for v, s in zip(values, seconds) if v is not None)
        if failed:
            self.second += len(failed) / len(values) * statistics.fmean(failed)

    def evaluations_to(self, percentile):
        """How many evaluations random search needs to come so far from the median to the optimum."""
        count = len(self.sorted)
        target = self.optimum + (self.median - self.optimum) * (1 - percentile)
        at = next(i for i in range(count) if self.sorted[count - 1 - i] <= target)
        if percentile != 1 and self.sorted[count - 1 - at] == self.optimum:
            at -= 1
        return math.ceil(at / (count + 1 - at))

    def range(self):
        """The first and the last second that count."""
        first, last = self.evaluations_to(START), self.evaluations_to(END)
        if last - first < 2:
            last = min(self.evaluations_to(1), last + (2 if first == 0 else 1))
            first -= first != 0
        return first * statistics.median(self.seconds), last * statistics.median(self.seconds)

    def times(self):
        first, last = self.range()
        return [first + (last - first) * i / (STEPS - 1) for i in range(STEPS)]

    def random(self, times):
        """The value that random search has found by each of these times, on average."""
        count = len(self.sorted)
        evaluations = [round(max(t / self.second, 1)) for t in times]
        drawn = [self.sorted[count - 1 - min(count - 1, round(n * (count + 1) / (n + 1)))] for n in evaluations]
        x, y = [], []
        for n, value in zip(evaluations, drawn):
            if not x or n > x[-1]:
                x.append(n)
                y.append(value)
        if len(x) < 2:
            return drawn
        step = (evaluations[-1] - evaluations[0]) / (len(evaluations) - 1)
        return monotone(x, y, [evaluations[0] + step * i for i in range(len(evaluations))])


def monotone(x, y, at):
    """Interpolates by cubic polynomials that keep monotony (Fritsch and Butland, 1984)."""
    n = len(x)
    h = [b - a for a, b in zip(x, x[1:])]
    d = [(b - a) / w for a, b, w in zip(y, y[1:], h)]
    if n == 2:
        return [y[0] + d[0] * (a - x[0]) for a in at]

    def end(h0, h1, d0, d1):
        slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
        if slope * d0 <= 0:
            return 0.0
        return 3 * d0 if d0 * d1 <= 0 and abs(slope) > 3 * abs(d0) else slope

    slopes = [end(h[0], h[1], d[0], d[1])]
    for i in range(1, n - 1):
        if d[i - 1] * d[i] <= 0:
            slopes.append(0.0)
        else:
            w1, w2 = 2 * h[i] + h[i - 1], h[i] + 2 * h[i - 1]
            slopes.append((w1 + w2) / (w1 / d[i - 1] + w2 / d[i]))
    slopes.append(end(h[-1], h[-2], d[-1], d[-2]))
    result = []
    for a in at:
        i = min(max(bisect.bisect_right(x, a) - 1, 0), n - 2)
        s = a - x[i]
        c = (3 * d[i] - 2 * slopes[i] - slopes[i + 1]) / h[i]
        b = (slopes[i] - 2 * d[i] + slopes[i + 1]) / h[i] ** 2
        result.append(y[i] + s * (slopes[i] + s * (c + s * b)))
    return result


def falling(x, y, at):
    """Least squares by a function that never rises (pool adjacent violators), linear between points."""
    by_x = {}
    for a, b in zip(x, y):
        sums = by_x.setdefault(a, [0.0, 0])
        sums[0] += b
        sums[1] += 1
    xs = sorted(by_x)
    blocks = []  # mean, weight, points
    for a in xs:
        total, weight = by_x[a]
        blocks.append([total / weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            mean, weight, points = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * weight) / (last[1] + weight)
            last[1] += weight
            last[2] += points
    ys = [mean for mean, _, points in blocks for _ in range(points)]
    result = []
    for a in at:
        i = bisect.bisect_right(xs, a)
        if i == 0 or i == len(xs):
            result.append(ys[0] if i == 0 else ys[-1])
        else:
            share = (a - xs[i - 1]) / (xs[i] - xs[i - 1])
            result.append(ys[i - 1] + share * (ys[i] - ys[i - 1]))
    return result


def found_over_time(space, runs):
    """(seconds, place of the best so far among all values) of each evaluation that has found anything."""
    times, places = [], []
    for run in runs:
        now, best = 0.0, None
        for config in run:
            now += space.seconds[config]
            value = space.values[config]
            if value is not None and (best is None or value < best):
                best = value
            if best is not None:
                times.append(now)
                places.append(bisect.bisect_left(space.sorted, best))
    return times, places


def score(space, runs):
    """runs: lists of configurations in the order of their evaluation. Returns the mean over time of how far from
    random search to the optimum they have come."""
    times = space.times()
    random = space.random(times)
    x, y = found_over_time(space, runs)
    margin = 0.1 + 0.25 * len(runs) / max(len(x), 1)
    inside = [(a, b) for a, b in zip(x, y) if times[0] * (1 - margin) <= a <= times[-1] * (1 + margin)]
    places = falling([a for a, _ in inside], [b for _, b in inside], times)
    values = [space.sorted[min(max(round(p), 0), len(space.sorted) - 1)] for p in places]
    return statistics.fmean((v - r) / (space.optimum - r) for v, r in zip(values, random))
