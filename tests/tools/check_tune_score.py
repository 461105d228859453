"""Holds bench/tune_score.py against numbers that the package autotuning_methodology 1.1.0 has computed of a made-up
space and five random searches of it (tests/data/tune/score.json). usage: check_tune_score.py BENCH_DIR SCORE_JSON [--make]
--make computes them anew, in an environment that has the package (bench/tune-peer makes one)."""
import importlib.machinery
import importlib.util
import json
import random
import sys

sys.dont_write_bytecode = True
bench, file = sys.argv[1:3]
sys.path.insert(0, bench)
from tune_score import Space, score  # noqa: E402


def made_up():
    """600 configurations, of which some fail and few are good, and searches of 200 of them each."""
    draw = random.Random(1)
    values = [None if draw.random() < 0.1 else 1 + 20 * draw.random() ** 3 for _ in range(600)]
    seconds = [1 + draw.random() if v is None else 1 + v / 4 for v in values]
    return Space(values, seconds), [draw.sample(range(600), 200) for _ in range(5)]


space, runs = made_up()
if "--make" in sys.argv:
    loader = importlib.machinery.SourceFileLoader("tune_peer", f"{bench}/tune-peer")
    spec = importlib.util.spec_from_loader("tune_peer", loader)
    peer = importlib.util.module_from_spec(spec)
    loader.exec_module(peer)
    json.dump(peer.package_numbers(space, runs), open(file, "w"), indent=1)
theirs = json.load(open(file))
times = space.times()
ours = {"range": list(space.range()), "random": space.random(times)[::1000], "score": score(space, runs)}


def close(a, b, share):
    assert abs(a - b) <= share * abs(b), (a, b)


for mine, other in zip(ours["range"], theirs["range"]):
    close(mine, other, 1e-9)
for mine, other in zip(ours["random"], theirs["random"]):
    close(mine, other, 1e-9)
assert abs(ours["score"] - theirs["score"]) < 1e-3, (ours["score"], theirs["score"])
# The scale: the optimum at once, and what random search finds.
best = space.values.index(space.optimum)
assert score(space, [[best] * 600] * 3) > 0.999
assert abs(ours["score"]) < 0.5, "random searches are near 0"
print(f"score {ours['score']:.4f}, the package's {theirs['score']:.4f}")
