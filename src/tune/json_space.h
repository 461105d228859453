/**
 * @file json_space.h
 * @brief What all files of search spaces have in common: JSON, plain or compressed, and lists of
 *        configurations in it.
 */
#ifndef RP_TUNE_JSON_SPACE_H
#define RP_TUNE_JSON_SPACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_err;
struct rp_space;
struct rp_value;

static inline void rp_json_drop(json_t **json)
{
    json_decref(*json);
}

#define rp_autojson __attribute__((cleanup(rp_json_drop))) json_t *

/** A whole file, decompressed if gzip compressed it. @return 0, RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_json_read_file(const char *path, struct rp_buf *text, struct rp_err *err);

/** @return 0; RP_BAD_INPUT with line and column: no JSON, or the same key twice in an object */
int rp_json_space_parse(const char *text, size_t bytes, json_t **ret, struct rp_err *err);

/** The text is borrowed. @return false: neither a number, a text, true nor false */
bool rp_json_value(const json_t *json, struct rp_value *ret);
/** NULL: out of memory. */
json_t *rp_json_of_value(const struct rp_value *value);

/** Names are printed and stand in templates. @return 0, RP_BAD_INPUT */
int rp_space_check_name(const char *name, struct rp_err *err);

/**
 * Adds a parameter with the values that configs, an array of objects, have of it. One that lacks
 * it, or has null, is one in which it does not count.
 */
int rp_json_add_parameter(struct rp_space *space, const char *name, const json_t *configs,
                          struct rp_err *err);

/** @param config  its values have been added. @return as rp_space_add: 1 it was there already */
int rp_json_add_config(struct rp_space *space, const json_t *config, struct rp_err *err);

#endif
