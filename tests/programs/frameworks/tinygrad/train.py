"""Steps of training of a small network: forward, backward and SGD in tinygrad, and the same in NumPy."""
import sys

import numpy as np
from tinygrad import Tensor
from tinygrad.helpers import Context
from tinygrad.nn.optim import SGD

BATCH, INPUTS, HIDDEN, CLASSES, STEPS, RATE = 64, 50, 96, 10, 3, 0.1
rng = np.random.default_rng(7)
x = rng.standard_normal((BATCH, INPUTS), dtype=np.float32)
y = rng.integers(0, CLASSES, BATCH)
weights = [(rng.standard_normal(shape) * 0.1).astype(np.float32)
           for shape in ((INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))]


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


def by_tinygrad():
    w1, b1, w2, b2 = parameters = [Tensor(w) for w in weights]
    optimizer = SGD(parameters, lr=RATE)
    losses = []
    with Context(TRAINING=1):
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = ((Tensor(x) @ w1 + b1).relu() @ w2 + b2).sparse_categorical_crossentropy(Tensor(y.astype(np.int32)))
            loss.backward()
            losses.append(loss.item()) # before the step: what is not computed yet would see the new weights
            optimizer.step()
    return losses, [p.numpy() for p in parameters]


losses, trained = by_tinygrad()
expected_losses, expected = by_numpy()
error = max(np.abs(np.subtract(losses, expected_losses)).max(), *(np.abs(a - b).max() for a, b in zip(trained, expected)))
print(f"{'PASS' if error < 2e-5 else 'FAIL'} losses {losses[0]:.4f} to {losses[-1]:.4f}, largest error {error:.2e}")
sys.exit(not error < 2e-5)
