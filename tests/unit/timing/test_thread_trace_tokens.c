/*
 * Streams of thread-trace tokens, of records made by hand, read back by a decoder of the tests'
 * own (token_reader.h): what it says of each instruction must be what the rows say, as far as the
 * format can say that. It has times in units of four clocks.
 */
#include "unit/timing/machine.h"

#include <stdlib.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/thread_trace_tokens.h"
#include "unit/timing/token_reader.h"

enum { BASE_VA = 0x7000000, ROOM = 1 << 20, START = 1000000 };

struct memory {
    uint8_t at[ROOM];
    uint64_t bytes;
};

static void *translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    struct memory *m = ctx;
    assert_true(write);
    return va >= BASE_VA && va + bytes <= BASE_VA + m->bytes ? m->at + (va - BASE_VA) : NULL;
}

struct trial {
    struct made *made;
    struct rp_trace_rows rows;
    struct memory memory;
    struct rp_exec_host host;
    struct rp_token_stream stream;
};

static struct trial *trial_new(uint64_t groups, uint32_t waves)
{
    struct trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->made = made_new(groups, waves);
    t->memory.bytes = ROOM;
    t->host = (struct rp_exec_host){.ctx = &t->memory, .translate = translate};
    t->stream = (struct rp_token_stream){.host = &t->host,
                                         .base_va = BASE_VA,
                                         .room_bytes = ROOM,
                                         .token_mask = 0xffff,
                                         .inst_mask = UINT32_MAX};
    return t;
}

static void trial_free(struct trial *t)
{
    rp_trace_rows_release(&t->rows);
    made_free(t->made);
    free(t);
}

/* Simulates what was made; its first compute unit is traced. */
static void simulate(struct trial *t, uint32_t simds)
{
    const struct rp_threads_request wish = {
        .cu = 0, .engines = UINT32_MAX, .simds = simds, .rows = UINT32_MAX};
    const struct rp_arch *arch = rp_arch_find("gfx942");
    struct rp_timing_stats stats;
    t->made->record->code = t->made->code;
    t->made->record->code_count = t->made->codes;
    assert_int_equal(rp_trace_rows_begin(&t->rows, arch, t->made->record, &wish), 0);
    const struct rp_engine_watch watch = rp_trace_rows_watch(&t->rows);
    assert_int_equal(rp_engine_run(arch, t->made->record, &watch, &stats), 0);
    assert_int_equal(rp_trace_rows_end(&t->rows), 0);
}

static struct rp_read_stream *write_and_read(struct trial *t)
{
    rp_token_stream_begin(&t->stream, START);
    rp_token_stream_waves(&t->stream, &t->rows, 0, 0, START);
    rp_token_stream_flush(&t->stream);
    struct rp_read_stream *r = rp_read_tokens(t->memory.at, t->stream.written, 0);
    assert_null(r->fault);
    return r;
}

static uint64_t whole(uint64_t clock)
{
    return clock / 4 * 4;
}

/* What a decoder can know of a row. Of one that needs no unit it knows the end only. */
static void check_row(const struct rp_threads_row *row, const struct rp_read_inst *in,
                      uint64_t before, bool first)
{
    const uint64_t end = whole(row->clock + row->latency_clocks);
    const uint64_t issued = whole(row->clock + row->stall_clocks);
    assert_int_equal(in->kind == RP_READ_CALL ? RP_READ_JUMP : in->kind, row->category);
    if (row->category == RP_THREADS_IMMEDIATE) {
        assert_int_equal(in->time + in->latency, end);
        assert_int_equal(in->time, first ? end - 4 : before);
        assert_int_equal(in->stall, in->latency);
        return;
    }
    assert_int_equal(in->time, whole(row->clock));
    assert_int_equal(in->stall, issued - whole(row->clock));
    assert_int_equal(in->latency, in->stall + (end - issued < 4 ? 4 : end - issued));
}

