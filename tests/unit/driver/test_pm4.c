/* Command buffers over plain memory (GPU address = host address), and the registers they reach. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "fake_exec.h"

#include "device/driver/gpu_registers.h"
#include "device/driver/pm4.h"

enum { DWORDS = 256 };

struct bench {
    uint32_t buffer[4][DWORDS]; /* what has been written of each; the first one is walked */
    uint32_t count[4];
    uint64_t memory[16];
    struct rp_exec_host host;
    struct rp_registers registers;
    struct rp_pm4_walk walk;
    uint32_t turns;                   /* that did not end a walk */
    uint32_t interrupts, interrupted; /* how many were sent, and the last one's context */
};

enum {
    NOP = 0x10,
    ATOMIC_MEM = 0x1e,
    DMA_DATA = 0x50,
    PRED_EXEC = 0x23,
    WRITE_DATA = 0x37,
    WAIT_REG_MEM = 0x3c,
    INDIRECT_BUFFER = 0x3f,
    COPY_DATA = 0x40,
    EVENT_WRITE = 0x46,
    RELEASE_MEM = 0x49,
    ACQUIRE_MEM = 0x58,
    SET_SH_REG = 0x76,
    SET_UCONFIG_REG = 0x79,
};

static uint64_t test_va(const void *p)
{
    return (uintptr_t)p;
}

/* Only the bench is GPU memory. */
static void *test_translate(void *ctx, uint64_t gpu_va, uint64_t bytes, int write)
{
    const uint64_t begin = test_va(ctx), end = begin + sizeof(struct bench);

    (void)write;
    return gpu_va >= begin && gpu_va <= end && bytes <= end - gpu_va ? (void *)(uintptr_t)gpu_va
                                                                     : NULL;
}

static void test_interrupt(void *ctx, uint32_t context)
{
    struct bench *b = ctx;

    b->interrupts++;
    b->interrupted = context;
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    if (!b)
        return -1;
    fake_exec = (struct fake_exec){0};
    b->host = (struct rp_exec_host){
        .ctx = b, .translate = test_translate, .send_interrupt = test_interrupt};
    rp_registers_init(&b->registers, 8);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;

    rp_registers_release(&b->registers);
    free(b);
    return 0;
}

static void add(struct bench *b, unsigned buffer, unsigned opcode, const uint32_t *body,
                uint32_t count)
{
    uint32_t *to = &b->buffer[buffer][b->count[buffer]];

    to[0] = 3u << 30 | (count - 1) << 16 | opcode << 8;
    memcpy(to + 1, body, count * sizeof *body);
    b->count[buffer] += 1 + count;
}

