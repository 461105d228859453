"""Triton's own HIP driver without torch: arrays of HIP by ctypes, and what the driver asks torch for.

Triton's driver compiles its launcher, loads code objects and launches them by itself. Of torch it wants the current
device and stream; of a tensor it wants data_ptr() and dtype.
"""
import ctypes

import numpy
import triton
from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils

hip = ctypes.CDLL("libamdhip64.so.7")
hip.hipGetErrorString.restype = ctypes.c_char_p


def call(name, *arguments):
    status = getattr(hip, name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: {hip.hipGetErrorString(status).decode()}")


class Driver(HIPDriver):
    def __init__(self):  # The one of the base class imports torch.
        self.utils = HIPUtils()
        self.launcher_cls = HIPLauncher

    def get_current_device(self):
        device = ctypes.c_int()
        call("hipGetDevice", ctypes.byref(device))
        return device.value

    def get_current_stream(self, device):
        return 0

    def get_benchmarker(self):
        return milliseconds


def milliseconds(launch, quantiles):
    """What triton.testing.do_bench measures: a warm-up, then one launch between two events."""
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        call("hipEventCreate", ctypes.byref(event))
    launch()
    call("hipEventRecord", events[0], None)
    launch()
    call("hipEventRecord", events[1], None)
    call("hipEventSynchronize", events[1])
    elapsed = ctypes.c_float()
    call("hipEventElapsedTime", ctypes.byref(elapsed), *events)
    for event in events:
        call("hipEventDestroy", event)
    return [elapsed.value] * len(quantiles)


class Array:
    """A NumPy array's copy in GPU memory, which Triton's kernels take as they take a tensor.

    @param dtype  of Triton, where NumPy has none like it
    """

    def __init__(self, values, dtype=None):
        self.shape, self.dtype, self.nbytes = values.shape, dtype or values.dtype, values.nbytes
        self.pointer = ctypes.c_void_p()
        call("hipMalloc", ctypes.byref(self.pointer), ctypes.c_size_t(self.nbytes))
        values = numpy.ascontiguousarray(values)
        call("hipMemcpy", self.pointer, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.nbytes), 1)

    def data_ptr(self):
        return self.pointer.value

    def ptr_range(self):  # Below 2 GiB Triton takes buffer instructions, as it does for a tensor.
        return self.nbytes

    def stride(self, axis):
        return int(numpy.prod(self.shape[axis + 1:], dtype=numpy.int64))

    def numpy(self):
        values = numpy.empty(self.shape, self.dtype)
        call("hipMemcpy", values.ctypes.data_as(ctypes.c_void_p), self.pointer, ctypes.c_size_t(self.nbytes), 2)
        return values


def empty(shape, dtype):
    """An output that a kernel has to fill: what it leaves out is not a number."""
    return Array(numpy.full(shape, numpy.nan, dtype))


def check(what, found, wanted, bound):
    """Prints PASS and the largest error, relative to the largest value; ends the program with status 1 otherwise."""
    wanted = wanted.astype(numpy.float64)
    error = numpy.abs(found.astype(numpy.float64) - wanted).max() / numpy.abs(wanted).max()
    if not error <= bound:
        raise SystemExit(f"FAIL {what}: largest error {error:.2e}, bound {bound:.0e}")
    print(f"PASS {what}: largest error {error:.2e}", flush=True)


triton.runtime.driver.set_active(Driver())
