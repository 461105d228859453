/**
 * @file output_tap.h
 * @brief What a program prints, in files that cannot fill the disk: a configuration may print for
 * ever.
 */
#ifndef RP_TUNE_OUTPUT_TAP_H
#define RP_TUNE_OUTPUT_TAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_err;

enum { RP_TAPS = 2 }; /**< standard output, standard error */

struct rp_output_tap {
    int fds[RP_TAPS];   /**< for the program: pipes, which a thread reads until close */
    bool over[RP_TAPS]; /**< valid after close: it printed more, and the rest is gone */

    size_t left_bytes[RP_TAPS];
    int pipes[RP_TAPS], files[RP_TAPS], stop;
    pthread_t thread;
};

/**
 * @param paths       files, written anew
 * @param most_bytes  of each
 * @return 0, RP_ENVIRONMENT
 */
int rp_output_tap_open(const char *const paths[RP_TAPS], size_t most_bytes,
                       struct rp_output_tap *ret, struct rp_err *err);

/** After the program and all that it started have ended: the files are whole then. Who prints all
 * the same is not waited for. */
void rp_output_tap_close(struct rp_output_tap *tap);

#endif
