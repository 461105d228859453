#include "replay/scalars.h"

#include <stdbool.h>
#include <string.h>

#include "replay/addresses.h"
#include "trace/code_object.h"

/* Greater whole numbers are as often floating point numbers, addresses or masks. */
enum { MOST_SIZE = 1 << 24 };

static void add(struct rp_scalars *s, uint64_t offset, uint32_t bytes, bool field, bool may_point)
{
    if (s->count == RP_SCALARS)
        return;
    s->at[s->count].offset = (uint32_t)offset;
    s->at[s->count].bytes = bytes;
    s->at[s->count].field = field;
    s->at[s->count++].may_point = may_point;
}

/* A structure is looked at word by word: the metadata do not say what is in it. */
static void add_fields(struct rp_scalars *s, const struct rp_code_arg *arg, size_t kernarg_bytes)
{
    if (arg->bytes <= 2) {
        add(s, arg->offset, (uint32_t)arg->bytes, true, false);
        return;
    }
    for (uint64_t at = (arg->offset + 3) & ~(uint64_t)3; at + 4 <= arg->offset + arg->bytes;
         at += 4)
        add(s, at, 4, true, (at & ~(uint64_t)7) + 8 <= kernarg_bytes);
}

void rp_scalars_find(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                     struct rp_scalars *ret)
{
    *ret = (struct rp_scalars){0};
    for (unsigned fields = 0; fields < 2; fields++)
        for (size_t i = 0; i < kernel->arg_count; i++) {
            const struct rp_code_arg *arg = &kernel->args[i];
            const bool plain = arg->bytes == 4 || arg->bytes == 8;

            if (!rp_code_text_is(arg->kind, "by_value") || arg->offset > kernarg_bytes ||
                kernarg_bytes - arg->offset < arg->bytes || plain == fields)
                continue;
            if (plain)
                add(ret, arg->offset, (uint32_t)arg->bytes, false, false);
            else
                add_fields(ret, arg, kernarg_bytes);
        }
}

/* Between 2^-64 and 2^64, without zero. */
static bool is_floating(uint64_t bits, unsigned bytes)
{
    const int exponent =
        bytes == 4 ? (int)(bits >> 23 & 0xff) - 127 : (int)(bits >> 52 & 0x7ff) - 1023;

    return exponent >= -64 && exponent <= 64;
}

static bool is_number(uint64_t bits, unsigned bytes)
{
    return bytes >= 4 && bits > MOST_SIZE && is_floating(bits, bytes);
}

static uint64_t other(uint64_t bits, unsigned bytes)
{
    if (bits >= 2 && bits <= MOST_SIZE)
        return (bits - bits / 8 - 2) | 1;
    if (is_number(bits, bytes))
        return bits ^ (bytes == 4 ? (uint64_t)1 << 21 : (uint64_t)1 << 50);
    return bits;
}

/* What is not a small whole number in 2 bytes may be a half. */
static uint64_t other_field(uint64_t bits, unsigned bytes)
{
    enum { LEAST_HALF = 0x400, QUARTER = 0x100 };

    if (bytes == 1 && bits <= 1)
        return bits ^ 1;
    return bytes == 2 && bits >= LEAST_HALF ? bits ^ QUARTER : other(bits, bytes);
}

static uint64_t other_sign(uint64_t bits, unsigned bytes)
{
    const int64_t value = bytes == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;

    if (bytes < 4)
        return bits;
    if (value < 0 && value >= -MOST_SIZE)
        return (uint64_t)-value;
    return is_number(bits, bytes) ? bits ^ (uint64_t)1 << (8 * bytes - 1) : bits;
}

static uint64_t value_of(const struct rp_scalars *scalars, size_t i, const uint8_t *kernarg)
{
    uint64_t bits = 0;

    memcpy(&bits, kernarg + scalars->at[i].offset, scalars->at[i].bytes);
    return bits;
}

/* By how many equal ones there are, and how many of them come behind it. */
static uint64_t unequal(const struct rp_scalars *scalars, size_t which, const uint8_t *was)
{
    const uint64_t bits = value_of(scalars, which, was);
    const unsigned bytes = scalars->at[which].bytes;
    uint64_t equal = 0, behind = 0, step;

    for (size_t i = 0; i < scalars->count; i++)
        if (value_of(scalars, i, was) == bits) {
            equal++;
            behind += scalars->at[i].offset > scalars->at[which].offset;
        }
    if (is_number(bits, bytes))
        return bits ^ (behind & 7) << (bytes == 4 ? 20 : 49);
    if (bits < equal || bits > MOST_SIZE)
        return bits;
    step = (bits / 16) | 1;
    return bits - behind * (step * equal < bits ? step : 1);
}

static bool is_address(const struct rp_scalars *scalars, size_t i,
                       const struct rp_addresses *addresses, const uint8_t *kernarg)
{
    uint64_t whole = value_of(scalars, i, kernarg);

    if (scalars->at[i].may_point)
        memcpy(&whole, kernarg + (scalars->at[i].offset & ~7u), sizeof whole);
    return rp_addresses_have(addresses, whole);
}

static uint64_t changed(const struct rp_scalars *scalars, size_t i, enum rp_scalars_way way,
                        const uint8_t *was)
{
    const uint64_t bits = value_of(scalars, i, was);
    const unsigned bytes = scalars->at[i].bytes;

    if (way == RP_SCALARS_UNEQUAL)
        return unequal(scalars, i, was);
    if (way == RP_SCALARS_SIGNS)
        return other_sign(bits, bytes);
    if (scalars->at[i].field != (way == RP_SCALARS_FIELDS))
        return bits;
    return scalars->at[i].field ? other_field(bits, bytes) : other(bits, bytes);
}

uint64_t rp_scalars_change(const struct rp_scalars *scalars, const struct rp_addresses *addresses,
                           enum rp_scalars_way way, uint8_t *kernarg)
{
    uint64_t is[RP_SCALARS], count = 0;

    /* All of them first: what they become depends on what the others were. */
    for (size_t i = 0; i < scalars->count; i++)
        is[i] = is_address(scalars, i, addresses, kernarg) ? value_of(scalars, i, kernarg)
                                                           : changed(scalars, i, way, kernarg);
    for (size_t i = 0; i < scalars->count; i++) {
        count += is[i] != value_of(scalars, i, kernarg);
        memcpy(kernarg + scalars->at[i].offset, &is[i], scalars->at[i].bytes);
    }
    return count;
}
