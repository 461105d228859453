"""A jitted network with its gradient, steps of SGD, and a few functions of jax.numpy, against NumPy."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, INPUTS, HIDDEN, CLASSES, STEPS, RATE = 64, 50, 96, 10, 3, 0.1
rng = np.random.default_rng(7)
x = rng.standard_normal((BATCH, INPUTS), dtype=np.float32)
y = rng.integers(0, CLASSES, BATCH)
weights = [(rng.standard_normal(shape) * 0.1).astype(np.float32)
           for shape in ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))]
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


def by_numpy():
    w1, b1, w2, b2 = (w.astype(np.float64) for w in weights)
    losses = []
    for _ in range(STEPS):
        hidden = np.maximum(x @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        losses.append(-np.log(p[np.arange(BATCH), y]).mean())
        d = p.copy()
        d[np.arange(BATCH), y] -= 1
        d /= BATCH
        dh = (d @ w2.T) * (hidden > 0)
        w1, b1, w2, b2 = w1 - RATE * x.T @ dh, b1 - RATE * dh.sum(0), w2 - RATE * hidden.T @ d, b2 - RATE * d.sum(0)
    return losses, (w1, b1, w2, b2)


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
