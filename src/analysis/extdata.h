/**
 * @file extdata.h
 * @brief The JSON columns of a trace. They add detail: text that is not JSON counts as empty.
 */
#ifndef RP_ANALYSIS_EXTDATA_H
#define RP_ANALYSIS_EXTDATA_H

#include <stdint.h>

#include <jansson.h>

struct rp_err;

/**
 * Reads an extdata column (NULL = none). The result may be NULL, which every json_object_get
 * accepts; release it with json_decref.
 * @return 0, or RP_ENVIRONMENT (out of memory)
 */
int rp_extdata_load(const char *text, json_t **ret, struct rp_err *err);

/** A positive integer of the object, 0 when absent, of another kind or above most. */
uint64_t rp_extdata_positive(const json_t *object, const char *key, uint64_t most);

#endif
