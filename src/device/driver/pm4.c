/* The command processor's walk over PM4 command buffers. They come from outside: every length,
 * address and depth is looked at, and the whole walk is bounded.
 */
#include "device/driver/pm4.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "device/driver/gpu_registers.h"
#include "device/exec/dispatch.h"

/* All aqlprofile's buffers of a kernel together have some thousands. */
#ifndef MOST_PM4_DWORDS
#define MOST_PM4_DWORDS (1 << 24)
#endif

/* A turn ends behind so many, because other queues wait meanwhile: at most some milliseconds, and
 * those of one copy. */
enum { TURN_DWORDS = 1 << 14 };

enum { PM4_TYPE_FILLER = 2, PM4_TYPE_COMMAND = 3, PM4_ONE_DWORD = 0x3fff };

enum { OTHER_COMMAND = -1, ON = 0, WAIT = 1 };

struct command {
    const uint32_t *dword; /**< the first one is the header */
    uint32_t count;
    uint32_t xccs; /**< the dies that execute it */
};

static struct rp_pm4_buffer *top(struct rp_pm4_walk *walk)
{
    return &walk->buffer[walk->depth - 1];
}

static uint32_t executing(const struct rp_pm4_buffer *buffer)
{
    return buffer->at < buffer->some_end ? buffer->some_xccs : buffer->xccs;
}

static int refuse_part(struct rp_pm4_walk *walk, const char *command, const char *part,
                       unsigned number)
{
    snprintf(walk->why, sizeof walk->why, "PM4 command %s: %s %u is not supported", command, part,
             number);
    return OTHER_COMMAND;
}

static int refuse_address(struct rp_pm4_walk *walk, const char *command)
{
    snprintf(walk->why, sizeof walk->why, "PM4 command %s: address is not GPU memory", command);
    return OTHER_COMMAND;
}

static uint64_t pair(const uint32_t *dword)
{
    return dword[0] | (uint64_t)dword[1] << 32;
}

/* ---- buffers ------------------------------------------------------------------------------ */

enum { JUMP_CHAINS = 1 << 20 };

/* A jump that chains replaces its buffer, another one comes back. */
static int enter(struct rp_pm4_walk *walk, const uint32_t *jump, uint32_t xccs)
{
    const struct rp_pm4_buffer buffer = {
        .va = (uint64_t)(jump[2] & 0xffff) << 32 | (jump[1] & ~3u),
        .count = jump[3] & 0xfffff,
        .xccs = xccs,
    };

    if (jump[3] & JUMP_CHAINS && walk->depth)
        walk->depth--;
    if (walk->depth == RP_PM4_DEPTH)
        return refuse_part(walk, "INDIRECT_BUFFER", "depth", RP_PM4_DEPTH + 1);
    walk->buffer[walk->depth++] = buffer;
    return ON;
}

static int indirect_buffer(struct rp_pm4_walk *walk, const struct command *c)
{
    return enter(walk, c->dword, c->xccs);
}

static int pred_exec(struct rp_pm4_walk *walk, const struct command *c)
{
    struct rp_pm4_buffer *buffer = top(walk);
    const uint32_t left = buffer->count - buffer->at, some = c->dword[1] & 0x3fff;

    buffer->some_xccs = c->xccs & c->dword[1] >> 24;
    buffer->some_end = buffer->at + (some < left ? some : left);
    if (!buffer->some_xccs)
        buffer->at = buffer->some_end;
    return ON;
}

static int nothing(struct rp_pm4_walk *walk, const struct command *c)
{
    (void)walk;
    (void)c;
    return ON;
}

/* This is how the runtime announces new code. Addresses and sizes are in units of 256 bytes. */
static int acquire_mem(struct rp_pm4_walk *walk, const struct command *c)
{
    const uint64_t bytes = (pair(&c->dword[2]) & 0xffffffffff) << 8;
    const uint64_t begin = (pair(&c->dword[4]) & 0xffffffffff) << 8;

    (void)walk;
    rp_exec_invalidate_code(begin, bytes > UINT64_MAX - begin ? UINT64_MAX - begin : bytes);
    return ON;
}