#define COMMAND(b, opcode, ...)                                                                    \
    add(b, 0, opcode, (const uint32_t[]){__VA_ARGS__},                                             \
        sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static uint32_t low(const void *p)
{
    return (uint32_t)test_va(p);
}

static uint32_t high(const void *p)
{
    return (uint32_t)(test_va(p) >> 32);
}

static enum rp_pm4_state walk_on(struct bench *b)
{
    enum rp_pm4_state state;

    while ((state = rp_pm4_walk(&b->walk)) == RP_PM4_MORE)
        b->turns++;
    return state;
}

static enum rp_pm4_state walk(struct bench *b)
{
    const uint32_t jump[4] = {3u << 30 | 2u << 16 | INDIRECT_BUFFER << 8, low(b->buffer[0]),
                              high(b->buffer[0]), b->count[0]};

    rp_pm4_begin(&b->walk, &b->host, &b->registers, jump, 4711);
    return walk_on(b);
}

static uint32_t read_at(struct bench *b, unsigned xcc, uint64_t address)
{
    return rp_registers_read(&b->registers, 1u << xcc, address, 0);
}

static void set_index(struct bench *b, uint32_t value)
{
    COMMAND(b, SET_UCONFIG_REG, 0x200, value);
}

/* ---- registers ------------------------------------------------------------------------------- */

static void a_register_reads_as_written(void **state)
{
    struct bench *b = *state;

    COMMAND(b, SET_SH_REG, 0x20b, 1);
    COMMAND(b, SET_UCONFIG_REG, 0x1808, 7, 8);
    assert_int_equal(read_at(b, 3, 0x2e0b), 0);
    assert_int_equal(walk(b), RP_PM4_DONE);
    for (unsigned xcc = 0; xcc < 8; xcc++) {
        assert_int_equal(read_at(b, xcc, 0x2e0b), 1);
        assert_int_equal(read_at(b, xcc, 0xd808), 7);
        assert_int_equal(read_at(b, xcc, 0xd809), 8);
        assert_int_equal(read_at(b, xcc, 0xd80a), 0);
    }
}

/* Instance 2, engine 1; then all instances of engine 3; then everywhere. */
static void an_index_chooses_engine_and_instance(void **state)
{
    struct bench *b = *state;

    set_index(b, 1u << 29 | 1u << 16 | 2);
    COMMAND(b, SET_UCONFIG_REG, 0x1ac0, 5);
    set_index(b, 3u << 29 | 3u << 16);
    COMMAND(b, SET_UCONFIG_REG, 0x1ac0, 6);
    assert_int_equal(walk(b), RP_PM4_DONE);
    b->registers.gfx_index[4] = 1u << 29 | 1u << 16 | 2;
    assert_int_equal(read_at(b, 4, 0xdac0), 5);
    b->registers.gfx_index[4] = 1u << 29 | 1u << 16 | 1;
    assert_int_equal(read_at(b, 4, 0xdac0), 0);
    b->registers.gfx_index[4] = 1u << 29 | 3u << 16 | 9;
    assert_int_equal(read_at(b, 4, 0xdac0), 6);
    b->registers.gfx_index[4] = 7u << 29;
    rp_registers_write(&b->registers, 1u << 4, 0xdac0, 8, 0);
    b->registers.gfx_index[4] = 1u << 29 | 1u << 16 | 2;
    assert_int_equal(read_at(b, 4, 0xdac0), 8);
    assert_int_equal(read_at(b, 5, 0xdac0), 6); /* its index still is that of engine 3 */
}

static void a_register_of_the_die_has_no_index(void **state)
{
    struct bench *b = *state;

    set_index(b, 1u << 29 | 1u << 16 | 2);
    COMMAND(b, SET_UCONFIG_REG, 0x1808, 2);
    set_index(b, 7u << 29);
    assert_int_equal(walk(b), RP_PM4_DONE);
    b->registers.gfx_index[0] = 1u << 29 | 2u << 16 | 1;
    assert_int_equal(read_at(b, 0, 0xd808), 2);
}

struct seen {
    struct rp_register_access access;
    uint32_t value;
    unsigned writes, reads;
};

static void see_write(void *ctx, const struct rp_register_access *access, uint32_t value)
{
    struct seen *seen = ctx;

    seen->access = *access;
    seen->value = value;
    seen->writes++;
}

static bool see_read(void *ctx, const struct rp_register_access *access, uint32_t *ret_value)
{
    struct seen *seen = ctx;

    seen->access = *access;
    seen->reads++;
    *ret_value = 99;
    return access->address == 0xc339;
}

static void a_unit_answers_for_its_registers(void **state)
{
    struct bench *b = *state;
    struct seen seen = {0};

    assert_true(rp_registers_attach(
        &b->registers,
        &(struct rp_register_unit){
            .first = 0xc330, .last = 0xc343, .ctx = &seen, .write = see_write, .read = see_read}));
    COMMAND(b, PRED_EXEC, 4u << 24 | 6);
    set_index(b, 1u << 30 | 2u << 16);
    COMMAND(b, SET_UCONFIG_REG, 0x342, 0x434f5200);
    COMMAND(b, SET_UCONFIG_REG, 0x344, 1);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(seen.writes, 1);
    assert_int_equal(seen.value, 0x434f5200);
    assert_int_equal(seen.access.address, 0xc342);
    assert_int_equal(seen.access.xccs, 4);
    assert_int_equal(seen.access.engine, 2);
    assert_int_equal(seen.access.array, 0);
    assert_int_equal(seen.access.instance, RP_REGISTER_ALL);
    assert_int_equal(seen.access.ticks, 4711);
    assert_int_equal(read_at(b, 2, 0xc339), 99);
    assert_int_equal(read_at(b, 2, 0xc342),
                     0x434f5200); /* what the unit leaves to what was written */
    assert_int_equal(seen.reads, 2);
}

/* ---- which die executes -----------------------------------------------------------------------
 */

static void pred_exec_chooses_dies(void **state)
{
    struct bench *b = *state;

    COMMAND(b, PRED_EXEC, 0x81u << 24 | 3);
    COMMAND(b, SET_UCONFIG_REG, 0x1807, 5);
    COMMAND(b, PRED_EXEC, 0u << 24 | 3);
    COMMAND(b, SET_UCONFIG_REG, 0x1807, 6);
    COMMAND(b, SET_UCONFIG_REG, 0x1809, 7);
    assert_int_equal(walk(b), RP_PM4_DONE);
    for (unsigned xcc = 0; xcc < 8; xcc++) {
        assert_int_equal(read_at(b, xcc, 0xd807), xcc == 0 || xcc == 7 ? 5 : 0);
        assert_int_equal(read_at(b, xcc, 0xd809), 7);
    }
}

static void each_die_reads_its_own(void **state)
{
    struct bench *b = *state;

    for (unsigned xcc = 0; xcc < 8; xcc++) {
        rp_registers_write(&b->registers, 1u << xcc, 0xd040, 100 + xcc, 0);
        COMMAND(b, PRED_EXEC, 1u << (24 + xcc) | 6);
        COMMAND(b, COPY_DATA, 5u << 8, 0xd040, 0, low(&b->memory[xcc]), high(&b->memory[xcc]));
    }
    assert_int_equal(walk(b), RP_PM4_DONE);
    for (unsigned xcc = 0; xcc < 8; xcc++)
        assert_int_equal(b->memory[xcc], 100 + xcc);
}

/* ---- data --------------------------------------------------------------------------------------
 */

static void copy_data_moves(void **state)
{
    struct bench *b = *state;
    const void *m = b->memory;

    b->memory[0] = 0x1122334455667788;
    COMMAND(b, COPY_DATA, 1, low(m), high(m), 0xd840, 0); /* memory to register */
    COMMAND(b, COPY_DATA, 5, 0xabcd, 0, 0x2afe, 0);       /* a number to a register */
    COMMAND(b, COPY_DATA, 5, 0xef, 0, 0x3afe, 5);         /* beyond the dies */
    COMMAND(b, COPY_DATA, 9 | 5u << 8 | 1u << 16, 0, 0, low(&b->memory[1]), high(m)); /* clock */
    COMMAND(b, COPY_DATA, 0 | 5u << 8 | 1u << 16, 0xd840, 0, low(&b->memory[2]), high(m));
    COMMAND(b, COPY_DATA, 9, 0, 0, 0xd841, 0);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(read_at(b, 6, 0xd840), 0x55667788);
    assert_int_equal(read_at(b, 6, 0x2afe), 0xabcd);
    assert_int_equal(read_at(b, 6, 0x500003afe), 0xef);
    assert_int_equal(b->memory[1], 4711);
    assert_int_equal(b->memory[2], 0x55667788); /* 0xd841 was 0 by then */
    assert_int_equal(read_at(b, 6, 0xd841), 4711);
}

static void write_data_writes(void **state)
{
    struct bench *b = *state;
    const void *m = b->memory;

    COMMAND(b, WRITE_DATA, 5u << 8, low(m), high(m), 1, 2, 3);
    COMMAND(b, WRITE_DATA, 5u << 8 | 1u << 16, low(&b->memory[2]), high(m), 4, 5);
    COMMAND(b, WRITE_DATA, 0, 0xd807, 0, 6, 7, 8);
    COMMAND(b, RELEASE_MEM, 0x14, 2u << 29, low(&b->memory[4]), high(m), 9, 10, 0);
    COMMAND(b, RELEASE_MEM, 0x14, 3u << 29, low(&b->memory[5]), high(m), 0, 0, 0);
    COMMAND(b, RELEASE_MEM, 0x14, 1u << 29 | 2u << 24, low(&b->memory[6]), high(m), 11, 0, 77);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(b->memory[0], 2ull << 32 | 1);
    assert_int_equal(b->memory[1], 3);
    assert_int_equal(b->memory[2], 5);
    assert_int_equal(read_at(b, 1, 0xd807), 6);
    assert_int_equal(read_at(b, 1, 0xd809), 8);
    assert_int_equal(b->memory[4], 10ull << 32 | 9);
    assert_int_equal(b->memory[5], 4711);
    assert_int_equal(b->memory[6], 11);
    assert_int_equal(b->interrupts, 1);
    assert_int_equal(b->interrupted, 77);
}

/* What stands before it is not executed twice. */
static void a_wait_is_taken_up_again(void **state)
{
    struct bench *b = *state;
    const void *m = b->memory;

    COMMAND(b, COPY_DATA, 5 | 5u << 8, 3, 0, low(&b->memory[1]), high(m));
    COMMAND(b, WAIT_REG_MEM, 3 | 1u << 4, low(m), high(m), 0x10, 0xf0, 4);
    COMMAND(b, COPY_DATA, 5 | 5u << 8, 4, 0, low(&b->memory[2]), high(m));
    assert_int_equal(walk(b), RP_PM4_WAITING);
    b->memory[1] = 0;
    b->memory[0] = 0x21;
    assert_int_equal(rp_pm4_walk(&b->walk), RP_PM4_WAITING);
    b->memory[0] = 0x13;
    assert_int_equal(rp_pm4_walk(&b->walk), RP_PM4_DONE);
    assert_int_equal(b->memory[1], 0);
    assert_int_equal(b->memory[2], 4);
}

static void functions_of_a_wait(void **state)
{
    static const struct {
        unsigned function, value, done;
    } cases[] = {{0, 9, 1}, {1, 4, 1}, {1, 5, 0}, {2, 5, 1}, {2, 6, 0}, {3, 5, 1}, {3, 4, 0},
                 {4, 4, 1}, {4, 5, 0}, {5, 5, 1}, {5, 4, 0}, {6, 6, 1}, {6, 5, 0}};
    struct bench *b = *state;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        b->count[0] = 0;
        rp_registers_write(&b->registers, 0xff, 0xc001, cases[i].value, 0);
        COMMAND(b, WAIT_REG_MEM, cases[i].function, 0xc001, 0, 5, 0xff, 4);
        assert_int_equal(walk(b), cases[i].done ? RP_PM4_DONE : RP_PM4_WAITING);
    }
}

