/* The registers of one GPU that command buffers reach. A write to all engines or instances is kept
 * as one value with its scope, so that it costs no more than a write to one of them.
 */
#include "device/driver/gpu_registers.h"

/* More different scopes of one register than a program can mean are forgotten, the oldest first. */
enum { MOST_ADDRESSES = 1 << 16, MOST_SCOPES = 4096 };

struct rp_register_value {
    uint32_t xccs, value;
    int16_t engine, array, instance;
};

struct rp_register_values {
    RP_VEC(struct rp_register_value);
};

void rp_registers_init(struct rp_registers *registers, uint32_t xcc_count)
{
    /* All engines, arrays and instances, as the driver leaves it. */
    static const uint32_t broadcast = 7u << 29;

    *registers = (struct rp_registers){.xcc_count = xcc_count ? xcc_count : 1};
    if (registers->xcc_count > RP_REGISTERS_XCCS)
        registers->xcc_count = RP_REGISTERS_XCCS;
    for (unsigned i = 0; i < RP_REGISTERS_XCCS; i++)
        registers->gfx_index[i] = broadcast;
}

void rp_registers_release(struct rp_registers *registers)
{
    for (size_t i = 0; i < registers->values.count; i++)
        rp_vec_free(&registers->values.items[i]);
    rp_vec_free(&registers->values);
    rp_idmap_free(&registers->addresses);
}

bool rp_registers_attach(struct rp_registers *registers, const struct rp_register_unit *unit)
{
    if (registers->unit_count == RP_REGISTERS_UNITS)
        return false;
    registers->units[registers->unit_count++] = *unit;
    return true;
}

/* Only registers of SQ, SPI, the texture units, the L2 and the memory interface exist more than
 * once in a die; the index does not matter for others.
 */
static bool is_indexed(uint64_t address)
{
    return (address >= 0xc300 && address <= 0xc3ff) || (address >= 0xd180 && address <= 0xd7ff) ||
           (address >= 0xd980 && address <= 0xdbff) || (address >= 0x2700 && address <= 0x2aff);
}

/* Fields of GRBM_GFX_INDEX: instance 7:0, array 15:8, engine 23:16; 29, 30, 31: all of engines,
 * instances, arrays as AMD's header has them.
 */
static struct rp_register_access place_of(uint32_t index, uint64_t address)
{
    struct rp_register_access at = {.address = address,
                                    .engine = RP_REGISTER_ALL,
                                    .array = RP_REGISTER_ALL,
                                    .instance = RP_REGISTER_ALL};

    if (!is_indexed(address))
        return at;
    if (!(index >> 31 & 1))
        at.engine = (int16_t)(index >> 16 & 0xff);
    if (!(index >> 29 & 1))
        at.array = (int16_t)(index >> 8 & 0xff);
    if (!(index >> 30 & 1))
        at.instance = (int16_t)(index & 0xff);
    return at;
}

static bool covers(int16_t outer, int16_t inner)
{
    return outer == RP_REGISTER_ALL || outer == inner;
}

/* A place that is read may name all engines: then any of them answers. */
static bool meets(int16_t written, int16_t wanted)
{
    return wanted == RP_REGISTER_ALL || covers(written, wanted);
}

static struct rp_register_values *values_of(struct rp_registers *registers, uint64_t address)
{
    uint32_t number = rp_idmap_find(&registers->addresses, address);

    if (number != RP_NO_NUMBER)
        return &registers->values.items[number];
    if (registers->addresses.count == MOST_ADDRESSES || rp_vec_reserve(&registers->values, 1) < 0)
        return NULL;
    number = rp_idmap_add(&registers->addresses, address);
    return number == RP_NO_NUMBER ? NULL : rp_vec_add(&registers->values);
}

/* Takes away what the write is going to replace. */
static void forget(struct rp_register_values *values, const struct rp_register_access *at)
{
    size_t kept = 0;

    for (size_t i = 0; i < values->count; i++) {
        struct rp_register_value *v = &values->items[i];
        if (covers(at->engine, v->engine) && covers(at->array, v->array) &&
            covers(at->instance, v->instance))
            v->xccs &= ~at->xccs;
        if (v->xccs)
            values->items[kept++] = *v;
    }
    values->count = kept;
    if (kept == MOST_SCOPES)
        memmove(values->items, values->items + 1, --values->count * sizeof *values->items);
}

static void keep(struct rp_registers *registers, const struct rp_register_access *at,
                 uint32_t value)
{
    struct rp_register_values *values = values_of(registers, at->address);

    if (!values)
        return;
    forget(values, at);
    if (rp_vec_push(values, (struct rp_register_value){.xccs = at->xccs,
                                                       .value = value,
                                                       .engine = at->engine,
                                                       .array = at->array,
                                                       .instance = at->instance}) < 0)
        return;
}

static const struct rp_register_unit *unit_of(const struct rp_registers *registers,
                                              uint64_t address)
{
    for (unsigned i = 0; i < registers->unit_count; i++)
        if (address >= registers->units[i].first && address <= registers->units[i].last)
            return &registers->units[i];
    return NULL;
}

/* Returns those of the dies whose index is that of the first one. */
static uint32_t same_index(const struct rp_registers *registers, uint32_t xccs)
{
    const uint32_t index = registers->gfx_index[__builtin_ctz(xccs)];
    uint32_t same = 0;

    for (uint32_t i = 0; i < registers->xcc_count; i++)
        if (xccs >> i & 1 && registers->gfx_index[i] == index)
            same |= 1u << i;
    return same;
}

void rp_registers_write(struct rp_registers *registers, uint32_t xccs, uint64_t address,
                        uint32_t value, uint64_t ticks)
{
    const struct rp_register_unit *unit = unit_of(registers, address);

    for (uint32_t left = xccs & rp_registers_all_xccs(registers), some; left; left &= ~some) {
        some = same_index(registers, left);
        struct rp_register_access at = place_of(registers->gfx_index[__builtin_ctz(left)], address);
        at.xccs = some;
        at.ticks = ticks;
        keep(registers, &at, value);
        if (unit && unit->write)
            unit->write(unit->ctx, &at, value);
        for (uint32_t i = 0; address == RP_REG_GRBM_GFX_INDEX && i < registers->xcc_count; i++)
            if (some >> i & 1)
                registers->gfx_index[i] = value;
    }
}

bool rp_registers_written(const struct rp_registers *registers, const struct rp_register_access *at,
                          uint32_t *ret_value)
{
    const uint32_t number = rp_idmap_find(&registers->addresses, at->address);

    *ret_value = 0;
    if (number == RP_NO_NUMBER)
        return false;
    const struct rp_register_values *values = &registers->values.items[number];
    for (size_t i = values->count; i-- > 0;) {
        const struct rp_register_value *v = &values->items[i];
        if (v->xccs & at->xccs && meets(v->engine, at->engine) && meets(v->array, at->array) &&
            meets(v->instance, at->instance)) {
            *ret_value = v->value;
            return true;
        }
    }
    return false;
}

uint32_t rp_registers_read(struct rp_registers *registers, uint32_t xccs, uint64_t address,
                           uint64_t ticks)
{
    const struct rp_register_unit *unit = unit_of(registers, address);
    uint32_t value;

    xccs &= rp_registers_all_xccs(registers);
    if (!xccs)
        return 0;
    struct rp_register_access at = place_of(registers->gfx_index[__builtin_ctz(xccs)], address);
    at.xccs = xccs & -xccs;
    at.ticks = ticks;
    if (unit && unit->read && unit->read(unit->ctx, &at, &value))
        return value;
    rp_registers_written(registers, &at, &value);
    return value;
}
