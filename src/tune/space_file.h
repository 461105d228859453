/**
 * @file space_file.h
 * @brief search_space.json, as users write it: docs/format/search-space.md.
 */
#ifndef RP_TUNE_SPACE_FILE_H
#define RP_TUNE_SPACE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_enumerate_watch;
struct rp_err;
struct rp_rules;
struct rp_space;

/**
 * Reads a space: a list of configurations, parameters with constraints, or T1; plain or compressed
 * by gzip.
 * @param notes  gets a line for each thing that deserves a warning; may be NULL
 * @param ret    owned by the caller; at least one configuration, all different
 * @param ret_rules  what it was made by, for an export; may be NULL; none in a list
 * @param watch  hears of a long enumeration; may be NULL
 * @return 0; RP_BAD_INPUT: what is wrong and where; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_space_read(const char *path, struct rp_buf *notes, const struct rp_enumerate_watch *watch,
                  struct rp_space **ret, struct rp_rules *ret_rules, struct rp_err *err);

/** The same from text in memory. */
int rp_space_parse(const char *text, size_t bytes, struct rp_buf *notes,
                   const struct rp_enumerate_watch *watch, struct rp_space **ret,
                   struct rp_rules *ret_rules, struct rp_err *err);

/* T1, the format in which the tuning community describes what is to be tuned; of it, the
 *        search space: parameters with lists of values, and conditions.
 */

/**
 * Writes a space with the rules it was enumerated by. What T1 asks for beside it (language, sizes)
 * is filled in without a meaning: a command has nothing of that kind.
 * @param ret  JSON, owned by the caller; read back, it gives the same configurations
 * @return 0; RP_BAD_INPUT: T1 cannot say it; RP_ENVIRONMENT
 */
int rp_fair_t1_text(const struct rp_space *space, const struct rp_rules *rules, const char *name,
                    char **ret, struct rp_err *err);

#endif
