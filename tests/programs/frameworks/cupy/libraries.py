"""usage: libraries.py dense|others: what CuPy calls ROCm's libraries for, against NumPy and SciPy."""
import sys

import cupy as cp
import cupyx.scipy.sparse as sparse
import numpy as np
import scipy.sparse

rng = np.random.default_rng(11)


def relative(got, expected):
    return np.abs(got.get() - expected).max() / np.abs(expected).max()


def dense():
    a, b = rng.standard_normal((130, 70), dtype=np.float32), rng.standard_normal((70, 90), dtype=np.float32)
    many = rng.standard_normal((6, 33, 40), dtype=np.float32)
    signal = rng.standard_normal((5, 240), dtype=np.float32)
    yield "matmul", relative(cp.asarray(a) @ cp.asarray(b), a.astype(np.float64) @ b)
    yield "batched", relative(cp.asarray(many) @ cp.asarray(many.transpose(0, 2, 1)), many.astype(np.float64) @ many.transpose(0, 2, 1))
    yield "fft", relative(cp.fft.fft(cp.asarray(signal)), np.fft.fft(signal))
    yield "rfft2", relative(cp.fft.rfft2(cp.asarray(signal)), np.fft.rfft2(signal))


def others():
    matrix = scipy.sparse.random(200, 150, 0.05, format="csr", dtype=np.float32, random_state=1)
    vector = rng.standard_normal(150, dtype=np.float32)
    square = rng.standard_normal((64, 64), dtype=np.float32) + 64 * np.eye(64, dtype=np.float32)
    right = rng.standard_normal(64, dtype=np.float32)
    yield "sparse product", relative(sparse.csr_matrix(matrix) @ cp.asarray(vector), matrix.astype(np.float64) @ vector)
    yield "solve", relative(cp.linalg.solve(cp.asarray(square), cp.asarray(right)), np.linalg.solve(square.astype(np.float64), right))
    cp.random.seed(3)
    drawn = cp.random.standard_normal(20001, dtype=cp.float32).get()
    # No other library has these numbers: mean and variance must be within five standard deviations.
    far = max(abs(drawn.mean()) * 20001 ** 0.5, abs(drawn.var() - 1) * (20001 / 2) ** 0.5)
    yield "random", 0.0 if far < 5 and len(np.unique(drawn)) > 19000 else float("inf")


errors = dict({"dense": dense, "others": others}[sys.argv[1]]())
worst = max(errors.values())
print(f"{'PASS' if worst < 1e-5 else 'FAIL'} " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items()))
sys.exit(not worst < 1e-5)
