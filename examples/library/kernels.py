#!/usr/bin/env python3
"""Prints the kernels of a trace, the one to look at first before the others.

usage: kernels.py TRACE...     (ROCM_PERF_LIBRARY: path of librocm-perf.so.0 where it is not found)
"""
import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_void_p


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("text", c_char * 1024)]


NAME, BOTTLENECK = 0, 2  # enum rocm_perf_kernel_text
TIME_NS, OCCUPANCY = 1, 7  # enum rocm_perf_kernel_number

lib = ctypes.CDLL(os.environ.get("ROCM_PERF_LIBRARY", "librocm-perf.so.0"))
lib.rocm_perf_open.argtypes = [POINTER(c_char_p), c_size_t, POINTER(c_void_p), POINTER(Error)]
lib.rocm_perf_analyze.argtypes = [c_void_p, POINTER(Error)]
lib.rocm_perf_kernel_count.argtypes = [c_void_p]
lib.rocm_perf_kernel_count.restype = c_size_t
lib.rocm_perf_kernel_text.argtypes = [c_void_p, c_size_t, c_int]
lib.rocm_perf_kernel_text.restype = c_char_p
lib.rocm_perf_kernel_number.argtypes = [c_void_p, c_size_t, c_int, POINTER(c_double)]
lib.rocm_perf_close.argtypes = [c_void_p]
lib.rocm_perf_close.restype = None


def number(run, kernel, which):
    """None when it is not known."""
    value = c_double()
    return value.value if lib.rocm_perf_kernel_number(run, kernel, which, byref(value)) > 0 else None


def main(paths):
    error, run = Error(), c_void_p()
    names = (c_char_p * len(paths))(*map(os.fsencode, paths))
    try:
        if (lib.rocm_perf_open(names, len(paths), byref(run), byref(error)) < 0
                or lib.rocm_perf_analyze(run, byref(error)) < 0):
            print(f"kernels.py: {error.text.decode(errors='replace')}", file=sys.stderr)
            return error.code
        for kernel in range(lib.rocm_perf_kernel_count(run)):
            name, label = (lib.rocm_perf_kernel_text(run, kernel, which).decode(errors="replace")
                           for which in (NAME, BOTTLENECK))
            time_ns, occupancy = number(run, kernel, TIME_NS), number(run, kernel, OCCUPANCY)
            print(f"{name}: {label}" + (f", {time_ns / 1e6:.3f} ms" if time_ns is not None else "")
                  + (f", occupancy {occupancy:.2f}" if occupancy is not None else ""))
        return 0
    finally:
        lib.rocm_perf_close(run)


sys.exit(main(sys.argv[1:]))