static const struct rp_read_wave *read_wave(const struct rp_read_stream *r,
                                            const struct rp_threads_wave *w)
{
    for (size_t i = 0; i < r->waves; i++)
        if (r->wave[i].begin == whole(w->begin) && r->wave[i].simd == w->simd &&
            r->wave[i].slot == w->slot)
            return &r->wave[i];
    return NULL;
}

/* Every row of the engine's waves is in the stream, in its place. Returns how many. */
static uint64_t check_rows(const struct trial *t, const struct rp_read_stream *r)
{
    uint64_t rows = 0, waves = 0;
    for (uint64_t i = 0; i < t->rows.wave_count; i++) {
        const struct rp_threads_wave *w = &t->rows.wave[i];
        if (w->engine)
            continue;
        const struct rp_read_wave *got = read_wave(r, w);
        assert_non_null(got);
        assert_true(got->ended);
        assert_int_equal(got->count, w->row_count);
        uint64_t before = 0;
        for (uint32_t k = 0; k < w->row_count; k++) {
            check_row(&t->rows.row[w->first_row + k], &got->inst[k], before, k == 0);
            before = got->inst[k].time + got->inst[k].latency;
        }
        rows += w->row_count;
        waves++;
    }
    assert_true(r->waves >= waves);
    return rows;
}

static uint32_t made_branch(struct made *m, uint16_t op)
{
    return made_code(m, (struct rp_rec_code){.unit = RP_REC_BRANCH, .op = op});
}

/* A loop of everything, by many waves side by side. */
static void make_everything(struct made *m, uint64_t groups, uint32_t waves)
{
    const struct rp_rec_access load = {.flags = RP_REC_READS, .lane_bytes = 4};
    const struct rp_rec_access scalar = {.flags = RP_REC_READS, .space = RP_REC_SCALAR};
    const struct rp_rec_access lds = {
        .flags = RP_REC_READS, .space = RP_REC_SHARED, .lds_clocks = 64, .lds_conflict_clocks = 32};
    const uint32_t smem = made_memory(m, RP_REC_SMEM), some = made_wait(m, 255, 0),
                   valu = made_valu(m, 4), mfma = made_mfma(m, 16, 0, 8, 0, 4),
                   use = made_use(m, 0), vmem = made_memory(m, RP_REC_VMEM),
                   all = made_wait(m, 0, 255), shared = made_memory(m, RP_REC_LDS),
                   slow = made_valu(m, 16), nop = made_misc(m, RP_REC_NOP, 7),
                   barrier = made_misc(m, RP_REC_WAVE_BARRIER, 0),
                   branch = made_branch(m, RP_OP_s_cbranch_scc1), end = made_misc(m, RP_REC_END, 0);
    m->code[end].op = RP_OP_s_endpgm;
    for (uint64_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < waves; i++) {
            struct rp_rec_wave *w = made_wave(m, g, i);
            made_access(w, smem, scalar, (int64_t)(g % 7), 1);
            made_step(w, some);
            for (int k = 0; k < 3; k++) {
                made_step(w, valu);
                made_step(w, mfma);
                made_step(w, use);
                made_access(w, vmem, load, (int64_t)(1000 * g + 10 * i + (uint64_t)k), 3);
                made_step(w, all);
                made_access(w, shared, lds, -1, 0);
                made_step(w, slow);
                made_step(w, nop);
                made_step(w, barrier);
                made_step(w, branch); /* taken twice */
            }
            made_step(w, end);
        }
}

