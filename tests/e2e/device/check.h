// What every program of this folder needs: stop with a message at the first difference.
#ifndef CHECK_H
#define CHECK_H

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

// A HIP call that must succeed.
#define HIP(call)                                                                                  \
    do {                                                                                           \
        hipError_t error_ = (call);                                                                \
        if (error_ != hipSuccess) {                                                                \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error_));         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// A condition that must hold.
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