/* ---- memory ------------------------------------------------------------------------------- */

static void *memory_at(const struct rp_pm4_walk *walk, uint64_t va, uint64_t bytes, bool writes)
{
    return walk->host->translate(walk->host->ctx, va, bytes, writes);
}

static bool store(const struct rp_pm4_walk *walk, uint64_t va, uint64_t value, uint32_t bytes)
{
    void *at = memory_at(walk, va, bytes, true);
    if (!at)
        return false;
    if (bytes == 8)
        __atomic_store_n((uint64_t *)at, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_RELEASE);
    return true;
}

static bool load(const struct rp_pm4_walk *walk, uint64_t va, uint32_t bytes, uint64_t *ret)
{
    const void *at = memory_at(walk, va, bytes, false);
    if (!at)
        return false;
    *ret = bytes == 8 ? __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE)
                      : __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
    return true;
}

/* ---- registers ---------------------------------------------------------------------------- */

static void set(struct rp_pm4_walk *walk, const struct command *c, uint64_t address, uint32_t value)
{
    rp_registers_write(walk->registers, c->xccs, address, value, walk->ticks);
}

static uint32_t get(struct rp_pm4_walk *walk, uint32_t xccs, uint64_t address)
{
    return rp_registers_read(walk->registers, xccs, address, walk->ticks);
}

/* Kernels and command buffers of a queue are in order, so there is nothing to wait for. */
static int event_write(struct rp_pm4_walk *walk, const struct command *c)
{
    enum { CS_PARTIAL_FLUSH = 7, COMPUTE_NOWHERE = 0x2e7f /* where thread traces show events */ };
    const unsigned type = c->dword[1] & 0x3f;

    if (type != CS_PARTIAL_FLUSH)
        return refuse_part(walk, "EVENT_WRITE", "event", type);
    set(walk, c, COMPUTE_NOWHERE, type);
    return ON;
}

static int set_registers(struct rp_pm4_walk *walk, const struct command *c, uint32_t base)
{
    for (uint32_t i = 2; i < c->count; i++)
        set(walk, c, base + (c->dword[1] & 0xffff) + i - 2, c->dword[i]);
    return ON;
}

static int set_sh_reg(struct rp_pm4_walk *walk, const struct command *c)
{
    return set_registers(walk, c, RP_REG_SH_BASE);
}

static int set_uconfig_reg(struct rp_pm4_walk *walk, const struct command *c)
{
    return set_registers(walk, c, RP_REG_UCONFIG_BASE);
}

/* These numbers say from where to where COPY_DATA and WRITE_DATA move; some mean the same here. */
enum place {
    PLACE_REGISTER = 0,
    PLACE_MEMORY_1 = 1, /**< only as a source */
    PLACE_L2 = 2,
    PLACE_COUNTERS = 4,
    PLACE_IMMEDIATE = 5, /**< as a source */
    PLACE_MEMORY = 5,    /**< as a destination */
    PLACE_ATOMIC = 6,    /**< only as a source: what the latest ATOMIC_MEM found */
    PLACE_CLOCK = 9,
};

static int copy_source(struct rp_pm4_walk *walk, const struct command *c, uint32_t bytes,
                       uint64_t *ret)
{
    const unsigned from = c->dword[1] & 15;
    const uint64_t where = pair(&c->dword[2]);

    switch (from) {
    case PLACE_REGISTER:
    case PLACE_COUNTERS:
        *ret = get(walk, c->xccs, where);
        if (bytes == 8)
            *ret |= (uint64_t)get(walk, c->xccs, where + 1) << 32;
        return ON;
    case PLACE_MEMORY_1:
    case PLACE_L2:
        return load(walk, where & -(uint64_t)bytes, bytes, ret) ? ON
                                                                : refuse_address(walk, "COPY_DATA");
    case PLACE_IMMEDIATE:
        *ret = where;
        return ON;
    case PLACE_ATOMIC:
        *ret = walk->before;
        return ON;
    case PLACE_CLOCK:
        *ret = walk->ticks;
        return ON;
    default:
        return refuse_part(walk, "COPY_DATA", "source", from);
    }
}

