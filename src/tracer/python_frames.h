/**
 * @file python_frames.h
 * @brief Frames of Python code on the stack of the calling thread, read from CPython's structures.
 *
 * Python's own functions for it want its lock, which a thread that calls HIP has given back, and
 * waiting for it there could wait for ever. A thread's frames do not change while it is in a call,
 * so they are read where they lie.
 */
#ifndef RP_TRACER_PYTHON_FRAMES_H
#define RP_TRACER_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_python_layout;

struct rp_python {
    _Atomic bool trusted;                  /**< its structures are as the layout says */
    const struct rp_python_layout *layout; /**< NULL: there is none, or none that is known */
    uintptr_t code_type, text_type, bytes_type;
    int (*is_initialized)(void);
    void *(*thread_state)(void);
};

/** Deeper ones are left out: what calls HIP is among the innermost. */
enum { RP_PYTHON_FRAMES = 16 };

struct rp_python_frame {
    uintptr_t code;        /**< object, which lives as long as the frame does */
    uint64_t identity;     /**< of it: another one has another, also at the same address */
    uintptr_t instruction; /**< where it is */
};

struct rp_python_place {
    char file[4096], function[256];
    uint32_t line;
};

/** Looks once for a Python in this process. */
void rp_python_find(struct rp_python *python);

/** Returns how many frames of Python code this thread is in, the innermost first. */
uint32_t rp_python_walk(struct rp_python *python, struct rp_python_frame ret[RP_PYTHON_FRAMES]);

/** @param frame  in which this thread still is
 * @return whether its file, function and line are known */
bool rp_python_describe(const struct rp_python *python, const struct rp_python_frame *frame,
                        struct rp_python_place *ret);

#endif
