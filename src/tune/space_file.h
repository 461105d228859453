/**
 * @file space_file.h
 * @brief search_space.json, as users write it: docs/format/search-space.md.
 */
#ifndef RP_TUNE_SPACE_FILE_H
#define RP_TUNE_SPACE_FILE_H

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

#endif
