#include "analyze/wave_time.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "base/cleanup.h"

const char *const rp_wave_part_names[] = {
#define RP_WAVE_PART(id, name, title) [RP_WAVE_PART_##id] = (name),
#include "analyze/wave_parts.def"
#undef RP_WAVE_PART
};

const char *const rp_wave_part_titles[] = {
#define RP_WAVE_PART(id, name, title) [RP_WAVE_PART_##id] = (title),
#include "analyze/wave_parts.def"
#undef RP_WAVE_PART
};

/* --- instructions -------------------------------------------------------------------------- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool any_begins(const char *text, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins(text, prefixes[i]))
            return true;
    return false;
}

/* Accesses to scratch are scratch_ with architected flat scratch (gfx940 and later), and buffer_
 * with the descriptor in s[0:3] before (LLVM, AMDGPUUsage: "Private Segment Buffer"). */
static bool is_scratch(const char *isa)
{
    return begins(isa, "scratch_") || (begins(isa, "buffer_") && strstr(isa, " s[0:3], "));
}

/* DS instructions that neither load nor store are atomics, or exchange registers between lanes. */
static bool is_lds_atomic(const char *isa)
{
    static const char *const others[] = {"ds_read",    "ds_write",    "ds_load",    "ds_store",
                                         "ds_swizzle", "ds_bpermute", "ds_permute", "ds_nop"};

    return !any_begins(isa, others, sizeof others / sizeof others[0]);
}

static bool is_transcendental(const char *isa)
{
    static const char *const functions[] = {"v_exp_", "v_log_", "v_sin_", "v_cos_",
                                            "v_rcp_", "v_rsq_", "v_sqrt_"};

    return any_begins(isa, functions, sizeof functions / sizeof functions[0]);
}

static enum rp_wave_part memory_part(const char *isa)
{
    if (is_scratch(isa))
        return RP_WAVE_PART_SCRATCH;
    if (strstr(isa, "_atomic"))
        return RP_WAVE_PART_ATOMIC;
    return strstr(isa, "_store") ? RP_WAVE_PART_STORE : RP_WAVE_PART_LOAD;
}

static enum rp_wave_part part_of_kind(enum rp_att_kind kind, const char *isa)
{
    switch (kind) {
    case RP_ATT_VALU:
        return is_transcendental(isa) ? RP_WAVE_PART_TRANSCENDENTAL : RP_WAVE_PART_VALU;
    case RP_ATT_MFMA:
        return RP_WAVE_PART_MFMA;
    case RP_ATT_SMEM:
        return RP_WAVE_PART_SCALAR_LOAD;
    case RP_ATT_VMEM:
    case RP_ATT_FLAT:
        return memory_part(isa);
    case RP_ATT_LDS:
        return is_lds_atomic(isa) ? RP_WAVE_PART_LDS_ATOMIC : RP_WAVE_PART_LDS;
    case RP_ATT_BARRIER:
        return RP_WAVE_PART_BARRIER;
    default:
        return RP_WAVE_PART_OTHER;
    }
}

enum rp_wave_part rp_wave_part_of(const char *isa)
{
    struct rp_att_meaning meaning;

    rp_att_decode(isa, 9, &meaning);
    return part_of_kind(meaning.kind, isa);
}

/* The width is the end of the name: _dword is 4 bytes, _dwordx2 and _b64 are 8 ... */
static const struct {
    const char *end;
    unsigned bytes;
} widths[] = {
    {"_dwordx4", 16}, {"_dwordx3", 12}, {"_dwordx2", 8}, {"_dword", 4},        {"_b128", 16},
    {"_b96", 12},     {"_b64", 8},      {"_f64", 8},     {"_x2", 8},           {"_b32", 4},
    {"_ushort", 2},   {"_sshort", 2},   {"_short", 2},   {"_short_d16_hi", 2}, {"_short_d16", 2},
    {"_ubyte", 1},    {"_sbyte", 1},    {"_byte", 1},    {"_u8", 1},           {"_i8", 1},
    {"_u16", 2},      {"_i16", 2},      {"_b16", 2},     {"_b8", 1},
};

unsigned rp_isa_bytes_per_lane(const char *isa)
{
    size_t length = strcspn(isa, " \t");

    if (!begins(isa, "global_") && !begins(isa, "flat_") && !begins(isa, "buffer_") &&
        !begins(isa, "scratch_") && !begins(isa, "ds_"))
        return 0;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        size_t end = strlen(widths[i].end);

        if (length > end && strncmp(isa + length - end, widths[i].end, end) == 0)
            return widths[i].bytes;
    }
    return 4;
}

/* --- lines --------------------------------------------------------------------------------- */

