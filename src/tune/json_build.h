/**
 * @file json_build.h
 * @brief JSON that is put together member by member: whoever does not get memory makes NULL of what
 *        it is part of, so only the whole is to be looked at.
 */
#ifndef RP_TUNE_JSON_BUILD_H
#define RP_TUNE_JSON_BUILD_H

#include <jansson.h>

/** Takes value over. A failure makes *object NULL; so does a value of NULL. */
void rp_json_set(json_t **object, const char *key, json_t *value);
void rp_json_append(json_t **array, json_t *value);

#endif
