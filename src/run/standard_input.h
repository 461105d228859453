/**
 * @file standard_input.h
 * @brief Gives each run of a program that runs several times the same standard input.
 *
 * A file is opened again, a device is inherited. What comes through a pipe or a socket is read as
 * far as the program has read it, kept, and given to the next run again, which may read on: what no
 * run reads stays there, unless one has read more than 256 KiB. A terminal cannot be kept: a
 * program that waits for it is ended, which is told.
 */
#ifndef RP_RUN_STANDARD_INPUT_H
#define RP_RUN_STANDARD_INPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rp_err;

enum rp_input_kind {
    RP_INPUT_INHERITED, /**< nothing to do: one run, a device, or there is none */
    RP_INPUT_FILE,
    RP_INPUT_STREAM,
    RP_INPUT_TERMINAL,
};

/** A zeroed struct means that input is inherited. Release it with rp_kept_input_free. */
struct rp_kept_input {
    enum rp_input_kind kind;
    const char *remedy;
    int source;            /**< what standard input is by itself */
    bool again;            /**< a run has had it */
    off_t offset;          /**< of a file, at the first run */
    uint64_t most_bytes;   /**< of a stream */
    uint64_t memory_bytes; /**< of these in memory; the others are in .file */
    uint8_t *memory;
    uint64_t capacity;
    int file; /**< -1: none so far; nobody else can open it */
    uint64_t bytes;
    bool ended; /**< the source has no more */
    bool too_much;
    int trouble;       /**< errno of keeping it; 0: none */
    bool asked_person; /**< a program waited for the terminal */
    /* These are used while a run goes on. */
    bool feeding;
    pthread_t feeder;
    int to_program; /**< write end of its pipe */
    int stop[2];    /**< a pipe: ends the feeder */
    bool peeks;     /**< nothing is taken of a stream but what the program has read */
    int side[2];    /**< a pipe for pieces of a pipe that are looked at */
};

/**
 * Looks at what standard input is.
 * @param several whether there will be more than one run
 * @param remedy how to have only one run: "use --runs 1"; static
 */
int rp_kept_input_open(bool several, const char *remedy, struct rp_kept_input *ret,
                       struct rp_err *err);

/** From here on standard input of this process is that of the run. */
int rp_kept_input_begin(struct rp_kept_input *input, struct rp_err *err);

/**
 * Restores standard input when the run is over. It accepts a run that was not begun.
 * @return 0; RP_USAGE when the input cannot be given to another run; RP_ENVIRONMENT when it could
 * not be kept
 */
int rp_kept_input_end(struct rp_kept_input *input, struct rp_err *err);

void rp_kept_input_free(struct rp_kept_input *input);

/* Programs that run many times, perhaps at once and on other machines, get all of standard input as
 * a file. For one program after another struct rp_kept_input is enough. */

/** More is an endless stream, or better a file of the program. */
static const uint64_t RP_SAVED_INPUT_MAX_BYTES = (uint64_t)1 << 30;

struct rp_saved_input {
    const char *path; /**< made, or as it was if nothing has come; only the user may read it */
    bool resumed; /**< what is there already is what programs have had: other input is refused */
    uint64_t most_bytes; /**< whole MiB; 0: RP_SAVED_INPUT_MAX_BYTES */
    int notice_ms;       /**< a pause after which a note says what is waited for; 0: 2 s */
    int patience_ms;     /**< a pause that is refused; 0: 60 s */
    void (*note)(void *context, const char *text); /**< NULL: nobody wants notes */
    void *context;
};

/**
 * Reads standard input to its end, where it is a file, a pipe or a socket. It waits for late input,
 * which is never taken for empty before it has ended.
 * @param ret_has whether there is such a file now
 * @return 0; RP_USAGE: it pauses too long, has no end, or differs from before; RP_ENVIRONMENT;
 * RP_INTERRUPTED
 */
int rp_saved_input_read(const struct rp_saved_input *input, bool *ret_has, struct rp_err *err);

#endif
