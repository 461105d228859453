/**
 * @file postgres.h
 * @brief Talks to a PostgreSQL server through libpq, which is loaded when one is named, and only
 * then. The server may be anybody's: what it sends is bounded in size and in time.
 */
#ifndef RP_TRACE_POSTGRES_H
#define RP_TRACE_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_pg;

/** Says whether the name is meant to be an address, also if it is a wrong one. */
bool rp_pg_is_address(const char *name);
/**
 * Tests the form of postgresql://[USER[:PASSWORD]@]HOST[:PORT][,...][/DATABASE][?PARAMETERS].
 * @return 0; RP_USAGE, with a message that has nothing of the address
 */
int rp_pg_check_address(const char *address, struct rp_err *err);
/** Returns the address without password and parameters, in fresh memory; NULL: memory has ended.
 * Nothing is shown of one that has another form. */
char *rp_pg_shown_address(const char *address);

/** @return 0; RP_USAGE; RP_ENVIRONMENT: there is no libpq, or no server that lets us in */
int rp_pg_connect(const char *address, struct rp_pg **ret, struct rp_err *err);
/** Ends the connection; the server takes back what was not committed. It may be NULL. */
void rp_pg_close(struct rp_pg *pg);

/** One row, whose values are there for as long as it is taken. */
struct rp_pg_row {
    const struct rp_pg *pg;
    const void *result;
    int columns;
};
/** @return the text; NULL for null, and for a column that the answer has not */
const char *rp_pg_text(const struct rp_pg_row *row, int column);
/** @return false: it is no whole number from least to most */
bool rp_pg_number(const struct rp_pg_row *row, int column, int64_t least, int64_t most,
                  int64_t *ret);
/** @return false: it is neither true nor false */
bool rp_pg_bool(const struct rp_pg_row *row, int column, bool *ret);

/** Takes one row of an answer. */
typedef int rp_pg_take(void *context, const struct rp_pg_row *row, struct rp_err *err);

/**
 * Runs one statement, whose values are $1, $2, ...
 * @param take may be NULL: rows are not looked at
 * @return 0; what take returned; RP_BAD_INPUT: the answer has no end, or is no answer;
 *         RP_ENVIRONMENT: the server refused it, or is gone. The connection is of no use then
 */
int rp_pg_run(struct rp_pg *pg, const char *sql, size_t count, const char *const *values,
              rp_pg_take *take, void *context, struct rp_err *err);
/** Runs several statements that have no values, and no rows. */
int rp_pg_run_all(struct rp_pg *pg, const char *sql, struct rp_err *err);

#endif