/* ---- buffers -----------------------------------------------------------------------------------
 */

static void call(struct bench *b, unsigned from, unsigned to, uint32_t flags)
{
    const uint32_t body[] = {low(b->buffer[to]), high(b->buffer[to]), b->count[to] | flags};

    add(b, from, INDIRECT_BUFFER, body, 3);
}

static void buffers_call_buffers(void **state)
{
    struct bench *b = *state;

    add(b, 2, SET_UCONFIG_REG, (const uint32_t[]){0x1809, 2}, 2);
    call(b, 1, 2, 0);
    add(b, 1, SET_UCONFIG_REG, (const uint32_t[]){0x1807, 1}, 2);
    COMMAND(b, PRED_EXEC, 2u << 24 | 4);
    call(b, 0, 1, 0);
    COMMAND(b, SET_UCONFIG_REG, 0x1808, 3);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(read_at(b, 0, 0xd807), 0);
    assert_int_equal(read_at(b, 1, 0xd807), 1);
    assert_int_equal(read_at(b, 1, 0xd809), 2);
    assert_int_equal(read_at(b, 0, 0xd808), 3);
}

static void buffers_without_end_are_refused(void **state)
{
    struct bench *b = *state;

    b->count[0] = 4;
    call(b, 0, 0, 0);
    memmove(b->buffer[0], b->buffer[0] + 4, 16);
    b->count[0] = 4;
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_string_equal(b->walk.why, "PM4 command INDIRECT_BUFFER: depth 5 is not supported");
    b->buffer[0][3] |= 1u << 20; /* it goes on in itself */
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_string_equal(b->walk.why, "PM4 commands of more than 16777216 dwords");
    assert_int_equal(b->turns, 1024);
}

