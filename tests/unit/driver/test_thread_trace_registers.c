/*
 * The thread trace units behind their registers: what aqlprofile writes to them, what they write to
 * memory. Rows of dispatches are made by hand; streams are read by the decoder of the tests' own.
 */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_exec.h"

#include "device/driver/gpu_registers.h"
#include "device/driver/thread_trace_registers.h"
#include "device/exec/kernel_launch.h"
#include "device/timing/thread_trace_tokens.h"
#include "device/timing/wave_record.h"
#include "unit/timing/token_reader.h"

enum {
    GRBM_GFX_INDEX = 0xc200,
    BASE = 0xc330,
    SIZE,
    MASK,
    TOKEN_MASK,
    CTRL = 0xc335,
    MODE,
    BASE2,
    TOKEN_MASK2,
    WPTR,
    STATUS,
    CNTR = 0xc33c,
    USERDATA_2 = 0xc342,
    USERDATA_3,
    NOWHERE = 0x2e7f,
};

enum { ON = 0x02240000, OFF = 0x02040000, BYTES = 1 << 16 };
static const uint64_t buffer_va = 0x7ecffddff000;

struct bench {
    struct rp_arch arch;
    struct rp_exec_host host;
    struct rp_registers registers;
    struct rp_thread_trace trace;
    uint8_t buffer[BYTES];
    uint32_t descriptor[16];
    uint64_t mapped; /* bytes of the buffer */
    struct rp_kernel kernel;
    struct rp_wave_record record;
    struct rp_rec_code code[3];
    struct rp_trace_rows rows;
    struct rp_threads_wave wave[2];
    struct rp_threads_row row[3];
    struct rp_threads_event event[4];
    int report[2];
};

static void *memory(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    struct bench *b = ctx;
    if (va == 0x5000 && bytes == sizeof b->descriptor && !write)
        return b->descriptor;
    return va >= buffer_va && va + bytes <= buffer_va + b->mapped ? b->buffer + (va - buffer_va)
                                                                  : NULL;
}

/* Two waves on compute unit 1 of the second die's third engine: a VALU instruction that stalls, and
 * the end; nothing is known of the other. */
static void make_rows(struct bench *b)
{
    b->code[1] = (struct rp_rec_code){.pc = 0x70001000, .size_bytes = 8};
    b->code[2] = (struct rp_rec_code){.pc = 0x70001008, .size_bytes = 4};
    b->record.code = b->code;
    b->record.code_count = 3;
    b->record.plan.count = b->record.plan.group_count = 2;
    b->kernel.entry_va = 0x70001000;
    b->kernel.workgroup_size[0] = 64;
    b->kernel.workgroup_size[1] = 3;
    b->kernel.workgroup_size[2] = 2;
    b->wave[0] = (struct rp_threads_wave){
        .begin = 10, .end = 50, .row_count = 2, .engine = 6, .cu = 1, .simd = 3, .slot = 7};
    b->row[0] = (struct rp_threads_row){.clock = 20,
                                        .stall_clocks = 8,
                                        .latency_clocks = 12,
                                        .code = 1,
                                        .category = RP_THREADS_VALU};
    b->row[1] = (struct rp_threads_row){.clock = 32, .code = 2, .category = RP_THREADS_MESSAGE};
    b->event[0] = (struct rp_threads_event){10, 6, 1, 3, 7, 40};
    b->event[1] = (struct rp_threads_event){12, 6, 2, 0, 0, 64};
    b->event[2] = (struct rp_threads_event){50, 6, 1, 3, 7, 0};
    b->event[3] = (struct rp_threads_event){90, 6, 2, 0, 0, 0};
    b->rows = (struct rp_trace_rows){.record = &b->record,
                                     .kernel = &b->kernel,
                                     .wave = b->wave,
                                     .row = b->row,
                                     .event = b->event,
                                     .wave_count = 1,
                                     .row_count = 2,
                                     .event_count = 4,
                                     .rows = 2};
    fake_exec.rows = &b->rows;
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    if (!b || pipe2(b->report, O_NONBLOCK))
        return -1;
    fake_exec = (struct fake_exec){0};
    b->arch = *rp_arch_find("gfx942");
    b->mapped = BYTES;
    b->host = (struct rp_exec_host){.ctx = b, .translate = memory};
    rp_registers_init(&b->registers, 8);
    rp_thread_trace_init(&b->trace, &b->arch, &b->host, &b->registers, b->report[1]);
    make_rows(b);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    rp_thread_trace_release(&b->trace);
    rp_registers_release(&b->registers);
    close(b->report[0]);
    close(b->report[1]);
    free(b);
    return 0;
}

