/**
 * @file names.h
 * @brief Text to id: the contents of rocpd_string while it is written.
 */
#ifndef RP_STORE_NAMES_H
#define RP_STORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise; release with rp_names_free. */
struct rp_names {
    struct rp_names_slot *slots;
    size_t used, capacity;
};

/**
 * Id of @p text, counted from 1 in the order of first appearance.
 * @param ret_new  whether the text was not there before
 * @return 0 when out of memory
 */
int64_t rp_names_id(struct rp_names *names, const char *text, bool *ret_new);
void rp_names_free(struct rp_names *names);

#endif
