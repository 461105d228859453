"""A block of a transformer (block.mlir), which iree-compile has compiled: run on IREE's HIP driver, compared with NumPy.

usage: block.py MODULE python|program
       block.py MODULE TIMES             nothing is compared: prints the processor seconds of each of so many runs
"""
import os
import subprocess
import sys
import tempfile
import time

import numpy
from iree import runtime

TOKENS, CHANNELS, HEADS, WIDE = 80, 192, 6, 768


def weights(random):
    def product(rows, columns):
        return (random.standard_normal((rows, columns)) / rows**0.5).astype(numpy.float16)

    def norm():
        return [(1 + 0.1 * random.standard_normal(CHANNELS)).astype(numpy.float32),
                (0.1 * random.standard_normal(CHANNELS)).astype(numpy.float32)]

    return [*norm(), *(product(CHANNELS, CHANNELS) for _ in range(4)), *norm(), product(CHANNELS, WIDE), product(WIDE, CHANNELS)]


def norm(x, scale, shift):
    return (x - x.mean(axis=1, keepdims=True)) / numpy.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * scale + shift


def block(x, scale1, shift1, wq, wk, wv, wo, scale2, shift2, up, down):
    q, k, v = ((norm(x, scale1, shift1) @ w).reshape(TOKENS, HEADS, -1).swapaxes(0, 1) for w in (wq, wk, wv))
    scores = q @ k.swapaxes(1, 2) / (CHANNELS / HEADS)**0.5
    scores[:, ~numpy.tri(TOKENS, dtype=bool)] = -numpy.inf
    powers = numpy.exp(scores - scores.max(axis=2, keepdims=True))
    mixed = powers / powers.sum(axis=2, keepdims=True) @ v
    x = x + mixed.swapaxes(0, 1).reshape(TOKENS, CHANNELS) @ wo
    wide = norm(x, scale2, shift2) @ up
    return x + 0.5 * wide * (1 + numpy.tanh((2 / numpy.pi)**0.5 * (wide + 0.044715 * wide**3))) @ down


def load(module):
    config = runtime.Config("hip")
    return runtime.load_vm_module(runtime.VmModule.mmap(config.vm_instance, module), config)["block"]


def by_python(module, inputs):
    return load(module)(*inputs).to_host()


def measure(module, inputs, times):
    run = load(module)
    for _ in range(times):
        begin = time.process_time()
        run(*inputs).to_host()
        print(f"took {time.process_time() - begin:.6f} s")


def by_program(module, inputs):
    """By iree-run-module, which is beside this Python and loads HIP without it."""
    with tempfile.TemporaryDirectory() as folder:
        words = [f"--module={module}", "--device=hip", "--function=block", f"--output=@{folder}/out.npy"]
        for number, value in enumerate(inputs):
            numpy.save(f"{folder}/{number}.npy", value)
            words.append(f"--input=@{folder}/{number}.npy")
        subprocess.run([os.path.join(os.path.dirname(sys.executable), "iree-run-module"), *words], check=True)
        return numpy.load(f"{folder}/out.npy")


def main():
    random = numpy.random.default_rng(27)
    inputs = [random.standard_normal((TOKENS, CHANNELS), dtype=numpy.float32), *weights(random)]
    if sys.argv[2].isdigit():
        measure(sys.argv[1], inputs, int(sys.argv[2]))
        return
    run = {"python": by_python, "program": by_program}[sys.argv[2]]
    found = run(sys.argv[1], inputs)
    wanted = block(*(value.astype(numpy.float64) for value in inputs))
    error = numpy.abs(found - wanted).max() / numpy.abs(wanted).max()
    if not error <= 2e-3:
        raise SystemExit(f"FAIL block: largest error {error:.2e}")
    print(f"PASS block: largest error {error:.2e}")


main()
