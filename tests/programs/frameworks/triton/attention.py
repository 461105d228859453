"""Causal attention, forward, in f16: scores of a block of keys at a time, rescaled as the row's largest one grows."""
import device
import numpy
import triton
import triton.language as tl


@triton.jit
def attention_forward(q, k, v, out, scale, length, head, HEAD: tl.constexpr, Q_TILE: tl.constexpr, K_TILE: tl.constexpr):
    rows = tl.program_id(0) * Q_TILE + tl.arange(0, Q_TILE)
    inside = tl.arange(0, HEAD)
    start = tl.program_id(1) * head
    queries = tl.load(q + start + rows[:, None] * HEAD + inside[None, :], mask=rows[:, None] < length, other=0.0)
    largest = tl.full((Q_TILE, ), -float("inf"), tl.float32)
    weight = tl.zeros((Q_TILE, ), tl.float32)
    total = tl.zeros((Q_TILE, HEAD), tl.float32)
    for first in range(0, tl.minimum((tl.program_id(0) + 1) * Q_TILE, length), K_TILE):
        keys_at = first + tl.arange(0, K_TILE)
        keys = tl.load(k + start + keys_at[None, :] * HEAD + inside[:, None], mask=keys_at[None, :] < length, other=0.0)
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        scores = tl.where((keys_at[None, :] <= rows[:, None]) & (keys_at[None, :] < length), scores, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        powers = tl.exp2(scores - new_largest[:, None])
        shrink = tl.exp2(largest - new_largest)
        values = tl.load(v + start + keys_at[:, None] * HEAD + inside[None, :], mask=keys_at[:, None] < length, other=0.0)
        weight = weight * shrink + tl.sum(powers, axis=1)
        total = tl.dot(powers.to(tl.float16), values, total * shrink[:, None])
        largest = new_largest
    total = total / weight[:, None]
    tl.store(out + start + rows[:, None] * HEAD + inside[None, :], total.to(tl.float16), mask=rows[:, None] < length)


def attention(q, k, v, scale):
    scores = scale * numpy.einsum("hid,hjd->hij", q, k)
    scores[:, ~numpy.tri(q.shape[1], dtype=bool)] = -numpy.inf
    powers = numpy.exp(scores - scores.max(axis=2, keepdims=True))
    return numpy.einsum("hij,hjd->hid", powers / powers.sum(axis=2, keepdims=True), v)


def main():
    heads, length, head = 4, 200, 64
    random = numpy.random.default_rng(27)
    q, k, v = (random.standard_normal((heads, length, head)).astype(numpy.float16) for _ in range(3))
    scale, tile = head**-0.5, 64
    out = device.empty(q.shape, numpy.float16)
    attention_forward[(triton.cdiv(length, tile), heads)](
        *map(device.Array, (q, k, v)), out, scale, length, length * head, HEAD=head, Q_TILE=tile, K_TILE=32, num_warps=4)
    exact = attention(*(x.astype(numpy.float64) for x in (q, k, v)), scale)
    device.check("attention", out.numpy(), exact, 2e-3)


main()