static void every_instruction_is_read_back(void **state)
{
    (void)state;
    struct trial *t = trial_new(8 * 38 * 3, 8);
    make_everything(t->made, 8 * 38 * 3, 8);
    simulate(t, 0xf);
    struct rp_read_stream *r = write_and_read(t);
    assert_int_equal(check_rows(t, r), 3 * 8 * 33); /* of three workgroups on this unit */
    assert_int_equal(r->begins, r->ends);
    assert_int_equal(r->begins, 10 * 3 * 8); /* of the engine's ten units */
    assert_int_equal(t->stream.bytes, t->stream.written);
    assert_int_equal(t->stream.written % RP_TOKEN_LINE_BYTES, 0);
    assert_false(t->stream.full || t->stream.fault);
    trial_free(t);
    rp_read_free(r);
}

/* Sums over many instructions: what rounding to four clocks takes and gives evens out. */
static void sums_are_those_of_the_rows(void **state)
{
    (void)state;
    struct trial *t = trial_new(8 * 38 * 3, 8);
    make_everything(t->made, 8 * 38 * 3, 8);
    simulate(t, 0xf);
    struct rp_read_stream *r = write_and_read(t);
    uint64_t stall[2] = {0}, latency[2] = {0}, waves = 0;
    for (uint64_t i = 0; i < t->rows.wave_count; i++) {
        const struct rp_threads_wave *w = &t->rows.wave[i];
        const struct rp_read_wave *got = w->engine ? NULL : read_wave(r, w);
        for (uint32_t k = 0; got && k < w->row_count; k++) {
            const struct rp_threads_row *row = &t->rows.row[w->first_row + k];
            if (row->category == RP_THREADS_IMMEDIATE)
                continue;
            stall[0] += row->stall_clocks;
            latency[0] += row->latency_clocks;
            stall[1] += got->inst[k].stall;
            latency[1] += got->inst[k].latency;
        }
        waves += got != NULL;
    }
    latency[1] -= 4 * waves; /* s_endpgm takes no time in the rows, and four clocks on hardware */
    assert_true(stall[0] > 1000);
    assert_in_range(stall[1], stall[0] - stall[0] / 50, stall[0] + stall[0] / 50);
    assert_in_range(latency[1], latency[0] - latency[0] / 50, latency[0] + latency[0] / 50);
    trial_free(t);
    rp_read_free(r);
}

struct program {
    const struct made *made;
    uint64_t loop;
};

static bool code_at(void *ctx, uint64_t pc, struct rp_read_code *ret)
{
    const struct program *p = ctx;
    if (pc < 0x10000 || pc >= 0x10000 + 4ull * p->made->codes)
        return false;
    *ret = (struct rp_read_code){.bytes = 4, .target = p->loop};
    return true;
}

/* The program's address comes from the registers of the dispatch, the way from branches. */
static void addresses_follow_from_the_stream(void **state)
{
    (void)state;
    struct trial *t = trial_new(1, 4);
    make_everything(t->made, 1, 4);
    simulate(t, 0xf);
    rp_token_stream_begin(&t->stream, START);
    rp_token_stream_register(&t->stream, START, RP_TOKEN_REG_CS_PRIV, 0xc, 0x10000 >> 8);
    rp_token_stream_register(&t->stream, START, RP_TOKEN_REG_CS_PRIV, 0xd, 0);
    rp_token_stream_waves(&t->stream, &t->rows, 0, 0, START);
    rp_token_stream_flush(&t->stream);
    struct rp_read_stream *r = rp_read_tokens(t->memory.at, t->stream.written, 0);
    struct program p = {t->made, 0x10000 + 4 * 2};
    assert_null(r->fault);
    assert_int_equal(rp_read_places(r, code_at, &p), 0);
    for (uint64_t i = 0; i < t->rows.wave_count; i++)
        for (uint32_t k = 0; k < t->rows.wave[i].row_count; k++)
            assert_int_equal(read_wave(r, &t->rows.wave[i])->inst[k].pc,
                             t->made->code[t->rows.row[t->rows.wave[i].first_row + k].code].pc);
    trial_free(t);
    rp_read_free(r);
}