/* Else a buffer that goes on in itself could copy for hours. */
static void what_is_copied_counts_as_walked(void **state)
{
    struct bench *b = *state;

    COMMAND(b, DMA_DATA, 3 << 20 | 3u << 29, low(b->buffer[1]), high(b->buffer[1]),
            low(b->buffer[2]), high(b->buffer[2]), 1024);
    b->count[0] += 4;
    call(b, 0, 0, 1u << 20);
    memmove(b->buffer[0] + 7, b->buffer[0] + 11, 16);
    b->count[0] = 11;
    b->buffer[0][10] = 11 | 1u << 20;
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_in_range(b->walk.dwords, 1 << 24, (1 << 24) + 300);
    assert_in_range(b->turns, 900, 1024);
}

static void short_commands_are_stepped_over(void **state)
{
    struct bench *b = *state;

    b->buffer[0][b->count[0]++] = 0xffff1000; /* NOP of one dword */
    b->buffer[0][b->count[0]++] = 0x80000000; /* filler */
    COMMAND(b, NOP, 1, 2, 3);
    COMMAND(b, EVENT_WRITE, 7 | 4u << 8);
    COMMAND(b, SET_UCONFIG_REG, 0x1808, 3);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(read_at(b, 0, 0xd808), 3);
}

static void acquire_mem_drops_code(void **state)
{
    struct bench *b = *state;

    COMMAND(b, ACQUIRE_MEM, 0x28c40000, UINT32_MAX, 0xff, 0, 0, 16);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(fake_exec.invalidated, 1);
}

