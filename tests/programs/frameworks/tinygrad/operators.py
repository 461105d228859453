"""A matrix product, a convolution and a softmax of tinygrad against NumPy, of sizes that are no multiples of anything."""
import sys

import numpy as np
from tinygrad import Tensor

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def convolution(x, w):
    n, _, height, width = x.shape
    out, _, kh, kw = w.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    result = np.zeros((n, out, height, width))
    for i in range(kh):
        for j in range(kw):
            result += np.einsum("nchw,oc->nohw", padded[:, :, i:i + height, j:j + width], w[:, :, i, j])
    return result


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


a, b, x, w, s = normal(200, 130), normal(130, 90), normal(2, 5, 19, 23), normal(7, 5, 3, 3), normal(100, 333)
cases = [("matmul", (Tensor(a) @ Tensor(b)).numpy(), a.astype(np.float64) @ b),
         ("convolution", Tensor(x).conv2d(Tensor(w), padding=1).numpy(), convolution(x, w)),
         ("softmax", Tensor(s).softmax().numpy(), softmax(s))]
errors = {name: np.abs(got - expected).max() / np.abs(expected).max() for name, got, expected in cases}
worst = max(errors.values())
print(f"{'PASS' if worst < 1e-5 else 'FAIL'} " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))
sys.exit(not worst < 1e-5)
