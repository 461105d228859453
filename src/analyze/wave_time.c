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

/* Accesses to scratch are scratch_ with architected flat scratch (gfx940 and later). Before, spills
 * are buffer_ without an address register, with the descriptor in s[0:3] (LLVM, AMDGPUUsage:
 * "Private Segment Buffer"); kernels that make descriptors of their own address by registers. */
static bool is_scratch(const char *isa)
{
    return begins(isa, "scratch_") || (begins(isa, "buffer_") && strstr(isa, " off, s[0:3], "));
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
    case RP_ATT_WAIT: /* Nothing shows what it waited for. */
        return RP_WAVE_PART_WAIT;
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
    {"_dwordx4", 16}, {"_dwordx3", 12}, {"_dwordx2", 8}, {"_dword", 4}, {"_b128", 16},
    {"_b96", 12},     {"_b64", 8},      {"_f64", 8},     {"_x2", 8},    {"_b32", 4},
    {"_ushort", 2},   {"_sshort", 2},   {"_short", 2},   {"_ubyte", 1}, {"_sbyte", 1},
    {"_byte", 1},     {"_u8", 1},       {"_i8", 1},      {"_u16", 2},   {"_i16", 2},
    {"_b16", 2},      {"_b8", 1},
};

/* The half of a register that a load goes to stands behind its width: "_ubyte_d16_hi". */
static size_t width_end(const char *isa)
{
    static const char *const halves[] = {"_hi", "_d16"};
    size_t length = strcspn(isa, " \t");

    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        size_t end = strlen(halves[i]);

        if (length > end && strncmp(isa + length - end, halves[i], end) == 0)
            length -= end;
    }
    return length;
}

unsigned rp_isa_bytes_per_lane(const char *isa)
{
    size_t length = width_end(isa);

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
                                         "/usr/lib/",        "/_rocm_sdk_"};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (memmem(frame, length, places[i], strlen(places[i])))
            return true;
    return false;
}

/* Line 0 stands for code that the compiler has made of no line. */
static bool has_number(const char *frame, size_t length)
{
    return length < 2 || frame[length - 1] != '0' || frame[length - 2] != ':';
}

static const char *next_frame(const char *frame, size_t *length)
{
    static const char arrow[] = " -> ";
    const char *end = strstr(frame, arrow);

    *length = end ? (size_t)(end - frame) : strlen(frame);
    return end ? end + strlen(arrow) : NULL;
}

size_t rp_user_line(const char *source, const char **ret)
{
    size_t length;

    for (const char *frame = source, *next; frame; frame = next) {
        next = next_frame(frame, &length);
        if (is_foreign(frame, length) || !has_number(frame, length))
            continue;
        *ret = frame;
        return length;
    }
    *ret = source;
    next_frame(source, &length);
    return has_number(source, length) ? length : 0;
}

/* The outermost frame is in the kernel itself. */
static size_t kernel_line(const char *source, const char **ret)
{
    size_t length, found = 0;

    for (const char *frame = source, *next; frame; frame = next) {
        next = next_frame(frame, &length);
        if (is_foreign(frame, length) || !has_number(frame, length))
            continue;
        *ret = frame;
        found = length;
    }
    return found;
}

