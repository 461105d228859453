/**
 * @file json_text.h
 * @brief Members of JSON objects that workers and their pool exchange: words of a command may be
 * any bytes but zeros, which JSON strings are not.
 */
#ifndef RP_TUNE_JSON_TEXT_H
#define RP_TUNE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;
struct rp_env_change;
struct rp_err;

/** A string, or {"base16": "61ff"} for what is not UTF-8. NULL: out of memory. */
json_t *rp_json_of_text(const char *text);
/** [text, ...]; NULL: out of memory */
json_t *rp_json_of_words(char *const *words);
/** [[name, text or null], ...]; accepts NULL. NULL: out of memory */
json_t *rp_json_of_variables(const struct rp_env_change *variables);

/** Appends the value and a newline, takes it over. @param value  NULL: out of memory */
int rp_json_write_line(json_t *value, struct rp_buf *to, struct rp_err *err);
/** @return the object in the line; NULL with a message: it is none */
json_t *rp_json_read_line(const char *line, size_t bytes, struct rp_err *err);

/* Members, written only on success. RP_BAD_INPUT names the member. */

/** @param ret  owned; NULL when it is null or not there, which is an error if it is needed */
int rp_json_take_text(const json_t *object, const char *key, bool needed, char **ret,
                      struct rp_err *err);
/** @param ret  owned, NULL-terminated, at least one word; NULL when it is not there */
int rp_json_take_words(const json_t *object, const char *key, bool needed, char ***ret,
                       struct rp_err *err);
/** @param ret  owned, terminated by a NULL name; NULL when it is not there */
int rp_json_take_variables(const json_t *object, const char *key, struct rp_env_change **ret,
                           struct rp_err *err);
int rp_json_take_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                         int64_t *ret, struct rp_err *err);
int rp_json_take_bool(const json_t *object, const char *key, bool *ret, struct rp_err *err);

#endif