static int copy_data(struct rp_pm4_walk *walk, const struct command *c)
{
    const unsigned to = c->dword[1] >> 8 & 15;
    const uint32_t bytes = c->dword[1] >> 16 & 1 ? 8 : 4;
    const uint64_t where = pair(&c->dword[4]);
    uint64_t value = 0;

    if (copy_source(walk, c, bytes, &value) != ON)
        return OTHER_COMMAND;
    switch (to) {
    case PLACE_REGISTER:
    case PLACE_COUNTERS:
        set(walk, c, where, (uint32_t)value);
        if (bytes == 8)
            set(walk, c, where + 1, (uint32_t)(value >> 32));
        return ON;
    case PLACE_L2:
    case PLACE_MEMORY:
        return store(walk, where & -(uint64_t)bytes, value, bytes)
                   ? ON
                   : refuse_address(walk, "COPY_DATA");
    default:
        return refuse_part(walk, "COPY_DATA", "destination", to);
    }
}

static int write_data(struct rp_pm4_walk *walk, const struct command *c)
{
    const unsigned to = c->dword[1] >> 8 & 15;
    const bool stays = c->dword[1] >> 16 & 1;
    const uint64_t where = pair(&c->dword[2]);

    if (to != PLACE_REGISTER && to != PLACE_L2 && to != PLACE_MEMORY)
        return refuse_part(walk, "WRITE_DATA", "destination", to);
    for (uint32_t i = 4; i < c->count; i++) {
        const uint64_t step = stays ? 0 : i - 4;
        if (to == PLACE_REGISTER)
            set(walk, c, (where & 0x3ffff) + step, c->dword[i]);
        else if (!store(walk, (where & ~3ull) + 4 * step, c->dword[i], 4))
            return refuse_address(walk, "WRITE_DATA");
    }
    return ON;
}

/* Numbers are those of the L2's atomics: an exchange of 64 bits, as the runtime takes a buffer. */
static int atomic_mem(struct rp_pm4_walk *walk, const struct command *c)
{
    enum { SWAP_64_RETURN = 39 };
    const unsigned operation = c->dword[1] & 0x7f;
    uint64_t *at = memory_at(walk, pair(&c->dword[2]) & ~7ull, 8, true);

    if (operation != SWAP_64_RETURN)
        return refuse_part(walk, "ATOMIC_MEM", "operation", operation);
    if (!at)
        return refuse_address(walk, "ATOMIC_MEM");
    walk->before = __atomic_exchange_n(at, pair(&c->dword[4]), __ATOMIC_ACQ_REL);
    return ON;
}

/* Copies within memory, which is work like that of as many dwords of commands. */
static int dma_data(struct rp_pm4_walk *walk, const struct command *c)
{
    enum { BY_ADDRESS = 0, BY_L2 = 3, MOST_BYTES = 0x3ffffff };
    const unsigned to = c->dword[1] >> 20 & 3, from = c->dword[1] >> 29 & 3;
    const uint32_t bytes = c->dword[6] & MOST_BYTES, kinds = c->dword[6] >> 26 & 15;

    if (to != BY_ADDRESS && to != BY_L2)
        return refuse_part(walk, "DMA_DATA", "destination", to);
    if (from != BY_ADDRESS && from != BY_L2)
        return refuse_part(walk, "DMA_DATA", "source", from);
    if (kinds) /* Registers, or addresses that stay. */
        return refuse_part(walk, "DMA_DATA", "kind of address", kinds);
    const void *source = bytes ? memory_at(walk, pair(&c->dword[2]), bytes, false) : NULL;
    void *destination = bytes ? memory_at(walk, pair(&c->dword[4]), bytes, true) : NULL;
    if (bytes && (!source || !destination))
        return refuse_address(walk, "DMA_DATA");
    if (bytes)
        memmove(destination, source, bytes);
    walk->dwords += bytes / 4;
    return ON;
}