static void set(struct bench *b, uint32_t xccs, uint64_t address, uint32_t value, uint64_t ticks)
{
    rp_registers_write(&b->registers, xccs, address, value, ticks);
}

static uint32_t get(struct bench *b, uint32_t xcc, uint64_t address)
{
    return rp_registers_read(&b->registers, 1u << xcc, address, 0);
}

/* The order of aqlprofile's start packet, for one engine of one die. */
static void start(struct bench *b, uint32_t xcc, uint32_t engine, uint32_t pages, uint64_t ticks)
{
    set(b, 0xff, GRBM_GFX_INDEX, 7u << 29, 0);
    set(b, 0xff, MASK, 0xcf81, 0); /* compute unit 1, all SIMDs */
    set(b, 0xff, TOKEN_MASK, 0x000fbc6f, 0);
    set(b, 0xff, MODE, OFF, 0);
    set(b, 1u << xcc, GRBM_GFX_INDEX, 1u << 30 | engine << 16, 0);
    set(b, 1u << xcc, TOKEN_MASK2, 0xffffffff, 0);
    set(b, 1u << xcc, STATUS, 0, 0);
    set(b, 1u << xcc, BASE, (uint32_t)(buffer_va >> 12), 0);
    set(b, 1u << xcc, BASE2, (uint32_t)(buffer_va >> 44), 0);
    set(b, 1u << xcc, SIZE, pages, 0);
    set(b, 1u << xcc, CTRL, 1u << 31, 0);
    set(b, 1u << xcc, MODE, ON, ticks);
    set(b, 0xff, GRBM_GFX_INDEX, 7u << 29, 0);
}

static struct rp_read_stream *stop_and_read(struct bench *b, uint32_t xcc, uint32_t engine)
{
    set(b, 0xff, MODE, OFF, 5000);
    set(b, 1u << xcc, GRBM_GFX_INDEX, 1u << 30 | engine << 16, 0);
    struct rp_read_stream *s = rp_read_tokens(b->buffer, 32ull * get(b, xcc, WPTR), 1);
    assert_null(s->fault);
    return s;
}

static void report_is(struct bench *b, const char *says)
{
    char text[512] = "";
    const ssize_t count = read(b->report[0], text, sizeof text - 1);
    if (!says)
        assert_int_equal(count, -1);
    else
        assert_non_null(strstr(text, says));
}

/* Each write to USERDATA is in the stream of each engine that it is for, with its time. */
static void user_data_is_in_the_stream(void **state)
{
    struct bench *b = *state;
    set(b, 0xff, USERDATA_2, 1, 100); /* before it is on */
    start(b, 1, 2, BYTES >> 12, 1000);
    set(b, 0xff, USERDATA_2, 0x434f5200, 1000);
    set(b, 0xff, USERDATA_3, 0x5, 1010);
    set(b, 1u << 0, USERDATA_3, 0x6, 1020); /* of another die */
    set(b, 0xff, NOWHERE, 7, 1030);         /* an event */
    set(b, 0xff, 0x2e0b, 1, 1040);          /* a compute register: not in this mask */
    struct rp_read_stream *s = stop_and_read(b, 1, 2);
    assert_int_equal(s->registers, 3);
    assert_int_equal(s->reg[0].address, USERDATA_2);
    assert_int_equal(s->reg[0].value, 0x434f5200);
    assert_int_equal(s->reg[1].address, USERDATA_3);
    assert_int_equal(s->reg[1].time, 10 * 21 / 4 * 4); /* clocks of 2100 MHz, ticks of 100 */
    assert_int_equal(s->reg[2].type, RP_TOKEN_REG_CS);
    assert_int_equal(s->reg[2].address, 0x7f);
    assert_int_equal(s->reg[2].value, 7);
    assert_int_equal(s->first_time, 21000);
    assert_int_equal(get(b, 1, STATUS), 0);
    assert_int_equal(get(b, 1, CNTR), get(b, 1, WPTR));
    rp_read_free(s);
    report_is(b, NULL);
}