static bool is_foreign(const char *frame, size_t length)
{
    static const char *const places[] = {"/hip/amd_detail/", "/include/hip/", "/lib/clang/",
                                         "__clang_",         "/opt/rocm",     "/usr/include/",
                                         "/usr/lib/"};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (memmem(frame, length, places[i], strlen(places[i])))
            return true;
    return false;
}

size_t rp_user_line(const char *source, const char **ret)
{
    const char *arrow = " -> ", *at = source;

    *ret = source;
    while (*at) {
        const char *next = strstr(at, arrow);
        size_t length = next ? (size_t)(next - at) : strlen(at);

        if (!is_foreign(at, length)) {
            *ret = at;
            return length;
        }
        at += length + (next ? strlen(arrow) : 0);
    }
    at = strstr(source, arrow);
    return at ? (size_t)(at - source) : strlen(source);
}

struct line_cycles {
    const char *line;
    size_t length;
    enum rp_wave_part part;
    double cycles;
    double executed;
};

static int compare_line_cycles(const void *a, const void *b)
{
    const struct line_cycles *l = a, *r = b;

    if (l->part != r->part)
        return l->part < r->part ? -1 : 1;
    if (l->length != r->length)
        return l->length < r->length ? -1 : 1;
    return memcmp(l->line, r->line, l->length);
}

/* The line of an earlier dispatch stays unless this one has one with more cycles. */
static bool keep_line(const struct line_cycles *line, double cycles, char **ret, double *ret_cycles)
{
    char *copy;

    if (line->length == 0 || cycles <= *ret_cycles)
        return true;
    copy = strndup(line->line, line->length);
    if (!copy)
        return false;
    free(*ret);
    *ret = copy;
    *ret_cycles = cycles;
    return true;
}

static bool keep_lines(struct line_cycles *lines, size_t count, struct rp_wave_time *to)
{
    if (count)
        qsort(lines, count, sizeof *lines, compare_line_cycles);
    for (size_t i = 0, end; i < count; i = end) {
        struct rp_wave_part_time *part = &to->of[lines[i].part];
        double cycles = 0;

        for (end = i; end < count && compare_line_cycles(&lines[i], &lines[end]) == 0; end++)
            cycles += lines[end].cycles;
        if (!keep_line(&lines[i], cycles, &part->line, &part->line_cycles))
            return false;
    }
    return true;
}

static int compare_lines_alone(const void *a, const void *b)
{
    struct line_cycles l = *(const struct line_cycles *)a, r = *(const struct line_cycles *)b;

    l.part = r.part;
    return compare_line_cycles(&l, &r);
}

static bool keep_atomic_lines(struct line_cycles *lines, size_t count, struct rp_wave_time *to)
{
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines_alone);
    for (size_t i = 0, end; i < count; i = end) {
        double cycles = 0;
        bool atomic = false;

        for (end = i; end < count && compare_lines_alone(&lines[i], &lines[end]) == 0; end++) {
            cycles += lines[end].cycles;
            atomic |= lines[end].part == RP_WAVE_PART_ATOMIC ||
                      lines[end].part == RP_WAVE_PART_LDS_ATOMIC;
        }
        if (!atomic || lines[i].length == 0)
            continue;
        to->atomic_lines += cycles;
        if (!keep_line(&lines[i], cycles, &to->atomic_line, &to->atomic_line_cycles))
            return false;
    }
    return true;
}

/* --- sums ---------------------------------------------------------------------------------- */

/* Without waves, a wait is put down to the instruction that it must have waited for if the code
 * ran straight on: the one that leaves as many outstanding as the wait allows. */
static size_t awaited_before(const struct rp_thread_trace *t, size_t wait,
                             const struct rp_att_meaning *meaning)
{
    uint32_t left[RP_ATT_COUNTERS];

    memcpy(left, meaning->limit, sizeof left);
    for (size_t i = wait; i-- > 0 && t->instructions[i].kernel == t->instructions[wait].kernel;) {
        struct rp_att_meaning before;

        rp_att_decode(t->instructions[i].isa, t->gfx_ip, &before);
        for (size_t c = 0; c < RP_ATT_COUNTERS; c++)
            if (meaning->waits[c] && before.counts[c] && left[c]-- == 0)
                return i;
    }
    return wait;
}

static double awaited_from_waves(const struct rp_thread_trace *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->instruction_count; i++)
        sum += (double)t->instructions[i].awaited_cycles;
    return sum;
}

