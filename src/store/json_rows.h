/**
 * @file json_rows.h
 * @brief Records of a JSON trace become rows of rocpd: those that rocprofv3 would have written.
 */
#ifndef RP_STORE_JSON_ROWS_H
#define RP_STORE_JSON_ROWS_H

#include "store/json_value.h"
#include "store/memdb.h"
#include "store/nesting.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

/** Zero-initialise; the parts are released by their owner. */
struct rp_json_loader {
    struct rp_memdb m;
    struct rp_calls orphans; /**< calls of which the file does not say what made them */
    json_t **kinds;          /**< names of operations, by kind of record */
    size_t kind_count;
    struct rp_json_agent {
        int64_t handle, id;
    } * agents;
    size_t agent_count;
    int64_t copies, regions;
    const json_t *whole; /**< the record, where it is wanted so */
};

enum {
    RP_JSON_SECTIONS = 0
#define SECTION(path, function, whole) +1
#include "store/json_sections.def"
#undef SECTION
};

/** In the order in which they are to be read. */
extern const struct rp_json_section {
    const char *path; /**< "buffer_records.hip_api" */
    int (*add)(struct rp_json_loader *l, const struct rp_json_value *record, struct rp_err *err);
    bool whole; /**< it also wants what jansson made of it */
} rp_json_sections[RP_JSON_SECTIONS];

/** Has a process of the file a record in that section? False when the file cannot be read so far.
 */
bool rp_json_has_records(const char *path, const char *section);

/** Behind the last record. */
int rp_json_put_parents(struct rp_json_loader *l, struct rp_err *err);

#endif
