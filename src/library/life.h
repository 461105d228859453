/**
 * @file life.h
 * @brief When and where the process of a trace ran, and as what: which traces are of one run.
 */
#ifndef RP_LIBRARY_LIFE_H
#define RP_LIBRARY_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store;

/** Of a trace; of a merged one the first process, as it was merged on purpose. Strings are the
 *  store's. */
struct rp_life {
    const char *path, *machine;
    const char *command; /**< "": not known, as of CSV */
    int64_t pid, ppid;
    const char *guid;         /**< of databases it begins with the time at which it was made; "" */
    int64_t start_ns, end_ns; /**< both 0: not known */
    bool by_kernels;          /**< the times are those of its kernels: it was there for longer */
    bool own_clock; /**< of the software device: its times do not compare with those of others */
};

int rp_life_of(struct rp_store *store, struct rp_life *ret, struct rp_err *err);

/** Clocks of different machines do not compare. */
bool rp_lives_on_one_machine(const struct rp_life *a, const struct rp_life *b);
/** Both known, and one ended before the other began. */
bool rp_lives_apart(const struct rp_life *a, const struct rp_life *b);
/** Started by the same process, or one by the other: a script's processes are one run. */
bool rp_lives_related(const struct rp_life *a, const struct rp_life *b);

#endif