/* Gives each instruction the cycles of the waits for it. */
static void find_awaited(const struct rp_thread_trace *t, double *awaited)
{
    double known = awaited_from_waves(t);
    double waits = (double)t->by_kind[RP_ATT_WAIT].latency_cycles;

    for (size_t i = 0; i < t->instruction_count; i++) {
        const struct rp_att_instruction *in = &t->instructions[i];
        struct rp_att_meaning meaning;

        if (known > 0) {
            awaited[i] += (double)in->awaited_cycles * waits / known;
        } else if (in->kind == RP_ATT_WAIT) {
            rp_att_decode(in->isa, t->gfx_ip, &meaning);
            awaited[awaited_before(t, i, &meaning)] += (double)in->sums.latency_cycles;
        }
    }
}

static double add_instruction(const struct rp_att_instruction *in, enum rp_wave_part part,
                              double awaited, struct rp_wave_time *to)
{
    struct rp_wave_part_time *mine = &to->of[part], *fetch = &to->of[RP_WAVE_PART_FETCH];
    double own = in->kind == RP_ATT_WAIT ? 0 : (double)in->sums.latency_cycles;

    mine->cycles += own + awaited;
    mine->issue += in->kind == RP_ATT_WAIT ? 0 : (double)in->sums.stall_cycles;
    mine->awaited += awaited;
    mine->executed += (double)in->sums.executed;
    mine->bytes += 64.0 * rp_isa_bytes_per_lane(in->isa) * (double)in->sums.executed;
    fetch->cycles += (double)in->sums.idle_cycles;
    to->cycles += own + awaited + (double)in->sums.idle_cycles;
    return own + awaited;
}

/* Lists the cycles of each instruction, two rows for each: its own with the waits for it, and those
 * without an instruction before it. Returns the count of rows, or SIZE_MAX: memory has ended. */
static size_t list_lines(const struct rp_thread_trace *t, struct rp_wave_time *to,
                         struct line_cycles **ret)
{
    struct line_cycles *lines = malloc((2 * t->instruction_count + 1) * sizeof *lines);
    rp_autofree double *awaited = calloc(t->instruction_count + 1, sizeof *awaited);
    size_t count = 0;

    *ret = lines;
    if (!lines || !awaited)
        return SIZE_MAX;
    find_awaited(t, awaited);
    for (size_t i = 0; i < t->instruction_count; i++) {
        const struct rp_att_instruction *in = &t->instructions[i];
        struct line_cycles line = {.part = part_of_kind(in->kind, in->isa)};

        line.cycles = add_instruction(in, line.part, awaited[i], to);
        line.executed = (double)in->sums.executed;
        line.length = rp_user_line(in->source, &line.line);
        lines[count++] = line;
        line.part = RP_WAVE_PART_FETCH;
        line.cycles = (double)in->sums.idle_cycles;
        line.executed = 0;
        lines[count++] = line;
    }
    return count;
}

bool rp_wave_time_add(const struct rp_thread_trace *t, struct rp_wave_time *to)
{
    rp_autofree struct line_cycles *lines = NULL;
    size_t count = list_lines(t, to, &lines);

    to->simd_cycles += (double)t->issue.simd_busy_cycles;
    return count != SIZE_MAX && keep_lines(lines, count, to) && keep_atomic_lines(lines, count, to);
}

/* Sums up rows of one line; those of one part are not neighbours. */
static struct rp_wave_line sum_of_line(const struct line_cycles *rows, size_t count)
{
    struct rp_wave_line line = {.line = rows->line, .length = rows->length};
    double of[RP_WAVE_PART_COUNT] = {0};

    for (size_t i = 0; i < count; i++) {
        line.cycles += rows[i].cycles;
        line.executed += rows[i].executed;
        of[rows[i].part] += rows[i].cycles;
    }
    for (unsigned p = 0; p < RP_WAVE_PART_COUNT; p++)
        if (of[p] > line.part_cycles) {
            line.part = (enum rp_wave_part)p;
            line.part_cycles = of[p];
        }
    return line;
}

bool rp_wave_lines_find(const struct rp_thread_trace *t, struct rp_wave_lines *ret)
{
    rp_autofree struct line_cycles *rows = NULL;
    struct rp_wave_time unused = {0};
    size_t count = list_lines(t, &unused, &rows), end;

    if (count == SIZE_MAX)
        return false;
    if (count)
        qsort(rows, count, sizeof *rows, compare_lines_alone);
    for (size_t i = 0; i < count; i = end) {
        struct rp_wave_line line;

        for (end = i; end < count && compare_lines_alone(&rows[i], &rows[end]) == 0; end++)
            ;
        line = sum_of_line(&rows[i], end - i);
        if ((line.cycles > 0 || line.executed > 0) && rp_vec_push(ret, line) < 0)
            return false;
    }
    return true;
}

void rp_wave_time_free(struct rp_wave_time *time)
{
    for (size_t p = 0; p < RP_WAVE_PART_COUNT; p++)
        free(time->of[p].line);
    free(time->atomic_line);
    *time = (struct rp_wave_time){0};
}