static void dispatch(struct bench *b, uint64_t ticks)
{
    struct rp_threads_request wish;
    assert_true(rp_thread_trace_wants(&b->trace, &wish));
    rp_thread_trace_dispatch(&b->trace, &b->arch, NULL, &wish, 0x1234567890, 0x5000, ticks);
}

/* A dispatch says its registers, begins and ends of waves, and what those of the unit did. */
static void dispatches_are_in_the_stream(void **state)
{
    struct bench *b = *state;
    struct rp_threads_request wish;
    assert_false(rp_thread_trace_wants(&b->trace, &wish));
    assert_false(rp_thread_trace_wants(NULL, &wish));
    b->descriptor[11] = 3;
    b->descriptor[12] = 1;
    b->descriptor[13] = 2;
    start(b, 1, 2, BYTES >> 12, 1000);
    dispatch(b, 2000);
    assert_int_equal(fake_exec.rows_wish.cu, 1);
    assert_int_equal(fake_exec.rows_wish.engines, 1u << 6);
    assert_int_equal(fake_exec.rows_wish.simds, 0xf);
    assert_true(fake_exec.rows_wish.work_items);
    struct rp_read_stream *s = stop_and_read(b, 1, 2);
    static const struct {
        uint32_t address, value;
    } registers[] = {{0x7, 64},   {0x8, 3},        {0x9, 2},   {0xe, 0x34567890},
                     {0xf, 0x12}, {0xc, 0x700010}, {0xd, 0},   {0x2d, 3},
                     {0x12, 1},   {0x13, 2},       {0x0, 0x21}};
    assert_int_equal(s->registers, sizeof registers / sizeof *registers);
    for (size_t i = 0; i < s->registers; i++) {
        assert_int_equal(s->reg[i].type, RP_TOKEN_REG_CS_PRIV);
        assert_int_equal(s->reg[i].address, registers[i].address);
        assert_int_equal(s->reg[i].value, registers[i].value);
    }
    assert_int_equal(s->begins, 2);
    assert_int_equal(s->ends, 2);
    assert_int_equal(s->waves, 1);
    const struct rp_read_wave *w = &s->wave[0];
    assert_int_equal(w->simd, 3);
    assert_int_equal(w->slot, 7);
    assert_int_equal(w->work_items, 40);
    assert_int_equal(w->entry_pc, 0x70001000);
    assert_int_equal(w->begin, 21000 + 8);
    assert_int_equal(w->end, 21000 + 48);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->inst[0].time, 21000 + 20);
    assert_int_equal(w->inst[0].stall, 8);
    assert_int_equal(w->inst[0].latency, 12);
    assert_int_equal(w->inst[0].kind, RP_READ_VALU);
    assert_int_equal(w->inst[1].kind, RP_READ_MESSAGE);
    rp_read_free(s);
    report_is(b, NULL);
    assert_false(rp_thread_trace_wants(&b->trace, &wish));
}

/* Queues overlap: a dispatch that began before the latest token is as long as it was. */
static void times_never_go_back(void **state)
{
    struct bench *b = *state;
    start(b, 1, 2, BYTES >> 12, 1000);
    dispatch(b, 2000);
    dispatch(b, 1500);
    struct rp_read_stream *s = stop_and_read(b, 1, 2);
    assert_int_equal(s->waves, 2);
    assert_true(s->wave[1].begin >= 21000 + 88);
    assert_int_equal(s->wave[1].end - s->wave[1].begin, 40);
    assert_int_equal(s->wave[1].inst[0].latency, 12);
    rp_read_free(s);
}

