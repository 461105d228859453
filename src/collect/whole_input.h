/**
 * @file whole_input.h
 * @brief Standard input of programs that run many times, perhaps at once and on other machines: all
 * of it, in a file. One program after another: kept_input.h.
 */
#ifndef RP_COLLECT_WHOLE_INPUT_H
#define RP_COLLECT_WHOLE_INPUT_H

#include <stdbool.h>
#include <stdint.h>

struct rp_err;

/** More is an endless stream, or better a file of the program. */
static const uint64_t RP_WHOLE_INPUT_MOST_BYTES = (uint64_t)1 << 30;

/**
 * Reads standard input to its end, where it is a file, a pipe or a socket.
 * @param path     made, or as it was if nothing has come; only the user may read it
 * @param most_bytes  whole MiB
 * @param resumed  what is there already is what programs have had: other input is refused
 * @param ret_has  whether there is such a file now
 * @param ret_idle standard input is open, and nothing has come: as if it were empty
 * @return 0; RP_USAGE: it has no end, or is another one; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_whole_input_save(const char *path, uint64_t most_bytes, bool resumed, bool *ret_has,
                        bool *ret_idle, struct rp_err *err);

#endif
