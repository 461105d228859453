/**
 * @file values_text.h
 * @brief Lists of values as Python writes them, which T1 has: [1, 2] + list(range(8, 65, 8)),
 *        [2**i for i in range(6) if i != 3].
 */
#ifndef RP_TUNE_VALUES_TEXT_H
#define RP_TUNE_VALUES_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_err;
struct rp_value;

/** Zero-initialise; release with rp_value_list_free. */
struct rp_value_list {
    struct rp_value *list;
    size_t count;
};

void rp_value_list_free(struct rp_value_list *values);

/** @return 0; RP_BAD_INPUT: something else, or more than RP_MOST_VALUES; RP_ENVIRONMENT */
int rp_values_parse(const char *text, struct rp_value_list *ret, struct rp_err *err);

/** A value so that it is read back. @return false: a text with a character that cannot be written
 */
bool rp_value_python(const struct rp_value *value, struct rp_buf *to);

#endif
