/* Spaces of integers that tests make. */
#ifndef RP_TEST_MADE_SPACE_H
#define RP_TEST_MADE_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

static inline void made_parameter(struct rp_space *space, const char *name, const int *numbers,
                                  size_t count)
{
    struct rp_value values[64];
    struct rp_err err = RP_ERR_INIT;

    for (size_t i = 0; i < count; i++)
        values[i] = (struct rp_value){.kind = RP_VALUE_INTEGER, .integer = numbers[i]};
    assert_int_equal(rp_space_add_parameter(space, name, values, count, &err), 0);
}

static inline void made_row(struct rp_space *space, const uint16_t *row)
{
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_space_add(space, row, &err), 0);
}

/** All combinations of the values. */
static inline void made_product(struct rp_space *space)
{
    uint16_t row[RP_MAX_PARAMETERS] = {0};
    size_t at = 0;

    while (at < space->parameter_count) {
        made_row(space, row);
        for (at = 0; at < space->parameter_count; at++) {
            if (++row[at] < space->parameters[at].count)
                break;
            row[at] = 0;
        }
    }
}

#endif
