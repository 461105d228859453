/**
 * @file code_pointers.h
 * @brief Addresses of functions (and of tables of such) of the captured code object in memory.
 *
 * The loader has no way to be told where to put a code object, so that its functions are elsewhere
 * than in the program. Memory keeps the addresses that they had, where a copy of the code lies: a
 * kernel that calls through them runs the captured functions, whichever it was built with, and on a
 * GPU does not run them at all, as that memory is not for code.
 */
#ifndef RP_REPLAY_CODE_POINTERS_H
#define RP_REPLAY_CODE_POINTERS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/replay.h"

struct rp_code_pointer {
    const char *where; /**< "memory at" or "its arguments at offset"; NULL: there is none */
    uint64_t at;
    uint64_t offset; /**< in the captured code object */
};

/**
 * Looks for the first word in memory before the dispatch, or in the arguments, that leads into
 * what the loader has made of the captured code object, its variables aside.
 */
int rp_code_pointer_find(const struct rp_replay *r, const uint8_t *args, size_t arg_bytes,
                         struct rp_code_pointer *ret, struct rp_err *err);

#endif