/* A jump to an address in registers says which. */
static void calls_say_where_they_go(void **state)
{
    (void)state;
    struct trial *t = trial_new(1, 1);
    const uint32_t call = made_branch(t->made, RP_OP_s_swappc_b64),
                   end = made_misc(t->made, RP_REC_END, 0), valu = made_valu(t->made, 4),
                   back = made_branch(t->made, RP_OP_s_setpc_b64);
    const uint32_t steps[] = {call, valu, back, end};
    t->made->code[end].op = RP_OP_s_endpgm;
    for (size_t i = 0; i < 4; i++)
        made_step(made_wave(t->made, 0, 0), steps[i]);
    simulate(t, 0xf);
    struct rp_read_stream *r = write_and_read(t);
    assert_int_equal(r->waves, 1);
    check_rows(t, r);
    assert_int_equal(r->wave[0].inst[0].kind, RP_READ_CALL);
    assert_int_equal(r->wave[0].inst[0].target, t->made->code[valu].pc);
    assert_int_equal(r->wave[0].inst[2].kind, RP_READ_CALL);
    assert_int_equal(r->wave[0].inst[2].target, t->made->code[end].pc);
    trial_free(t);
    rp_read_free(r);
}

/* Times that a token cannot say are absolute, and exact. */
static void long_waits_are_exact(void **state)
{
    (void)state;
    static const uint64_t passes[] = {0, 1, 2, 253, 254, 255, 256, 257, 1000000, 0, 1, 1ull << 40};
    struct trial *t = trial_new(1, 1);
    uint64_t time = START, clocks = 0;
    simulate(t, 0xf);
    rp_token_stream_begin(&t->stream, time);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        rp_token_stream_register(&t->stream, time += passes[i], RP_TOKEN_REG, 0xc342, (uint32_t)i);
    rp_token_stream_register(&t->stream, time - 5, RP_TOKEN_REG, 0xc342, 99); /* never goes back */
    rp_token_stream_flush(&t->stream);
    struct rp_read_stream *r = rp_read_tokens(t->memory.at, t->stream.written, 0);
    assert_null(r->fault);
    assert_int_equal(r->first_time, 4ull * START);
    assert_int_equal(r->registers, sizeof passes / sizeof passes[0] + 1);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        assert_int_equal(r->reg[i].time, clocks += 4 * passes[i]);
    assert_int_equal(r->reg[r->registers - 1].time, clocks);
    trial_free(t);
    rp_read_free(r);
}

/* As in streams of a real MI350X, which tinygrad publishes (extra/sqtt/examples/gfx950). */
static void registers_look_as_on_hardware(void **state)
{
    (void)state;
    static const uint8_t user_data[] = {0x82, 0x8c, 0x42, 0xc3, 0x20, 0, 0, 0},
                         flush[] = {0x85, 0xfe, 0x07, 0, 0, 0},
                         program[] = {0x8f, 0x18, 0x76, 0, 0x02, 0};
    struct trial *t = trial_new(1, 1);
    simulate(t, 0xf);
    t->stream.time = START;
    rp_token_stream_register(&t->stream, START, RP_TOKEN_REG, 0xc342, 0x20);
    rp_token_stream_register(&t->stream, START, RP_TOKEN_REG_CS, 0x7f, 0x7);
    rp_token_stream_register(&t->stream, START, RP_TOKEN_REG_CS_PRIV, 0xc, 0x20076);
    rp_token_stream_flush(&t->stream);
    assert_memory_equal(t->memory.at, user_data, sizeof user_data);
    assert_memory_equal(t->memory.at + 8, flush, sizeof flush);
    assert_memory_equal(t->memory.at + 14, program, sizeof program);
    trial_free(t);
}