/* What is written when all before has ended: the clock or a value; then the driver may be told,
 * which wakes the event that the context names.
 */
static int release_mem(struct rp_pm4_walk *walk, const struct command *c)
{
    enum { NO_DATA = 0, LOW, BOTH, CLOCK };
    enum { NO_INTERRUPT = 0, INTERRUPT, INTERRUPT_WHEN_WRITTEN };
    const unsigned data = c->dword[2] >> 29, interrupt = c->dword[2] >> 24 & 7;
    const uint32_t bytes = data == LOW ? 4 : 8;
    const uint64_t va = pair(&c->dword[3]) & -(uint64_t)bytes;

    if (data > CLOCK)
        return refuse_part(walk, "RELEASE_MEM", "data", data);
    if (interrupt > INTERRUPT_WHEN_WRITTEN || (interrupt && c->count < 8))
        return refuse_part(walk, "RELEASE_MEM", "interrupt", interrupt);
    if (data != NO_DATA &&
        !store(walk, va, data == CLOCK ? walk->ticks : pair(&c->dword[5]), bytes))
        return refuse_address(walk, "RELEASE_MEM");
    if (interrupt && walk->host->send_interrupt)
        walk->host->send_interrupt(walk->host->ctx, c->dword[7]);
    return ON;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool holds(unsigned function, uint32_t value, uint32_t reference)
{
    enum { ALWAYS, LESS, AT_MOST, EQUAL, OTHER, AT_LEAST, MORE };

    switch (function) {
    case LESS:
        return value < reference;
    case AT_MOST:
        return value <= reference;
    case EQUAL:
        return value == reference;
    case OTHER:
        return value != reference;
    case AT_LEAST:
        return value >= reference;
    case MORE:
        return value > reference;
    default:
        return true;
    }
}

/* A register changes by commands only, so one that does not hold would be waited for forever if
 * there is no other queue: it is asked again like memory. Each die looks at its own.
 */
static int wait_reg_mem(struct rp_pm4_walk *walk, const struct command *c)
{
    enum { IN_MEMORY = 1 };
    const unsigned function = c->dword[1] & 7, space = c->dword[1] >> 4 & 3;
    const unsigned operation = c->dword[1] >> 6 & 3;
    const uint32_t reference = c->dword[4], mask = c->dword[5];
    uint64_t value;

    if (operation != 0 && operation != 3)
        return refuse_part(walk, "WAIT_REG_MEM", "operation", operation);
    if (space > IN_MEMORY)
        return refuse_part(walk, "WAIT_REG_MEM", "space", space);
    if (space == IN_MEMORY) {
        if (!load(walk, pair(&c->dword[2]) & ~3ull, 4, &value))
            return refuse_address(walk, "WAIT_REG_MEM");
        return holds(function, (uint32_t)value & mask, reference) ? ON : WAIT;
    }
    for (uint32_t left = c->xccs; left; left &= left - 1)
        if (!holds(function, get(walk, left & -left, c->dword[2] & 0x3ffff) & mask, reference))
            return WAIT;
    return ON;
}

/* ---- the walk ----------------------------------------------------------------------------- */

static const struct {
    uint8_t opcode;
    uint8_t dwords; /**< at least, with the header */
    int (*execute)(struct rp_pm4_walk *walk, const struct command *c);
} commands[] = {
    {0x10, 1, nothing},         /* NOP */
    {0x1e, 9, atomic_mem},      /* ATOMIC_MEM */
    {0x23, 2, pred_exec},       /* PRED_EXEC */
    {0x37, 4, write_data},      /* WRITE_DATA */
    {0x3c, 7, wait_reg_mem},    /* WAIT_REG_MEM */
    {0x3f, 4, indirect_buffer}, /* INDIRECT_BUFFER */
    {0x40, 6, copy_data},       /* COPY_DATA */
    {0x46, 2, event_write},     /* EVENT_WRITE */
    {0x49, 7, release_mem},     /* RELEASE_MEM */
    {0x50, 7, dma_data},        /* DMA_DATA */
    {0x58, 7, acquire_mem},     /* ACQUIRE_MEM */
    {0x76, 3, set_sh_reg},      /* SET_SH_REG */
    {0x79, 3, set_uconfig_reg}, /* SET_UCONFIG_REG */
};

static uint32_t length_of(uint32_t header)
{
    const uint32_t type = header >> 30, count = header >> 16 & 0x3fff;

    return type == PM4_TYPE_FILLER || count == PM4_ONE_DWORD ? 1 : count + 2;
}

static int execute(struct rp_pm4_walk *walk, const struct command *c)
{
    const unsigned opcode = c->dword[0] >> 8 & 0xff, type = c->dword[0] >> 30;

    if (type == PM4_TYPE_FILLER)
        return ON;
    for (unsigned i = 0; type == PM4_TYPE_COMMAND && i < sizeof commands / sizeof *commands; i++) {
        if (commands[i].opcode != opcode)
            continue;
        if (c->count >= commands[i].dwords)
            return commands[i].execute(walk, c);
        snprintf(walk->why, sizeof walk->why, "PM4 command 0x%02x has only %u dwords", opcode,
                 c->count);
        return OTHER_COMMAND;
    }
    if (type == PM4_TYPE_COMMAND)
        snprintf(walk->why, sizeof walk->why, "PM4 command 0x%02x is not supported", opcode);
    else
        snprintf(walk->why, sizeof walk->why, "PM4 packet type %u is not supported", type);
    return OTHER_COMMAND;
}

/* Executes the next command of the innermost buffer, which has one. */
static int step(struct rp_pm4_walk *walk)
{
    struct rp_pm4_buffer *buffer = top(walk);
    const uint32_t left = buffer->count - buffer->at, at = buffer->at;
    const uint32_t *dword = memory_at(walk, buffer->va + 4ull * at, 4ull * left, false);

    if (!dword)
        return refuse_address(walk, "INDIRECT_BUFFER");
    const struct command c = {
        .dword = dword, .count = length_of(dword[0]), .xccs = executing(buffer)};
    if (c.count > left) {
        snprintf(walk->why, sizeof walk->why, "PM4 command 0x%02x reaches beyond its buffer",
                 dword[0] >> 8 & 0xff);
        return OTHER_COMMAND;
    }
    buffer->at += c.count; /* A buffer that is called comes back to the next command. */
    const int status = execute(walk, &c);
    if (status == WAIT)
        buffer->at = at;
    else
        walk->dwords += c.count;
    return status;
}

void rp_pm4_begin(struct rp_pm4_walk *walk, const struct rp_exec_host *host,
                  struct rp_registers *registers, const uint32_t *jump, uint64_t ticks)
{
    *walk = (struct rp_pm4_walk){.host = host, .registers = registers, .ticks = ticks};
    enter(walk, jump, rp_registers_all_xccs(registers));
}

enum rp_pm4_state rp_pm4_walk(struct rp_pm4_walk *walk)
{
    const uint32_t begin = walk->dwords;

    while (walk->depth) {
        if (top(walk)->at >= top(walk)->count) {
            walk->depth--;
            continue;
        }
        if (walk->dwords > MOST_PM4_DWORDS) {
            snprintf(walk->why, sizeof walk->why, "PM4 commands of more than %d dwords",
                     MOST_PM4_DWORDS);
            return RP_PM4_REFUSED;
        }
        if (walk->dwords - begin >= TURN_DWORDS)
            return RP_PM4_MORE;
        const int status = step(walk);
        walk->waited |= status == WAIT;
        if (status != ON)
            return status == WAIT ? RP_PM4_WAITING : RP_PM4_REFUSED;
    }
    return RP_PM4_DONE;
}
