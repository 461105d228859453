"""c = a b in microscaling formats: a in 8 bits (e4m3), b in 4 (e2m1), each 32 of a row or column with one scale (e8m0)."""
import device
import numpy
import triton
import triton.language as tl


@triton.jit
def mx_matmul(a, a_scale, b, b_scale, c, m, n, k, M_TILE: tl.constexpr, N_TILE: tl.constexpr, K_TILE: tl.constexpr):
    rows = tl.program_id(0) * M_TILE + tl.arange(0, M_TILE)
    columns = tl.program_id(1) * N_TILE + tl.arange(0, N_TILE)
    inner, packed, scales = tl.arange(0, K_TILE), tl.arange(0, K_TILE // 2), tl.arange(0, K_TILE // 32)
    total = tl.zeros((M_TILE, N_TILE), dtype=tl.float32)
    for done in range(0, k, K_TILE):
        x = tl.load(a + rows[:, None] * k + done + inner[None, :], mask=rows[:, None] < m, other=0.0)
        y = tl.load(b + (done // 2 + packed)[:, None] * n + columns[None, :], mask=columns[None, :] < n, other=0)
        x_scale = tl.load(a_scale + rows[:, None] * (k // 32) + done // 32 + scales[None, :], mask=rows[:, None] < m, other=0)
        y_scale = tl.load(b_scale + columns[:, None] * (k // 32) + done // 32 + scales[None, :], mask=columns[:, None] < n, other=0)
        total = tl.dot_scaled(x, x_scale, "e4m3", y, y_scale, "e2m1", total)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows < m)[:, None] & (columns < n)[None, :])


def e4m3(bits):
    exponent, fraction = bits >> 3 & 15, bits & 7
    value = numpy.where(exponent == 0, fraction / 8 * 2.0**-6, (1 + fraction / 8) * 2.0**(exponent.astype(float) - 7))
    return numpy.where(bits & 128, -value, value)


def e2m1(bits):
    value = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[bits & 7]
    return numpy.where(bits & 8, -value, value)


def main():
    m, n, k = 100, 72, 256
    random = numpy.random.default_rng(27)
    a = random.integers(0, 256, (m, k), dtype=numpy.uint8)
    a[a & 127 == 127] = 0  # No number.
    a_scale, b_scale = (random.integers(120, 134, (rows, k // 32), dtype=numpy.uint8) for rows in (m, n))
    b = random.integers(0, 16, (k, n), dtype=numpy.uint8)
    packed = b[0::2] | b[1::2] << 4
    arrays = [device.Array(x, d) for x, d in ((a, "float8_e4m3fn"), (a_scale, None), (packed, None), (b_scale, None))]
    c, tile = device.empty((m, n), numpy.float32), 32
    mx_matmul[(triton.cdiv(m, tile), triton.cdiv(n, tile))](*arrays, c, m, n, k, M_TILE=tile, N_TILE=tile, K_TILE=128)
    left = e4m3(a) * numpy.repeat(2.0**(a_scale.astype(float) - 127), 32, axis=1)
    right = e2m1(b) * numpy.repeat(2.0**(b_scale.astype(float) - 127), 32, axis=1).T
    device.check("mx_matmul", c.numpy(), left @ right, 1e-5)


main()
