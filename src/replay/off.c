#include "replay/off.h"

#include <math.h>
#include <string.h>

static const enum rp_number_type rounded_types[] = {RP_F32, RP_F64};

enum { ROUNDED_TYPES = sizeof rounded_types / sizeof *rounded_types };

/* Small integers look like denormal numbers. */
static bool is_number(enum rp_number_type type, uint64_t bits)
{
    return isfinite(rp_number_value(type, bits)) && !rp_number_is_denormal(type, bits);
}

static void note_number(struct rp_off *off, unsigned i, const uint8_t *got, const uint8_t *expected)
{
    const unsigned width = rp_number_shape(rounded_types[i]).bytes;
    uint64_t a = 0, b = 0, steps;

    memcpy(&a, got, width);
    memcpy(&b, expected, width);
    if (a == b)
        return;
    steps = rp_number_steps(rounded_types[i], a, b);
    if (steps > RP_OFF_MOST_STEPS || !is_number(rounded_types[i], a) ||
        !is_number(rounded_types[i], b))
        off->far[i] = true;
    off->steps[i] = steps > off->steps[i] ? steps : off->steps[i];
}

void rp_off_note(struct rp_off *off, const uint8_t *got, const uint8_t *expected, size_t bytes)
{
    for (size_t at = 0; at < bytes && !(off->far[0] && off->far[1]); at += 8) {
        const bool low = memcmp(got + at, expected + at, 4) != 0;
        const bool high = memcmp(got + at + 4, expected + at + 4, 4) != 0;

        if (!low && !high)
            continue;
        off->words += (unsigned)low + high;
        off->odd = off->odd || high;
        note_number(off, 0, got + at, expected + at);
        note_number(off, 0, got + at + 4, expected + at + 4);
        note_number(off, 1, got + at, expected + at);
    }
}

/* Of fp64 that differ by little, only the lower halves do, which can look like fp32. One number
 * alone is taken for fp32. */
bool rp_off_is_near(const struct rp_off *off, enum rp_number_type *ret_type, uint64_t *ret_steps)
{
    const bool wide = !off->far[1] && (off->far[0] || (!off->odd && off->words > 1));

    if (!off->words || (off->far[0] && off->far[1]))
        return false;
    *ret_type = rounded_types[wide];
    *ret_steps = off->steps[wide];
    return true;
}
