/**
 * @file launch_bounds.h
 * @brief The attributes of a kernel's head that say how large its workgroups may be and how many
 * waves of it a SIMD shall hold. They change how many registers the compiler takes, and not what
 * the kernel does.
 */
#ifndef RP_OPTIMIZE_LAUNCH_BOUNDS_H
#define RP_OPTIMIZE_LAUNCH_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

struct rp_kernel_source;
struct rp_tokens;

/** Holds the names of macros of a file that stand for launch bounds, in each of their definitions,
 * or for nothing in some of them. Release it with rp_bounds_macros_free. */
struct rp_bounds_macros {
    char **names;
    size_t count;
};

/** A file that cannot be read as tokens has none. */
void rp_bounds_macros_find(const char *file, size_t bytes, struct rp_bounds_macros *ret);
void rp_bounds_macros_free(struct rp_bounds_macros *macros);

/**
 * Finds out whether launch bounds begin at a token: __launch_bounds__, __attribute__ of
 * amdgpu_waves_per_eu or of amdgpu_flat_work_group_size from 1 on, or a macro of them.
 * @return how many tokens they have; 0: none begin there
 */
size_t rp_bounds_at(const struct rp_bounds_macros *macros, const char *text,
                    const struct rp_tokens *tokens, size_t at);

/**
 * Makes the kernel whose launch bounds are the size of its workgroups and nothing else.
 * @param items of the largest workgroup that was launched
 * @return free it; NULL: they are that, or the head is none that can be read
 */
char *rp_bounds_of_size(const struct rp_kernel_source *source, uint32_t items);

#endif