/* Only what the masks let through is written. */
static void masks_leave_out(void **state)
{
    (void)state;
    struct trial *t = trial_new(8 * 38, 8);
    make_everything(t->made, 8 * 38, 8);
    simulate(t, 0x4);
    struct rp_read_stream *r = write_and_read(t);
    assert_int_equal(check_rows(t, r), 2 * 33); /* the third SIMD's waves */
    for (size_t i = 0; i < r->waves; i++)
        assert_true(r->wave[i].simd == 2 || r->wave[i].count == 0);
    assert_int_equal(r->begins, 10 * 8); /* of all SIMDs */
    assert_int_equal(r->tokens[RP_TOKEN_WAVE_ALLOC], 10 * 8);
    rp_read_free(r);
    /* The mask of aqlprofile's occupancy mode. */
    t->stream.written = t->stream.bytes = 0;
    t->stream.token_mask = 0x906f;
    r = write_and_read(t);
    assert_int_equal(r->begins, 10 * 8);
    assert_int_equal(r->tokens[RP_TOKEN_ISSUE] + r->tokens[RP_TOKEN_INST], 0);
    assert_int_equal(r->tokens[RP_TOKEN_WAVE_ALLOC], 0);
    rp_read_free(r);
    /* An engine that aqlprofile leaves out has no kinds of instructions. */
    t->stream.written = t->stream.bytes = 0;
    t->stream.token_mask = 0xffff;
    t->stream.inst_mask = 1u << 5;
    rp_token_stream_begin(&t->stream, START);
    rp_token_stream_waves(&t->stream, &t->rows, 0, 0, START);
    rp_token_stream_flush(&t->stream);
    r = rp_read_tokens(t->memory.at, t->stream.written, 99);
    assert_int_equal(r->tokens[RP_TOKEN_INST], 2 * 3 * 3); /* valu, use and slow, three times */
    rp_read_free(r);
    trial_free(t);
}

/* What fits is there, the rest is counted. */
static void full_buffers_keep_the_beginning(void **state)
{
    (void)state;
    struct trial *t = trial_new(8 * 38 * 3, 8);
    struct memory *whole_stream = malloc(sizeof *whole_stream);
    make_everything(t->made, 8 * 38 * 3, 8);
    simulate(t, 0xf);
    rp_read_free(write_and_read(t));
    const uint64_t bytes = t->stream.written;
    assert_true(bytes > RP_TOKEN_STAGE_BYTES);
    *whole_stream = t->memory;
    memset(t->memory.at, 0xcc, ROOM);
    t->stream.written = t->stream.bytes = 0;
    t->stream.room_bytes = RP_TOKEN_STAGE_BYTES;
    rp_token_stream_begin(&t->stream, START);
    rp_token_stream_waves(&t->stream, &t->rows, 0, 0, START);
    rp_token_stream_flush(&t->stream);
    assert_true(t->stream.full);
    assert_int_equal(t->stream.bytes, bytes);
    assert_int_equal(t->stream.written, RP_TOKEN_STAGE_BYTES);
    assert_memory_equal(t->memory.at, whole_stream->at, t->stream.written);
    for (size_t i = t->stream.written; i < ROOM; i++)
        assert_int_equal(t->memory.at[i], 0xcc);
    free(whole_stream);
    trial_free(t);
}

static void a_buffer_that_is_no_memory_is_a_fault(void **state)
{
    (void)state;
    struct trial *t = trial_new(1, 1);
    simulate(t, 0xf);
    t->stream.base_va = 0x1000;
    rp_token_stream_begin(&t->stream, START);
    rp_token_stream_flush(&t->stream);
    assert_true(t->stream.fault);
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_is_read_back),
        cmocka_unit_test(sums_are_those_of_the_rows),
        cmocka_unit_test(addresses_follow_from_the_stream),
        cmocka_unit_test(calls_say_where_they_go),
        cmocka_unit_test(long_waits_are_exact),
        cmocka_unit_test(registers_look_as_on_hardware),
        cmocka_unit_test(masks_leave_out),
        cmocka_unit_test(full_buffers_keep_the_beginning),
        cmocka_unit_test(a_buffer_that_is_no_memory_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
