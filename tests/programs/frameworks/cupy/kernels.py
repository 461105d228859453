"""What CuPy compiles itself: elementwise kernels, reductions, a scan, a fused one and a RawKernel, against NumPy."""
import sys

import cupy as cp
import numpy as np

rng = np.random.default_rng(5)
a = rng.standard_normal((123, 457), dtype=np.float32)
b = rng.standard_normal((123, 457), dtype=np.float32)
x, y = cp.asarray(a), cp.asarray(b)


def raw():
    kernel = cp.RawKernel(r"""
extern "C" __global__ void scaled_sum(const float *x, const float *y, float *out, float scale, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n)
        out[i] = scale * x[i] + y[i];
}""", "scaled_sum")
    out = cp.zeros_like(x)
    kernel(((x.size + 255) // 256,), (256,), (x, y, out, np.float32(3), np.int32(x.size)))
    return out


@cp.fuse()
def fused(x, y):
    return cp.sqrt(cp.abs(x * y)) + x


squared = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference")
norm = cp.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
wide = a.astype(np.float64)
cases = [("arithmetic", cp.exp(x) * 2 + cp.sin(y), np.exp(wide) * 2 + np.sin(b.astype(np.float64))),
         ("sum of rows", x.sum(axis=1), wide.sum(axis=1)),
         ("largest", x.max(axis=0), a.max(axis=0)),
         ("ElementwiseKernel", squared(x, y), (wide - b) ** 2),
         ("ReductionKernel", norm(x, axis=1), np.sqrt((wide * wide).sum(axis=1))),
         ("fuse", fused(x, y), np.sqrt(np.abs(wide * b)) + wide),
         ("RawKernel", raw(), 3 * wide + b),
         ("broadcast", x - x.mean(axis=0), wide - wide.mean(axis=0))]
errors = {name: np.abs(got.get() - expected).max() / np.abs(expected).max() for name, got, expected in cases}
worst = max(errors.values())
print(f"{'PASS' if worst < 1e-5 else 'FAIL'} " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))
sys.exit(not worst < 1e-5)