struct line_cycles {
    const char *line, *source;
    size_t length;
    enum rp_wave_part part;
    double cycles;
    double executed;
    double lookups;   /**< of loads and stores, that they do not need */
    double conflicts; /**< LDS cycles */
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

static bool copy_text(const char *text, size_t length, char **ret)
{
    char *copy = length ? strndup(text, length) : NULL;

    if (length && !copy)
        return false;
    free(*ret);
    *ret = copy;
    return true;
}

/* Copies a line of a chain, and the line of the kernel into which it is inlined. */
static bool copy_line(const char *source, const char *line, size_t length, char **ret_line,
                      char **ret_outer)
{
    const char *outer = NULL;
    size_t outer_length = kernel_line(source, &outer);

    if (outer_length == length && memcmp(outer, line, length) == 0)
        outer_length = 0;
    return copy_text(line, length, ret_line) && copy_text(outer, outer_length, ret_outer);
}

static unsigned long line_number(const struct line_cycles *l)
{
    const char *colon = memrchr(l->line, ':', l->length);

    return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

static bool same_file(const struct line_cycles *a, const struct line_cycles *b)
{
    const char *a_end = memrchr(a->line, ':', a->length), *b_end = memrchr(b->line, ':', b->length);

    return a_end && b_end && a_end - a->line == b_end - b->line &&
           memcmp(a->line, b->line, (size_t)(a_end - a->line)) == 0;
}

/* The line of an earlier dispatch stays unless this one has one with more cycles. */
static bool keep_line(const struct line_cycles *best, double cycles, struct rp_wave_part_time *part)
{
    if (cycles <= part->line_cycles)
        return true;
    part->line_cycles = cycles;
    return copy_line(best->source, best->line, best->length, &part->line, &part->outer);
}

/* Adds up neighbours of one line and part in the first of them. Returns how many are left. */
static size_t join_lines(struct line_cycles *lines, size_t count)
{
    size_t kept = 0;

    if (count)
        qsort(lines, count, sizeof *lines, compare_line_cycles);
    for (size_t i = 0; i < count; i++)
        if (kept && compare_line_cycles(&lines[kept - 1], &lines[i]) == 0)
            lines[kept - 1].cycles += lines[i].cycles;
        else
            lines[kept++] = lines[i];
    return kept;
}

/* Of lines that take about as long as the longest, the first in its file is named. */
static const struct line_cycles *first_of_the_longest(const struct line_cycles *lines, size_t count)
{
    const double alike = 0.9;
    const struct line_cycles *longest = NULL, *first;

    for (size_t i = 0; i < count; i++)
        if (lines[i].length && lines[i].cycles > (longest ? longest->cycles : 0))
            longest = &lines[i];
    first = longest;
    for (size_t i = 0; longest && i < count; i++)
        if (lines[i].length && lines[i].cycles >= alike * longest->cycles &&
            same_file(&lines[i], longest) && line_number(&lines[i]) < line_number(first))
            first = &lines[i];
    return first;
}

static bool keep_lines(const struct line_cycles *all, size_t count, struct rp_wave_time *to)
{
    rp_autofree struct line_cycles *lines = malloc((count + 1) * sizeof *lines);

    if (!lines)
        return false;
    memcpy(lines, all, count * sizeof *lines);
    count = join_lines(lines, count);
    for (size_t i = 0, end; i < count; i = end) {
        const struct line_cycles *best;

        for (end = i; end < count && lines[end].part == lines[i].part; end++)
            ;
        best = first_of_the_longest(&lines[i], end - i);
        if (best && !keep_line(best, best->cycles, &to->of[best->part]))
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

/* Compilers add the values of a wave up, or search for their lanes, before one atomic for all. */
static bool sums_up_atomics(enum rp_wave_part part)
{
    return part == RP_WAVE_PART_ATOMIC || part == RP_WAVE_PART_LDS_ATOMIC ||
           part == RP_WAVE_PART_VALU || part == RP_WAVE_PART_OTHER;
}

static bool keep_atomic_lines(struct line_cycles *lines, size_t count, struct rp_wave_time *to)
{
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines_alone);
    for (size_t i = 0, end; i < count; i = end) {
        double cycles = 0;
        bool atomic = false, more = false;

        for (end = i; end < count && compare_lines_alone(&lines[i], &lines[end]) == 0; end++) {
            cycles += sums_up_atomics(lines[end].part) ? lines[end].cycles : 0;
            atomic |= lines[end].part == RP_WAVE_PART_ATOMIC ||
                      lines[end].part == RP_WAVE_PART_LDS_ATOMIC;
            more |= lines[end].part == RP_WAVE_PART_MFMA || lines[end].part == RP_WAVE_PART_BARRIER;
        }
        /* Generators of kernels put all of a kernel down to one line. */
        if (!atomic || more || lines[i].length == 0)
            continue;
        to->atomic_lines += cycles;
        if (cycles <= to->atomic_line_cycles)
            continue;
        to->atomic_line_cycles = cycles;
        if (!copy_text(lines[i].line, lines[i].length, &to->atomic_line))
            return false;
    }
    return true;
}

/* The lines that waste most look-ups and LDS cycles. The rows are sorted as keep_atomic_lines
 * leaves them. */
static bool keep_wasteful_lines(const struct line_cycles *lines, size_t count,
                                struct rp_wave_time *to)
{
    bool ok = true;

    for (size_t i = 0, end; i < count && ok; i = end) {
        double lookups = 0, conflicts = 0;

        for (end = i; end < count && compare_lines_alone(&lines[i], &lines[end]) == 0; end++) {
            lookups += lines[end].lookups;
            conflicts += lines[end].conflicts;
        }
        if (lookups > to->scattered_lookups) {
            to->scattered_lookups = lookups;
            ok = copy_line(lines[i].source, lines[i].line, lines[i].length, &to->scattered_line,
                           &to->scattered_outer);
        }
        if (ok && conflicts > to->conflict_cycles) {
            to->conflict_cycles = conflicts;
            ok = copy_line(lines[i].source, lines[i].line, lines[i].length, &to->conflict_line,
                           &to->conflict_outer);
        }
    }
    return ok;
}

/* --- sums ---------------------------------------------------------------------------------- */

/* Without waves, a wait is put down to the instruction that it must have waited for if the code
 * ran straight on: the one that leaves as many outstanding as the wait allows. */
static size_t awaited_before(const struct rp_thread_trace *t, size_t wait,
                             const struct rp_att_meaning *meaning)
{
    enum { FARTHEST = 2000 }; /* What is farther away has returned long before. */
    uint32_t left[RP_ATT_COUNTERS];

    memcpy(left, meaning->limit, sizeof left);
    for (size_t i = wait; i-- > 0 && wait - i <= FARTHEST &&
                          t->instructions[i].kernel == t->instructions[wait].kernel;) {
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
    mine->lookups += (rp_isa_bytes_per_lane(in->isa) <= 4 ? 4 : 16) * (double)in->sums.executed;
    mine->bytes += 64.0 * rp_isa_bytes_per_lane(in->isa) * (double)in->sums.executed;
    fetch->cycles += (double)in->sums.idle_cycles;
    to->cycles += own + awaited + (double)in->sums.idle_cycles;
    to->has_lines |= *in->source != '\0';
    return own + awaited;
}

/* --- branches ------------------------------------------------------------------------------ */

/* Code between first and end runs with the lanes that a condition leaves; in a loop whose head
 * comes later than the condition, also that between again and again_end. */
struct region {
    size_t first, end; /**< instructions */
    size_t again, again_end;
    bool guards;        /**< the lanes do not come back: they have nothing to do */
    const char *source; /**< of the condition */
    const char *line;   /**< of that, in the user's files */
    size_t length;
};

/** This is an operand in the text of an instruction: "s[2:3]", "vcc", "exec". */
struct operand {
    const char *at;
    size_t length;
};

/* Returns an operand: 0 is what is written. Its length is 0 where there is none. */
static struct operand operand_of(const char *isa, size_t index)
{
    const char *at = strchr(isa, ' ');

    for (; at && index; index--)
        at = strchr(at + 1, ',');
    at = at ? at + strspn(at, ", ") : "";
    return (struct operand){.at = at, .length = strcspn(at, ", ")};
}

static bool same_operand(struct operand a, struct operand b)
{
    return a.length && a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Returns the input of a mask's instruction that a comparison may have made: not the mask itself,
 * which a loop adds lanes to, and not exec. */
static struct operand made_from(const char *isa)
{
    static const struct operand exec = {"exec", 4};
    const struct operand written = operand_of(isa, 0);

    for (size_t i = 1; i <= 2; i++) {
        const struct operand input = operand_of(isa, i);

        if (input.length && !same_operand(input, written) && !same_operand(input, exec))
            return input;
    }
    return (struct operand){.at = "", .length = 0};
}

/* Code that compilers have merged has line 0. Returns the chain of calls of the nearest instruction
 * before it that is of the same place but for that line, else its own. */
static const char *source_near(const struct rp_thread_trace *t, size_t at)
{
    enum { NEAR = 64 };
    const char *own = t->instructions[at].source;
    size_t length;
    const char *tail = next_frame(own, &length);

    if (has_number(own, length) || length < 2)
        return own;
    for (size_t i = at; i-- > 0 && at - i <= NEAR;) {
        const char *other = t->instructions[i].source;
        size_t other_length;
        const char *other_tail = next_frame(other, &other_length);
        const char *colon = memrchr(own, ':', length);

        if (t->instructions[i].kernel != t->instructions[at].kernel ||
            !has_number(other, other_length) || !colon ||
            strncmp(own, other, (size_t)(colon - own) + 1) != 0)
            continue;
        if (tail && other_tail ? strcmp(tail, other_tail) == 0 : tail == other_tail)
            return other;
    }
    return own;
}

static void take_condition(const struct rp_thread_trace *t, size_t at, struct region *ret)
{
    const char *line, *source = source_near(t, at);
    const size_t length = rp_user_line(source, &line);

    if (length == 0)
        return;
    ret->source = source;
    ret->line = line;
    ret->length = length;
}

/* Follows the mask that an instruction uses back to the comparison that made it. */
static void find_condition(const struct rp_thread_trace *t, size_t use, struct region *ret)
{
    enum { NEAR = 64, STEPS = 4 };
    struct operand mask = made_from(t->instructions[use].isa);
    size_t steps = 0;

    ret->length = 0;
    take_condition(t, use, ret);
    for (size_t i = use; i-- > 0 && use - i <= NEAR && mask.length && steps < STEPS;) {
        const struct rp_att_instruction *in = &t->instructions[i];

        if (in->kernel != t->instructions[use].kernel ||
            !same_operand(operand_of(in->isa, 0), mask))
            continue;
        take_condition(t, i, ret);
        if (begins(in->isa, "v_cmp"))
            return;
        mask = made_from(in->isa);
        steps++;
    }
}

/* Finds the target of a branch back.
 * @return false: it is no such branch */
static bool branch_back(const struct rp_thread_trace *t, size_t at, size_t *ret)
{
    const struct rp_att_instruction *branch = &t->instructions[at];
    const char *number = strchr(branch->isa, ' ');
    const int16_t words = number ? (int16_t)strtoul(number, NULL, 0) : 0;
    const uint64_t target = branch->address + 4 + (uint64_t)(int64_t)(4 * words);
    size_t first = at;

    if ((!begins(branch->isa, "s_cbranch_") && !begins(branch->isa, "s_branch ")) || words >= 0)
        return false;
    while (first > 0 && t->instructions[first].address > target)
        first--;
    *ret = first;
    return t->instructions[first].address == target;
}

static bool restores(const struct rp_thread_trace *t, size_t at, struct operand saved)
{
    static const char restore[] = "s_or_b64 exec, exec, ";

    return begins(t->instructions[at].isa, restore) &&
           same_operand(operand_of(t->instructions[at].isa, 2), saved);
}

/* A loop that is turned round has the end of its condition before the beginning: the region goes on
 * from the loop's first instruction. The loop's last branch back is its own; one before skips what
 * the condition rules. */
static bool goes_round(const struct rp_thread_trace *t, size_t at, struct operand saved,
                       struct region *ret)
{
    const size_t end = ret->end;
    bool found = false;

    for (size_t back = at + 1; back < end; back++) {
        size_t first;

        if (!branch_back(t, back, &first) || first > at)
            continue;
        for (size_t i = first; i < at; i++)
            if (restores(t, i, saved)) {
                ret->end = back;
                ret->again = first;
                ret->again_end = i;
                found = true;
                break;
            }
    }
    return found;
}

/* "s_and_saveexec_b64 s[2:3], vcc" narrows the mask up to "s_or_b64 exec, exec, s[2:3]". */
static bool if_region(const struct rp_thread_trace *t, size_t at, struct region *ret)
{
    const char *isa = t->instructions[at].isa;
    const struct operand saved = operand_of(isa, 0);
    bool restored = false;

    if (!begins(isa, "s_and_saveexec_b64 ") || saved.length == 0)
        return false;
    *ret = (struct region){.first = at + 1, .end = at + 1};
    while (ret->end < t->instruction_count && !restored &&
           t->instructions[ret->end].kernel == t->instructions[at].kernel) {
        restored = restores(t, ret->end, saved);
        ret->end += !restored;
    }
    ret->guards = !restored && !goes_round(t, at, saved, ret);
    find_condition(t, at, ret);
    return true;
}

/* Finds the innermost loop around an instruction: to the last branch back to the first target that
 * is not behind it. */
static bool find_loop(const struct rp_thread_trace *t, size_t at, struct region *ret)
{
    bool found = false;

    for (size_t back = at + 1;
         back < t->instruction_count && t->instructions[back].kernel == t->instructions[at].kernel;
         back++) {
        size_t first;

        if (!branch_back(t, back, &first) || first > at || (found && first != ret->first))
            continue;
        *ret = (struct region){.first = first, .end = back};
        found = true;
    }
    return found;
}

/* Lanes leave a loop by "s_andn2_b64 exec, exec, s[2:3]". */
static bool loop_region(const struct rp_thread_trace *t, size_t at, struct region *ret)
{
    if (!begins(t->instructions[at].isa, "s_andn2_b64 exec, exec, ") || !find_loop(t, at, ret))
        return false;
    find_condition(t, at, ret);
    for (size_t i = ret->first; i < ret->end && !ret->length;
         i++) /* Its mask is made all around. */
        if (begins(t->instructions[i].isa, "v_cmp"))
            take_condition(t, i, ret);
    return true;
}

static bool is_arithmetic(const struct rp_att_instruction *in)
{
    enum rp_wave_part part = part_of_kind(in->kind, in->isa);

    return part == RP_WAVE_PART_VALU || part == RP_WAVE_PART_TRANSCENDENTAL;
}

static double arithmetic_cycles(const struct rp_thread_trace *t, const bool *ruled)
{
    double sum = 0;

    for (size_t i = 0; i < t->instruction_count; i++)
        if ((!ruled || ruled[i]) && is_arithmetic(&t->instructions[i]))
            sum += (double)t->instructions[i].sums.latency_cycles;
    return sum;
}

static bool same_line(const struct region *a, const struct region *b)
{
    return a->length == b->length && memcmp(a->line, b->line, a->length) == 0;
}

/* Marks what the conditions of a line rule. */
static void mark_ruled(const struct region *regions, size_t count, const struct region *of,
                       bool *ruled)
{
    for (size_t r = 0; r < count; r++) {
        if (!same_line(of, &regions[r]))
            continue;
        for (size_t i = regions[r].first; i < regions[r].end; i++)
            ruled[i] = true;
        for (size_t i = regions[r].again; i < regions[r].again_end; i++)
            ruled[i] = true;
    }
}

/** Which condition is to blame: of those that rule half of the arithmetic the one that rules least,
 * of the others that rule a good part the one that rules most. A guard counts where there is
 * nothing else: the lanes that it ends have nothing to do. */
enum blame { NO_BLAME, BLAME_GUARD, BLAME_PART, BLAME_HALF };

static enum blame blame_of(const struct region *region, double part)
{
    if (part < 0.1)
        return NO_BLAME;
    return region->guards ? BLAME_GUARD : part < 0.5 ? BLAME_PART : BLAME_HALF;
}

static bool is_first_of_line(const struct region *regions, size_t at)
{
    for (size_t before = 0; before < at; before++)
        if (same_line(&regions[before], &regions[at]))
            return false;
    return regions[at].length > 0;
}

/* Adds up what the conditions of one line rule, and keeps the line that is to blame. */
static bool keep_branch(const struct rp_thread_trace *t, const struct region *regions, size_t count,
                        struct rp_wave_time *to)
{
    rp_autofree bool *ruled = malloc(t->instruction_count + 1);
    const double all = arithmetic_cycles(t, NULL);
    const struct region *best = NULL;
    enum blame most = NO_BLAME;
    double kept = 0;

    if (!ruled)
        return false;
    for (size_t r = 0; r < count && all > 0; r++) {
        enum blame blame;
        double cycles;

        if (!is_first_of_line(regions, r))
            continue;
        memset(ruled, 0, t->instruction_count);
        mark_ruled(regions, count, &regions[r], ruled);
        cycles = arithmetic_cycles(t, ruled);
        blame = blame_of(&regions[r], cycles / all);
        if (blame == NO_BLAME || blame < most ||
            (blame == most && (blame == BLAME_PART ? cycles <= kept : cycles >= kept)))
            continue;
        best = &regions[r];
        most = blame;
        kept = cycles;
    }
    if (!best || kept <= to->branch_cycles)
        return true;
    to->branch_cycles = kept;
    return copy_line(best->source, best->line, best->length, &to->branch_line, &to->branch_outer);
}

static bool find_branches(const struct rp_thread_trace *t, struct rp_wave_time *to)
{
    enum { MOST = 256 }; /* Kernels with more conditions are large, and this takes their square. */
    struct region regions[MOST];
    size_t count = 0;

    for (size_t i = 0; i < t->instruction_count && count < MOST; i++)
        if (t->instructions[i].sums.executed &&
            (if_region(t, i, &regions[count]) || loop_region(t, i, &regions[count])))
            count++;
    return keep_branch(t, regions, count, to);
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
        if (t->sampled) /* Samples take the place of cycles. */
            line.cycles = (double)in->samples.taken;
        if (line.part == RP_WAVE_PART_LOAD || line.part == RP_WAVE_PART_STORE)
            line.lookups = (double)in->wasted_lookups;
        line.conflicts = (double)in->lds_conflict_cycles;
        line.source = in->source;
        line.length = rp_user_line(in->source, &line.line);
        lines[count++] = line;
        line.lookups = line.conflicts = 0;
        line.part = RP_WAVE_PART_FETCH;
        line.cycles = (double)in->sums.idle_cycles;
        line.executed = 0;
        lines[count++] = line;
    }
    return count;
}

/* A trace without its clock leaves the lives of all unknown. */
static void add_lives(const struct rp_thread_trace *t, struct rp_wave_time *to)
{
    bool known = to->waves <= 0 || to->lives_ns > 0;
    double mhz = 0;

    for (size_t i = 0; i < t->clock_count; i++)
        mhz += t->clocks[i].mhz / (double)t->clock_count;
    if (known && mhz > 0)
        to->lives_ns += (double)t->issue.wave_cycles * 1e3 / mhz;
    else
        to->lives_ns = 0;
    to->waves += (double)t->wave_count;
}

bool rp_wave_time_add(const struct rp_thread_trace *t, struct rp_wave_time *to)
{
    rp_autofree struct line_cycles *lines = NULL;
    size_t count = list_lines(t, to, &lines);

    add_lives(t, to);
    return count != SIZE_MAX && keep_lines(lines, count, to) &&
           keep_atomic_lines(lines, count, to) && keep_wasteful_lines(lines, count, to) &&
           find_branches(t, to);
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
    for (size_t p = 0; p < RP_WAVE_PART_COUNT; p++) {
        free(time->of[p].line);
        free(time->of[p].outer);
    }
    free(time->atomic_line);
    free(time->branch_line);
    free(time->branch_outer);
    free(time->scattered_line);
    free(time->scattered_outer);
    free(time->conflict_line);
    free(time->conflict_outer);
    *time = (struct rp_wave_time){0};
}