static void the_unknown_is_refused_by_name(void **state)
{
    static const struct {
        uint32_t dwords[8], count;
        const char *why;
    } cases[] = {
        {{3u << 30 | 2u << 16 | 0x15 << 8}, 4, "PM4 command 0x15 is not supported"},
        {{1u << 16}, 4, "PM4 packet type 0 is not supported"},
        {{3u << 30 | 2u << 16 | COPY_DATA << 8}, 4, "PM4 command 0x40 has only 4 dwords"},
        {{3u << 30 | 9u << 16 | COPY_DATA << 8}, 4, "PM4 command 0x40 reaches beyond its buffer"},
        {{3u << 30 | 4u << 16 | COPY_DATA << 8, 3},
         6,
         "PM4 command COPY_DATA: source 3 is not supported"},
        {{3u << 30 | 4u << 16 | COPY_DATA << 8, 5 | 3u << 8},
         6,
         "PM4 command COPY_DATA: destination 3 is not supported"},
        {{3u << 30 | 4u << 16 | COPY_DATA << 8, 5 | 5u << 8, 1, 0, 64, 0},
         6,
         "PM4 command COPY_DATA: address is not GPU memory"},
        {{3u << 30 | EVENT_WRITE << 8, 0x36},
         2,
         "PM4 command EVENT_WRITE: event 54 is not supported"},
        {{3u << 30 | 5u << 16 | RELEASE_MEM << 8, 0, 3u << 24},
         7,
         "PM4 command RELEASE_MEM: interrupt 3 is not supported"},
    };
    struct bench *b = *state;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(b->buffer[0], cases[i].dwords, sizeof cases[i].dwords);
        b->count[0] = cases[i].count;
        assert_int_equal(walk(b), RP_PM4_REFUSED);
        assert_string_equal(b->walk.why, cases[i].why);
    }
}

