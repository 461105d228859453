"""usage: trace.py FOLDER

Trains a small model on the CPU under PyTorch's profiler and writes its trace to FOLDER/cpu.json. FOLDER/trace.json is that
trace with a kernel for each operator that calls no other one, as a GPU's trace has them: a launch within the operator, and a
kernel on a stream. FOLDER/expected.json says what was launched in each operator and annotation, by PyTorch's own tree of them.
"""
import json
import os
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function

DEVICE = {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 192 << 30, "computeMajor": 9, "computeMinor": 4, "numSms": 304,
          "warpSize": 64}


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attend = torch.nn.LayerNorm(width), torch.nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm(x)
        with record_function("## attention ##"):
            x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


def train():
    """The profile of two steps."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(Block(32), Block(32))
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True) as profiler:
        for _ in range(2):
            loss = model(torch.randn(2, 9, 32)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    return profiler


def launch(event, number, clock):
    """The launch and the kernel of an operator, whose times are microseconds."""
    begin = event["ts"] + event["dur"] * 0.4
    took = round(event["dur"] * 0.1, 3)
    start = round(max(begin + took + 3, clock), 3)
    shared = {"correlation": number, "External id": event["args"]["External id"]}
    call = {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": event["pid"], "tid": event["tid"], "ts": round(begin, 3),
            "dur": took, "args": {**shared, "kernel": "k", "grid": [4, 1, 1], "block": [256, 1, 1]}}
    kernel = {"ph": "X", "cat": "kernel", "name": event["name"].replace("::", "_") + "_kernel", "pid": 0, "tid": 0, "ts": start,
              "dur": 1 + number % 7, "args": {**shared, "device": 0, "stream": 0, "kind": "Dispatch Kernel"}}
    return call, kernel


def around(event, written):
    """The names of an event and of those around it, without functions of Python."""
    names = set()
    while event is not None:
        if event.id in written and written[event.id]["name"] == event.name:
            names.add(event.name)
        event = event.cpu_parent
    return names


def main():
    folder = sys.argv[1]
    profiler = train()
    profiler.export_chrome_trace(os.path.join(folder, "cpu.json"))
    with open(os.path.join(folder, "cpu.json")) as file:
        trace = json.load(file)
    written = {e["args"]["External id"]: e for e in trace["traceEvents"]
               if e.get("cat") in ("cpu_op", "user_annotation") and e["ph"] == "X" and e["dur"] > 0}
    expected, clock = {}, 0
    leaves = [e for e in profiler.events() if not e.cpu_children and e.id in written and written[e.id]["name"] == e.name]
    for number, event in enumerate(sorted(leaves, key=lambda e: written[e.id]["ts"]), 1):
        call, kernel = launch(written[event.id], number, clock)
        clock = kernel["ts"] + kernel["dur"]
        trace["traceEvents"] += [call, kernel]
        for name in around(event, written):
            sums = expected.setdefault(name, {"launches": 0, "kernel_ns": 0, "own_launches": 0, "own_kernel_ns": 0})
            sums["launches"] += 1
            sums["kernel_ns"] += 1000 * kernel["dur"]
            if name == event.name:
                sums["own_launches"] += 1
                sums["own_kernel_ns"] += 1000 * kernel["dur"]
    trace["deviceProperties"] = [DEVICE]
    for name, content in (("trace.json", trace), ("expected.json", {"ranges": expected})):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    print(f"torch {torch.__version__}: {len(leaves)} operators launch, in {len(expected)} kinds of operators and annotations")


main()
