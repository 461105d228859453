#include "replay/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

enum {
    MOST_DISTANCE = 16, /* of the same field in an array of structures, in units */
    TIMES_LARGER = 8,   /* than what was seen to differ, or smaller */
};

/* That chance makes such a row anywhere in a region. */
static const double chance = 1e-3;

/* That one number is the same in all runs is at least as likely as this: sums of few terms differ
 * rarely, beside others that always do. */
static const double least_same = 0.5;

unsigned rp_near_unit_bytes(const struct rp_compare_rule *rule)
{
    return rule->type == RP_F64 ? 8 : 4;
}

/* --- units --------------------------------------------------------------------------------- */

/* A sum as small as the tolerance would differ; 0 is an empty one. */
static bool is_alike(const struct rp_spread_of_type *s, const struct rp_compare_rule *rule,
                     uint64_t bits)
{
    const double size = fabs(rp_number_value(rule->type, bits));

    return isfinite(size) && size > 0 && size >= rule->abs && size >= s->smallest / TIMES_LARGER &&
           size <= s->largest * TIMES_LARGER;
}

static bool all_alike(const struct rp_spread_of_type *s, const struct rp_compare_rule *rule,
                      const uint8_t *unit, unsigned unit_bytes)
{
    const unsigned width = rp_number_shape(rule->type).bytes;

    for (unsigned at = 0; at < unit_bytes; at += width) {
        uint64_t bits = 0;

        memcpy(&bits, unit + at, width);
        if (!is_alike(s, rule, bits))
            return false;
    }
    return true;
}

void rp_near_units(const struct rp_spread *spread, const struct rp_compare_rule *rule,
                   const uint8_t *before, const uint8_t *after, const uint64_t *differs,
                   uint8_t *ret)
{
    const struct rp_spread_of_type *s = &spread->types[rule->type - RP_F32];
    const unsigned bytes = rp_near_unit_bytes(rule);

    for (size_t at = 0; at < RP_PAGE_BYTES; at += bytes) {
        const bool changed = memcmp(before + at, after + at, bytes) != 0;
        bool varies = false;

        for (size_t word = at / 4; word < (at + bytes) / 4; word++)
            varies = varies || rp_word_in(differs, word);
        if (varies)
            *ret++ = RP_NEAR_DIFFERS;
        else if (all_alike(s, rule, after + at, bytes))
            *ret++ = changed ? RP_NEAR_SAME : RP_NEAR_KEPT;
        else
            *ret++ = changed ? RP_NEAR_OTHER : RP_NEAR_EXACT;
    }
}

/* --- rows ---------------------------------------------------------------------------------- */

void rp_near_count(const uint8_t *units, size_t count, struct rp_near_count *total)
{
    for (size_t i = 0; i < count; i++) {
        total->differs += units[i] == RP_NEAR_DIFFERS;
        total->same += units[i] == RP_NEAR_SAME;
    }
}

/* So that a row of one field that is a number like the others is found by chance in hardly any
 * region. */
static size_t least_row(const struct rp_near_count *total)
{
    const double all = (double)(total->differs + total->same);
    const double same = fmax(least_same, (double)total->same / all);

    return same >= 1 ? SIZE_MAX : (size_t)ceil(log(chance / (MOST_DISTANCE * all)) / log(same));
}

static bool in_row(uint8_t unit)
{
    return unit == RP_NEAR_SAME || unit == RP_NEAR_OTHER;
}

static void find_rows(const uint8_t *units, size_t count, size_t distance, size_t least,
                      uint8_t *drop)
{
    for (size_t first = 0; first < distance; first++)
        for (size_t from = first, to; from < count; from = to + distance) {
            for (to = from; to < count && in_row(units[to]); to += distance)
                ;
            for (size_t i = from; (to - from) / distance >= least && i < to; i += distance)
                drop[i] = true;
        }
}

int rp_near_drop_rows(const struct rp_near_count *total, uint8_t *units, size_t count,
                      struct rp_err *err)
{
    rp_autofree uint8_t *drop = calloc(count + 1, 1);

    if (!drop)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (total->same == 0)
        return 0;
    for (size_t distance = 1; distance <= MOST_DISTANCE; distance++)
        find_rows(units, count, distance, least_row(total), drop);
    for (size_t i = 0; i < count; i++)
        if (drop[i])
            units[i] = RP_NEAR_EXACT;
    return 0;
}

void rp_near_mask(const uint8_t *units, unsigned unit_bytes, uint64_t *ret)
{
    memset(ret, 0, RP_PAGE_MASKS * sizeof *ret);
    for (size_t word = 0; word < RP_PAGE_WORDS; word++)
        if (units[4 * word / unit_bytes] >= RP_NEAR_KEPT)
            ret[word / 64] |= (uint64_t)1 << (word % 64);
}