/* As ROCr takes a buffer of PC samples. */
static void an_exchange_gives_what_was_there(void **state)
{
    struct bench *b = *state;

    b->memory[2] = 0x8000000000000007;
    COMMAND(b, ATOMIC_MEM, 39, low(&b->memory[2]), high(&b->memory[2]), 5, 6, 0, 0, 0);
    COMMAND(b, COPY_DATA, 6 | 2 << 8 | 1 << 16, 0, 0, low(&b->memory[4]), high(&b->memory[4]));
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(b->memory[2], 0x0000000600000005);
    assert_int_equal(b->memory[4], 0x8000000000000007);
}

static void memory_is_copied(void **state)
{
    struct bench *b = *state;

    for (uint64_t i = 0; i < 4; i++)
        b->memory[i] = 100 + i;
    COMMAND(b, DMA_DATA, 3 << 20 | 3u << 29, low(&b->memory[0]), high(&b->memory[0]),
            low(&b->memory[8]), high(&b->memory[8]), 24);
    assert_int_equal(walk(b), RP_PM4_DONE);
    assert_int_equal(b->memory[8], 100);
    assert_int_equal(b->memory[10], 102);
    assert_int_equal(b->memory[11], 0);
}

static void other_exchanges_and_copies_are_refused(void **state)
{
    struct bench *b = *state;

    COMMAND(b, ATOMIC_MEM, 7, low(&b->memory[2]), high(&b->memory[2]), 5, 6, 0, 0, 0);
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_string_equal(b->walk.why, "PM4 command ATOMIC_MEM: operation 7 is not supported");
    b->count[0] = 0;
    COMMAND(b, ATOMIC_MEM, 39, 0, 1, 5, 6, 0, 0, 0);
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    b->count[0] = 0;
    COMMAND(b, DMA_DATA, 3 << 20 | 2u << 29, 0, 0, 0, 0, 8);
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_string_equal(b->walk.why, "PM4 command DMA_DATA: source 2 is not supported");
    b->count[0] = 0;
    COMMAND(b, DMA_DATA, 3 << 20 | 3u << 29, low(&b->memory[0]), high(&b->memory[0]),
            low(&b->memory[8]), high(&b->memory[8]), 0x3ffffff);
    assert_int_equal(walk(b), RP_PM4_REFUSED);
    assert_string_equal(b->walk.why, "PM4 command DMA_DATA: address is not GPU memory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_register_reads_as_written),
        TEST(an_index_chooses_engine_and_instance),
        TEST(a_register_of_the_die_has_no_index),
        TEST(a_unit_answers_for_its_registers),
        TEST(pred_exec_chooses_dies),
        TEST(each_die_reads_its_own),
        TEST(copy_data_moves),
        TEST(an_exchange_gives_what_was_there),
        TEST(what_is_copied_counts_as_walked),
        TEST(memory_is_copied),
        TEST(other_exchanges_and_copies_are_refused),
        TEST(write_data_writes),
        TEST(a_wait_is_taken_up_again),
        TEST(functions_of_a_wait),
        TEST(buffers_call_buffers),
        TEST(buffers_without_end_are_refused),
        TEST(short_commands_are_stepped_over),
        TEST(acquire_mem_drops_code),
        TEST(the_unknown_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
