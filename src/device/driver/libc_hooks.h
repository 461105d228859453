/**
 * @file libc_hooks.h
 * @brief This header says what the hooks of all files share: the next definition of a function, and
 * whose a path is.
 */
#ifndef RP_DEVICE_DRIVER_LIBC_HOOKS_H
#define RP_DEVICE_DRIVER_LIBC_HOOKS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/driver/vfs.h"

/**
 * Returns the next definition of @p name in the process. It is looked up once, and errno is kept.
 */
#define NEXT(name)                                                                                 \
    __extension__({                                                                                \
        static __typeof__(name) *next_;                                                            \
        __typeof__(name) *found_ = __atomic_load_n(&next_, __ATOMIC_RELAXED);                      \
        if (!found_) {                                                                             \
            int errno_ = errno;                                                                    \
            found_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                  \
            __atomic_store_n(&next_, found_, __ATOMIC_RELAXED);                                    \
            errno = errno_;                                                                        \
        }                                                                                          \
        found_;                                                                                    \
    })

#define RP_EXPORT __attribute__((visibility("default")))

/* Mark of the functions that the injected library shows to the program. */

/**
 * A program that a loader was told to start (exec_hooks.c) would find that loader as
 * /proc/self/exe.
 * @return whether @p path means this process's program, and there is such a loader: then the
 * program's absolute path is in @p ret
 */
bool rp_exec_is_own_program(const char *path, char ret[PATH_MAX]);

/** Sets errno. @return -1 */
static inline int fail(int error)
{
    errno = error;
    return -1;
}

#endif