static void full_buffers_stop(void **state)
{
    struct bench *b = *state;
    memset(b->buffer, 0xcc, BYTES);
    start(b, 1, 2, 1, 1000);
    for (unsigned i = 0; i < 1000; i++)
        set(b, 0xff, USERDATA_2, i, 1000);
    struct rp_read_stream *s = stop_and_read(b, 1, 2);
    assert_int_equal(get(b, 1, STATUS), 1u << 31);
    assert_int_equal(get(b, 1, WPTR), 4096 / 32);
    assert_int_equal(get(b, 1, CNTR), (8 * 1000 + 10 + 31) / 32);
    assert_int_equal(s->registers, (4096 - 10) / 8);
    for (size_t i = 0; i < s->registers; i++)
        assert_int_equal(s->reg[i].value, i);
    for (unsigned i = 4096; i < BYTES; i++)
        assert_int_equal(b->buffer[i], 0xcc);
    rp_read_free(s);
    set(b, 1u << 1, STATUS, 0, 0);
    set(b, 1u << 1, CTRL, 1u << 31, 0);
    assert_int_equal(get(b, 1, STATUS), 0);
    assert_int_equal(get(b, 1, WPTR), 0);
}

static void no_memory_is_an_error(void **state)
{
    struct bench *b = *state;
    b->mapped = 0;
    start(b, 1, 2, BYTES >> 12, 1000);
    set(b, 0xff, MODE, OFF, 5000);
    set(b, 1u << 1, GRBM_GFX_INDEX, 1u << 30 | 2u << 16, 0);
    assert_int_equal(get(b, 1, STATUS), 1u << 28);
}

/* What is not modelled is named once. */
static void what_is_missing_is_named(void **state)
{
    struct bench *b = *state;
    start(b, 1, 2, BYTES >> 12, 1000);
    fake_exec.rows = NULL;
    dispatch(b, 2000);
    report_is(b, "thread trace: a dispatch was not simulated: streams lack its waves\n");
    dispatch(b, 2000);
    report_is(b, NULL);
    fake_exec.rows = &b->rows;
    b->record.plan.group_count = 77;
    dispatch(b, 2000);
    report_is(b, "2 of 77 workgroups are simulated");
    b->wave[0].cut = RP_THREADS_RECORD_ENDS;
    dispatch(b, 2000);
    report_is(b, "too long to be recorded whole");
    b->wave[0].cut = RP_THREADS_BUFFER_FULL;
    dispatch(b, 2000);
    report_is(b, "more than 8388608 instructions of a dispatch are not kept");
    rp_thread_trace_leave_out(&b->trace);
    report_is(b, "a dispatch that --deep-analysis traces is not in the streams");
    rp_thread_trace_leave_out(NULL);
    set(b, 0xff, MODE, ON | 1u << 31, 3000);
    report_is(b, "SQ_THREAD_TRACE_MODE");
}

/* An engine with another compute unit than the first has no instructions. */
static void engines_trace_the_same_unit(void **state)
{
    struct bench *b = *state;
    start(b, 1, 2, BYTES >> 12, 1000);
    set(b, 1u << 0, GRBM_GFX_INDEX, 1u << 30, 0);
    set(b, 1u << 0, MASK, 0xcf82, 0);
    set(b, 1u << 0, BASE, (uint32_t)(buffer_va >> 12) + 15, 0);
    set(b, 1u << 0, BASE2, (uint32_t)(buffer_va >> 44), 0);
    set(b, 1u << 0, SIZE, 1, 0);
    set(b, 1u << 0, CTRL, 1u << 31, 0);
    set(b, 1u << 0, TOKEN_MASK2, 0xffffffff, 0);
    set(b, 1u << 0, MODE, ON, 1000);
    dispatch(b, 2000);
    assert_int_equal(fake_exec.rows_wish.cu, 2);
    assert_int_equal(fake_exec.rows_wish.engines, 1u << 6 | 1);
    struct rp_read_stream *s = stop_and_read(b, 1, 2);
    assert_int_equal(s->begins, 2);
    assert_int_equal(s->tokens[RP_TOKEN_ISSUE], 0);
    rp_read_free(s);
    report_is(b, "all shader engines must have the same compute unit");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(user_data_is_in_the_stream),  TEST(dispatches_are_in_the_stream),
        TEST(times_never_go_back),         TEST(full_buffers_stop),
        TEST(no_memory_is_an_error),       TEST(what_is_missing_is_named),
        TEST(engines_trace_the_same_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
