"""c = a b in f16 with sums in f32: two configurations that the autotuner measures; the faster one is run again."""
import device
import numpy
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"M_TILE": 64, "N_TILE": 64, "K_TILE": 64}, num_warps=4, num_stages=2),
    triton.Config({"M_TILE": 128, "N_TILE": 64, "K_TILE": 32}, num_warps=8, num_stages=2),
]


@triton.autotune(configs=CONFIGS, key=["m", "n", "k"])
@triton.jit
def matmul(a, b, c, m, n, k, a_row, b_row, c_row, M_TILE: tl.constexpr, N_TILE: tl.constexpr, K_TILE: tl.constexpr):
    tiles = tl.cdiv(n, N_TILE)
    rows = tl.program_id(0) // tiles * M_TILE + tl.arange(0, M_TILE)
    columns = tl.program_id(0) % tiles * N_TILE + tl.arange(0, N_TILE)
    inner = tl.arange(0, K_TILE)
    left = a + (rows % m)[:, None] * a_row + inner[None, :]
    right = b + inner[:, None] * b_row + (columns % n)[None, :]
    total = tl.zeros((M_TILE, N_TILE), dtype=tl.float32)
    for done in range(0, k, K_TILE):
        x = tl.load(left, mask=inner[None, :] < k - done, other=0.0)
        y = tl.load(right, mask=inner[:, None] < k - done, other=0.0)
        total = tl.dot(x, y, total)
        left += K_TILE
        right += K_TILE * b_row
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(c + rows[:, None] * c_row + columns[None, :], total.to(tl.float16), mask=inside)


def main():
    m, n, k = 200, 328, 168  # No multiples of the tiles.
    random = numpy.random.default_rng(27)
    a = random.standard_normal((m, k)).astype(numpy.float16)
    b = random.standard_normal((k, n)).astype(numpy.float16)
    left, right, product = device.Array(a), device.Array(b), device.empty((m, n), numpy.float16)

    def grid(tile):
        return (triton.cdiv(m, tile["M_TILE"]) * triton.cdiv(n, tile["N_TILE"]), )

    matmul[grid](left, right, product, m, n, k, left.stride(0), right.stride(0), product.stride(0))
    device.check("matmul", product.numpy(), a.astype(numpy.float64) @ b.astype(numpy.float64), 1e-3)


main()
