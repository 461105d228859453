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

struct rp_whole_input {
    const char *path; /**< made, or as it was if nothing has come; only the user may read it */
    bool resumed; /**< what is there already is what programs have had: other input is refused */
    uint64_t most_bytes; /**< whole MiB; 0: RP_WHOLE_INPUT_MOST_BYTES */
    int notice_ms;       /**< a pause after which a note says what is waited for; 0: 2 s */
    int patience_ms;     /**< a pause that is refused; 0: 60 s */
    void (*note)(void *context, const char *text); /**< NULL: nobody wants notes */
    void *context;
};

/**
 * Reads standard input to its end, where it is a file, a pipe or a socket. What comes late comes:
 * input is never taken for empty before it has ended.
 * @param ret_has  whether there is such a file now
 * @return 0; RP_USAGE: it pauses too long, has no end, or is another one; RP_ENVIRONMENT;
 *         RP_INTERRUPTED
 */
int rp_whole_input_save(const struct rp_whole_input *input, bool *ret_has, struct rp_err *err);

#endif
