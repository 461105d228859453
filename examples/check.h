// What the examples share: stop on a HIP error, say whether the result is right.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP_CHECK(call)                                                                            \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         hipGetErrorString(status_));                                              \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// Prints PASS or FAIL with the largest error and returns the exit status for main.
inline int report(const char *what, bool ok, double largest_error = 0)
{
    std::printf("%s: %s (largest error %g)\n", what, ok ? "PASS" : "FAIL", largest_error);
    return ok ? 0 : 1;
}

// A small deterministic generator, so that every run has the same input.
struct Random {
    unsigned state = 12345;
    unsigned next()
    {
        return state = state * 1664525u + 1013904223u;
    }
    float unit()
    {
        return static_cast<float>(next() >> 8) * (1.0f / 16777216.0f);
    }
};
