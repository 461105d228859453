#include "replay/scalars.h"

#include <stdbool.h>
#include <string.h>

#include "capture/code_metadata.h"
#include "replay/addresses.h"

/* Greater whole numbers are as often floating point numbers, addresses or masks. */
enum { MOST_SIZE = 1 << 24 };

void rp_scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                     struct rp_scalars *ret)
{
    *ret = (struct rp_scalars){0};
    for (size_t i = 0; i < kernel->arg_count && ret->count < RP_SCALARS; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (!rp_code_text_is(arg->kind, "by_value") || (arg->bytes != 4 && arg->bytes != 8) ||
            arg->offset > kernarg_bytes || kernarg_bytes - arg->offset < arg->bytes)
            continue;
        ret->at[ret->count].offset = (uint32_t)arg->offset;
        ret->at[ret->count++].bytes = (uint32_t)arg->bytes;
    }
}

/* Between 2^-64 and 2^64, without zero. */
static bool is_floating(uint64_t bits, unsigned bytes)
{
    const int exponent =
        bytes == 4 ? (int)(bits >> 23 & 0xff) - 127 : (int)(bits >> 52 & 0x7ff) - 1023;

    return exponent >= -64 && exponent <= 64;
}

static uint64_t other(uint64_t bits, unsigned bytes)
{
    if (bits >= 2 && bits <= MOST_SIZE)
        return (bits - bits / 8 - 2) | 1;
    if (bits > MOST_SIZE && is_floating(bits, bytes))
        return bits ^ (bytes == 4 ? (uint64_t)1 << 21 : (uint64_t)1 << 50);
    return bits;
}

uint64_t rp_scalars_change(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                           uint8_t *kernarg)
{
    uint64_t count = 0;

    for (size_t i = 0; i < scalars->count; i++) {
        uint8_t *at = kernarg + scalars->at[i].offset;
        uint64_t bits = 0, changed;

        memcpy(&bits, at, scalars->at[i].bytes);
        if (rp_addresses_have(addresses, bits))
            continue;
        changed = other(bits, scalars->at[i].bytes);
        count += changed != bits;
        memcpy(at, &changed, scalars->at[i].bytes);
    }
    return count;
}
