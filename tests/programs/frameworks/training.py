"""Some steps of training of a small network, in NumPy: what frameworks' training is compared with."""
import numpy as np

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
