/**
 * @file history_store.h
 * @brief What a database has to do for a history. history_db.c says in which order.
 */
#ifndef RP_TRACE_HISTORY_STORE_H
#define RP_TRACE_HISTORY_STORE_H

#include "trace/history_db.h"

struct rp_err;

/** A history that is open, in a transaction. Each database has a struct of its own for it. */
struct rp_history_store;

enum rp_history_access {
    RP_HISTORY_READ,
    RP_HISTORY_CHANGE, /**< one writer at a time; the others wait */
    RP_HISTORY_MAKE,   /**< the same, and tables that are not there are made */
};

struct rp_history_database {
    /** @return 0; RP_USAGE; RP_BAD_INPUT */
    int (*check_name)(const char *name, struct rp_err *err);
    /**
     * Begins a transaction. What anybody made of the history is refused here.
     * @param ret to be closed by the caller, also on failure
     * @return 0; RP_USAGE; RP_BAD_INPUT: it is no history, or there is none to be read or changed;
     *         RP_ENVIRONMENT
     */
    int (*open)(const char *name, enum rp_history_access access, struct rp_history_store **ret,
                struct rp_err *err);
    /** @param ret_id 0: it is not there */
    int (*find)(struct rp_history_store *store, const char *hash, int64_t *ret_id,
                struct rp_err *err);
    int (*put)(struct rp_history_store *store, const struct rp_history_result *result,
               int64_t *ret_id, struct rp_err *err);
    /** @param ret_was whether there was one of that number */
    int (*remove)(struct rp_history_store *store, int64_t id, bool *ret_was, struct rp_err *err);
    /** @param ret to be freed by the caller, also on failure */
    int (*read)(struct rp_history_store *store, struct rp_history *ret, struct rp_err *err);
    int (*commit)(struct rp_history_store *store, struct rp_err *err);
    /** Takes back what was not committed. The store may be NULL. */
    void (*close)(struct rp_history_store *store);
};
extern const struct rp_history_database rp_history_sqlite, rp_history_postgres;

/** Says where no history is yet, in either database. */
int rp_history_fail_missing(struct rp_err *err);

/** Writes times as JSON that reads back as the same numbers. It is NULL when memory has ended. */
char *rp_history_runs_text(const struct rp_history_times *times);
/** Reads this, or refuses what anybody wrote in its place. */
int rp_history_read_runs(const char *text, struct rp_history_times *ret, struct rp_err *err);

#endif
