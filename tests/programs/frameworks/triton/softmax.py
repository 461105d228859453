"""The softmax of each row of a matrix, one program a row: a row length that is no power of two."""
import device
import numpy
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, x_row, y_row, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_row + place, mask=place < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * y_row + place, powers / tl.sum(powers, axis=0), mask=place < columns)


def main():
    rows, columns = 123, 781
    x = 5 * numpy.random.default_rng(27).standard_normal((rows, columns), dtype=numpy.float32)
    source, result = device.Array(x), device.empty(x.shape, numpy.float32)
    softmax[(rows, )](source, result, columns, source.stride(0), result.stride(0),
                      BLOCK=triton.next_power_of_2(columns), num_warps=4)
    powers = numpy.exp(x.astype(numpy.float64) - x.max(axis=1, keepdims=True))
    device.check("softmax", result.numpy(), powers / powers.sum(axis=1, keepdims=True), 1e-6)


main()
