/**
 * @file cleanup.h
 * @brief Releases at the end of scope, with an explicit way to keep.
 *
 *     rp_autofree char *path = rp_path_join(dir, name);
 *     ...
 *     *ret_path = rp_steal(path);
 */
#ifndef RP_BASE_CLEANUP_H
#define RP_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define rp_cleanup(fn) __attribute__((cleanup(fn)))

#define rp_autofree  rp_cleanup(rp_cleanup_free)
#define rp_autoclose rp_cleanup(rp_cleanup_close)

/** Defines the cleanup function of a type, from a release function that accepts NULL. */
#define RP_DEFINE_CLEANUP(type, release)                                                           \
    static inline void rp_cleanup_##release(type **slot)                                           \
    {                                                                                              \
        release(*slot);                                                                            \
    }

/** Takes the pointer out of an auto-released variable. */
#define rp_steal(ptr)                                                                              \
    __extension__({                                                                                \
        __typeof__(ptr) stolen_ = (ptr);                                                           \
        (ptr) = NULL;                                                                              \
        stolen_;                                                                                   \
    })

static inline void rp_cleanup_free(void *slot)
{
    free(*(void **)slot);
}

static inline void rp_cleanup_close(const int *slot)
{
    if (*slot >= 0)
        close(*slot);
}

#endif
