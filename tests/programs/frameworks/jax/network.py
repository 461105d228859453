"""A jitted network with its gradient, steps of SGD, and a few functions of jax.numpy, against NumPy."""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from training import RATE, STEPS, by_numpy, rng, weights, x, y  # noqa: E402

# Without it XLA multiplies in xf32 on these GPUs.
jax.config.update("jax_default_matmul_precision", "highest")


def loss(weights, x, y):
    w1, b1, w2, b2 = weights
    logits = jnp.maximum(x @ w1 + b1, 0) @ w2 + b2
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()


@jax.jit
def step(weights, x, y):
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    return value, [w - RATE * g for w, g in zip(weights, gradient)]


def by_jax():
    trained, losses = [jnp.asarray(w) for w in weights], []
    for _ in range(STEPS):
        value, trained = step(trained, x, y)
        losses.append(float(value))
    return losses, trained


if jax.default_backend() not in ("gpu", "rocm"):
    sys.exit(f"FAIL it runs on {jax.default_backend()}")
losses, trained = by_jax()
expected_losses, expected = by_numpy()
a = rng.standard_normal((100, 333), dtype=np.float32)
error = max(np.abs(np.subtract(losses, expected_losses)).max(),
            *(np.abs(np.asarray(got) - want).max() for got, want in zip(trained, expected)),
            np.abs(np.asarray(jnp.sort(a, axis=1)) - np.sort(a, axis=1)).max(),
            np.abs(np.asarray(jnp.cumsum(jnp.asarray(a), axis=1)) - np.cumsum(a.astype(np.float64), axis=1)).max() / 10)
print(f"{'PASS' if error < 2e-5 else 'FAIL'} losses {losses[0]:.4f} to {losses[-1]:.4f}, largest error {error:.2e}")
sys.exit(not error < 2e-5)
