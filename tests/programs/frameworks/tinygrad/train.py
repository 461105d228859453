"""Steps of training of a small network: forward, backward and SGD in tinygrad, and the same in NumPy."""
import os
import sys

import numpy as np
from tinygrad import Tensor
from tinygrad.helpers import Context
from tinygrad.nn.optim import SGD

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from training import RATE, STEPS, by_numpy, weights, x, y  # noqa: E402


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
