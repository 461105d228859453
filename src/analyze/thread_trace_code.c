#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/csv_read.h"
#include "trace/rocpd.h"

/* The listing is code.json or, with less in it, the stats CSV. Columns are found by their names,
 * which differ between versions. */

enum column {
    COLUMN_ISA,
    COLUMN_LINE,
    COLUMN_SOURCE,
    COLUMN_OBJECT,
    COLUMN_ADDRESS,
    COLUMN_HIT,
    COLUMN_LATENCY,
    COLUMN_STALL,
    COLUMN_IDLE,
    COLUMN_ISSUED,
    COLUMN_STALLED,
    COLUMN_REASONS,
    COLUMN_COUNT
};

static const struct {
    const char *word;
    enum column column;
} words[] = {
    {"ISA", COLUMN_ISA},
    {"Instruction", COLUMN_ISA},
    {"LineNumber", COLUMN_LINE},
    {"Source", COLUMN_SOURCE},
    {"Codeobj", COLUMN_OBJECT},
    {"CodeObj", COLUMN_OBJECT},
    {"Vaddr", COLUMN_ADDRESS},
    {"Hit", COLUMN_HIT},
    {"Hitcount", COLUMN_HIT},
    {"Latency", COLUMN_LATENCY},
    {"Stall", COLUMN_STALL},
    {"Idle", COLUMN_IDLE},
    {"PC_Issued", COLUMN_ISSUED},
    {"Issued", COLUMN_ISSUED},
    {"PC_Stalled", COLUMN_STALLED},
    {"Stalled", COLUMN_STALLED},
    {"Stall_Reasons", COLUMN_REASONS},
    {"NotIssuedReasons", COLUMN_REASONS},
};

enum { NO_COLUMN = -1 };

struct columns {
    int at[COLUMN_COUNT];
    int next;
};

static void begin_columns(struct columns *columns)
{
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        columns->at[c] = NO_COLUMN;
    columns->next = 0;
}

static void take_word(struct columns *columns, const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == len && strncmp(words[i].word, word, len) == 0 &&
            columns->at[words[i].column] == NO_COLUMN)
            columns->at[words[i].column] = columns->next;
    columns->next++;
}

static int check_columns(const struct columns *columns, bool lines, struct rp_err *err)
{
    if (columns->at[COLUMN_ISA] == NO_COLUMN)
        return rp_fail(err, RP_BAD_INPUT, "its header has no column for the instructions");
    if (lines && columns->at[COLUMN_LINE] == NO_COLUMN)
        return rp_fail(err, RP_BAD_INPUT, "its header has no column LineNumber");
    if (columns->at[COLUMN_HIT] == NO_COLUMN && columns->at[COLUMN_ISSUED] == NO_COLUMN)
        return rp_fail(err, RP_BAD_INPUT, "its header has neither hits nor samples");
    return 0;
}

static void take_words(struct columns *columns, const char *at)
{
    while (*at) {
        size_t len;

        at += strspn(at, " \t");
        len = strcspn(at, ",");
        take_word(columns, at, len);
        at += len + (at[len] == ',');
    }
}

/* The header is "ISA, _, LineNumber ..." or the same as a list. The decoder of ROCm 6.4 wrote none,
 * and rows of these eight. */
static int read_header(const json_t *header, size_t width, struct columns *columns,
                       struct rp_err *err)
{
    begin_columns(columns);
    if (json_is_string(header)) {
        take_words(columns, json_string_value(header));
    } else if (json_is_array(header)) {
        size_t i;
        json_t *word;

        json_array_foreach(header, i, word) take_word(
            columns, json_is_string(word) ? json_string_value(word) : "", json_string_length(word));
    } else if (!header && width == 8) {
        take_words(columns, "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency");
    } else {
        return rp_fail(err, RP_BAD_INPUT, "it has no header");
    }
    return check_columns(columns, true, err);
}

/* --- rows ---------------------------------------------------------------------------------- */

static int add_kernel(struct rp_thread_trace *trace, const char *symbol, const char *name,
                      struct rp_err *err)
{
    struct rp_att_kernel *grown =
        realloc(trace->kernels, (trace->kernel_count + 1) * sizeof *grown);
    struct rp_att_kernel *kernel;

    if (!grown)
        return rp_out_of_memory(err);
    trace->kernels = grown;
    kernel = &grown[trace->kernel_count];
    name = name && *name ? name : symbol;
    *kernel = (struct rp_att_kernel){.symbol = strndup(symbol, rp_kernel_name_length(symbol)),
                                     .name = strndup(name, rp_kernel_name_length(name))};
    if (!kernel->symbol || !kernel->name) {
        free(kernel->symbol);
        free(kernel->name);
        return rp_out_of_memory(err);
    }
    trace->kernel_count++;
    return 0;
}

/* Takes over the strings. */
static int add_instruction(struct rp_thread_trace *trace, struct rp_att_instruction *row,
                           struct rp_err *err)
{
    size_t count = trace->instruction_count;

    if (row->isa && row->source && (count & (count - 1)) == 0) {
        struct rp_att_instruction *grown =
            realloc(trace->instructions, (count ? count * 2 : 1) * sizeof *grown);

        if (grown)
            trace->instructions = grown;
        else
            row->isa = (free(row->isa), NULL);
    }
    if (!row->isa || !row->source) {
        free(row->isa);
        free(row->source);
        return rp_out_of_memory(err);
    }
    row->kernel = trace->kernel_count ? (uint32_t)trace->kernel_count - 1 : UINT32_MAX;
    trace->instructions[trace->instruction_count++] = *row;
    return 0;
}

/* "; symbol" is the label above a kernel's first instruction. */
static int add_label(struct rp_thread_trace *trace, const char *isa, const char *source,
                     struct rp_err *err)
{
    isa++;
    return add_kernel(trace, isa + strspn(isa, " \t"), source, err);
}

/* --- code.json ----------------------------------------------------------------------------- */

/* An absent column is 0, and one that is no number is damage. */
static bool cell(const json_t *row, const struct columns *columns, enum column column,
                 uint64_t *ret)
{
    int64_t value;

    if (columns->at[column] == NO_COLUMN)
        return true;
    if (!rp_att_number(json_array_get(row, (size_t)columns->at[column]), &value))
        return false;
    *ret = (uint64_t)value;
    return true;
}

static bool read_reasons(const json_t *row, const struct columns *columns,
                         struct rp_att_samples *ret)
{
    const json_t *reasons;

    if (columns->at[COLUMN_REASONS] == NO_COLUMN)
        return true;
    reasons = json_array_get(row, (size_t)columns->at[COLUMN_REASONS]);
    if (json_array_size(reasons) > RP_ATT_SAMPLE_COUNT)
        return false;
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        int64_t value;

        if (!rp_att_number(json_array_get(reasons, i), &value))
            return false;
        ret->by_reason[i] = (uint64_t)value;
    }
    return true;
}

static const char *text_cell(const json_t *row, const struct columns *columns, enum column column)
{
    return columns->at[column] == NO_COLUMN
               ? NULL
               : json_string_value(json_array_get(row, (size_t)columns->at[column]));
}

static int read_row(const json_t *row, const struct columns *columns, size_t index,
                    struct rp_thread_trace *trace, struct rp_err *err)
{
    struct rp_att_instruction in = {0};
    const char *isa = text_cell(row, columns, COLUMN_ISA);
    const char *source = text_cell(row, columns, COLUMN_SOURCE);
    uint64_t line = 0, object = 0;

    if (!isa)
        return rp_fail(err, RP_BAD_INPUT, "row %zu has no instruction", index);
    if (isa[0] == ';')
        return add_label(trace, isa, source, err);
    if (!cell(row, columns, COLUMN_LINE, &line) || line > UINT32_MAX - 1 ||
        !cell(row, columns, COLUMN_OBJECT, &object) || object > UINT32_MAX ||
        !cell(row, columns, COLUMN_ADDRESS, &in.address) ||
        !cell(row, columns, COLUMN_HIT, &in.sums.executed) ||
        !cell(row, columns, COLUMN_LATENCY, &in.sums.latency_cycles) ||
        !cell(row, columns, COLUMN_STALL, &in.sums.stall_cycles) ||
        !cell(row, columns, COLUMN_IDLE, &in.sums.idle_cycles) ||
        !cell(row, columns, COLUMN_ISSUED, &in.samples.issued) ||
        !cell(row, columns, COLUMN_STALLED, &in.samples.stalled) ||
        !read_reasons(row, columns, &in.samples))
        return rp_fail(err, RP_BAD_INPUT, "row %zu (%s) has a number that is none", index, isa);
    in.line = (uint32_t)line;
    in.code_object = (uint32_t)object;
    in.samples.taken = in.samples.issued + in.samples.stalled;
    in.isa = strdup(isa);
    in.source = strdup(source ? source : "");
    return add_instruction(trace, &in, err);
}

int rp_att_read_code(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "code");
    struct columns columns;
    size_t i;
    json_t *row;

    if (json_is_null(rows)) /* The capture is empty. */
        return 0;
    if (!json_is_array(rows))
        return rp_fail(err, RP_BAD_INPUT, "it has no list called code");
    if (read_header(json_object_get(root, "header"), json_array_size(json_array_get(rows, 0)),
                    &columns, err) < 0)
        return -RP_BAD_INPUT;
    json_array_foreach(rows, i, row)
    {
        int rc = read_row(row, &columns, i, trace, err);

        if (rc < 0)
            return rc;
    }
    /* Without stalls the sums are not whole; the waves have them. */
    trace->sums_known = columns.at[COLUMN_HIT] != NO_COLUMN &&
                        columns.at[COLUMN_STALL] != NO_COLUMN && !trace->sampled;
    return 0;
}

/* --- stats CSV ----------------------------------------------------------------------------- */

static bool csv_cell(const struct rp_csv *csv, const struct columns *columns, enum column column,
                     uint64_t *ret)
{
    const char *text;
    char *end;

    if (columns->at[column] == NO_COLUMN)
        return true;
    text = rp_csv_field(csv, (size_t)columns->at[column]);
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return end != text && !*end && *text != '-' && errno == 0 && *ret <= UINT64_C(1) << 53;
}

static int read_stats_row(const struct rp_csv *csv, const struct columns *columns,
                          struct rp_thread_trace *trace, struct rp_err *err)
{
    struct rp_att_instruction in = {.line = UINT32_MAX};
    const char *isa = rp_csv_field(csv, (size_t)columns->at[COLUMN_ISA]);
    const char *source = columns->at[COLUMN_SOURCE] == NO_COLUMN
                             ? ""
                             : rp_csv_field(csv, (size_t)columns->at[COLUMN_SOURCE]);
    uint64_t object = 0;

    if (isa[0] == ';')
        return add_label(trace, isa, source, err);
    if (!csv_cell(csv, columns, COLUMN_OBJECT, &object) || object > UINT32_MAX ||
        !csv_cell(csv, columns, COLUMN_ADDRESS, &in.address) ||
        !csv_cell(csv, columns, COLUMN_HIT, &in.sums.executed) ||
        !csv_cell(csv, columns, COLUMN_LATENCY, &in.sums.latency_cycles) ||
        !csv_cell(csv, columns, COLUMN_STALL, &in.sums.stall_cycles) ||
        !csv_cell(csv, columns, COLUMN_IDLE, &in.sums.idle_cycles) ||
        !csv_cell(csv, columns, COLUMN_ISSUED, &in.samples.issued) ||
        !csv_cell(csv, columns, COLUMN_STALLED, &in.samples.stalled))
        return rp_fail(err, RP_BAD_INPUT, "line %lu: a number that is none", csv->line);
    in.code_object = (uint32_t)object;
    in.samples.taken = in.samples.issued + in.samples.stalled;
    in.isa = strdup(isa);
    in.source = strdup(source);
    return add_instruction(trace, &in, err);
}

int rp_att_read_stats(const char *text, size_t len, struct rp_thread_trace *trace,
                      struct rp_err *err)
{
    rp_cleanup(rp_csv_free) struct rp_csv csv = {.at = text, .end = text + len};
    struct columns columns;
    int rc = rp_csv_next(&csv, err);

    if (rc < 0)
        return rc;
    begin_columns(&columns);
    for (size_t i = 0; rc > 0 && i < csv.count; i++)
        take_word(&columns, rp_csv_field(&csv, i), strlen(rp_csv_field(&csv, i)));
    if (check_columns(&columns, false, err) < 0)
        return -RP_BAD_INPUT;
    while ((rc = rp_csv_next(&csv, err)) > 0) {
        rc = read_stats_row(&csv, &columns, trace, err);
        if (rc < 0)
            return rc;
    }
    trace->sums_known = columns.at[COLUMN_HIT] != NO_COLUMN;
    return rc;
}

const char *const rp_att_kind_names[] = {
#define RP_ATT_KIND(id, name) [RP_ATT_##id] = (name),
#include "analyze/thread_trace_kinds.def"
#undef RP_ATT_KIND
};

const char *const rp_att_reason_names[] = {
#define RP_ATT_REASON(id, name) [RP_ATT_WAITED_##id] = (name),
#include "analyze/thread_trace_reasons.def"
#undef RP_ATT_REASON
};

const char *const rp_att_sample_names[] = {
#define RP_ATT_SAMPLE(id, name) [RP_ATT_SAMPLED_##id] = (name),
#include "analyze/thread_trace_samples.def"
#undef RP_ATT_SAMPLE
};

/* --- kinds --------------------------------------------------------------------------------- */

/* The first match counts. Kinds follow what an instruction does, not its encoding: global_ and
 * scratch_ are encoded as FLAT, and the decoder of rocprofv3 calls them so. */
static const struct {
    const char *prefix;
    enum rp_att_kind kind;
} prefixes[] = {
    {"v_mfma_", RP_ATT_MFMA},
    {"v_smfmac_", RP_ATT_MFMA},
    {"v_wmma_", RP_ATT_MFMA},
    {"v_swmmac_", RP_ATT_MFMA},
    {"v_", RP_ATT_VALU},
    {"ds_", RP_ATT_LDS},
    {"flat_", RP_ATT_FLAT},
    {"global_", RP_ATT_VMEM},
    {"buffer_", RP_ATT_VMEM},
    {"tbuffer_", RP_ATT_VMEM},
    {"image_", RP_ATT_VMEM},
    {"scratch_", RP_ATT_VMEM},
    {"s_waitcnt", RP_ATT_WAIT},
    {"s_wait_", RP_ATT_WAIT},
    {"s_barrier", RP_ATT_BARRIER},
    {"s_load_", RP_ATT_SMEM},
    {"s_buffer_", RP_ATT_SMEM},
    {"s_scratch_", RP_ATT_SMEM},
    {"s_store_", RP_ATT_SMEM},
    {"s_atomic_", RP_ATT_SMEM},
    {"s_dcache_", RP_ATT_SMEM},
    {"s_gl1_", RP_ATT_SMEM},
    {"s_memtime", RP_ATT_SMEM},
    {"s_memrealtime", RP_ATT_SMEM},
    {"s_prefetch_", RP_ATT_SMEM},
    {"s_branch", RP_ATT_BRANCH},
    {"s_cbranch_", RP_ATT_BRANCH},
    {"s_setpc_", RP_ATT_BRANCH},
    {"s_swappc_", RP_ATT_BRANCH},
    {"s_call_", RP_ATT_BRANCH},
    {"s_rfe_", RP_ATT_BRANCH},
    {"s_nop", RP_ATT_OTHER},
    {"s_sleep", RP_ATT_OTHER},
    {"s_setprio", RP_ATT_OTHER},
    {"s_sethalt", RP_ATT_OTHER},
    {"s_sendmsg", RP_ATT_OTHER},
    {"s_endpgm", RP_ATT_OTHER},
    {"s_trap", RP_ATT_OTHER},
    {"s_icache_", RP_ATT_OTHER},
    {"s_inst_prefetch", RP_ATT_OTHER},
    {"s_set_inst_prefetch", RP_ATT_OTHER},
    {"s_delay_alu", RP_ATT_OTHER},
    {"s_clause", RP_ATT_OTHER},
    {"s_code_end", RP_ATT_OTHER},
    {"s_", RP_ATT_SALU},
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum rp_att_kind kind_of(const char *isa)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (begins(isa, prefixes[i].prefix))
            return prefixes[i].kind;
    return RP_ATT_OTHER;
}

enum rp_att_kind rp_att_kind_of_category(int64_t category)
{
    /* The decoder has this order: none, SMEM, SALU, VMEM, FLAT, LDS, VALU, jump, next, immediate,
     * context, message, BVH. */
    static const enum rp_att_kind kinds[] = {
        RP_ATT_OTHER, RP_ATT_SMEM,  RP_ATT_SALU,   RP_ATT_VMEM,   RP_ATT_FLAT,
        RP_ATT_LDS,   RP_ATT_VALU,  RP_ATT_BRANCH, RP_ATT_BRANCH, RP_ATT_OTHER,
        RP_ATT_OTHER, RP_ATT_OTHER, RP_ATT_VMEM};

    return category >= 0 && category < (int64_t)(sizeof kinds / sizeof kinds[0]) ? kinds[category]
                                                                                 : RP_ATT_OTHER;
}

/* --- waits --------------------------------------------------------------------------------- */

static void wait_for(struct rp_att_meaning *m, enum rp_att_counter counter, const char *number)
{
    m->waits[counter] = true;
    m->limit[counter] = (uint32_t)strtoul(number, NULL, 0);
}

/* Reads "s_waitcnt vmcnt(3) lgkmcnt(0)". */
static void decode_counts(const char *isa, struct rp_att_meaning *m)
{
    const char *vm = strstr(isa, "vmcnt("), *lgkm = strstr(isa, "lgkmcnt(");

    if (vm)
        wait_for(m, RP_ATT_VM, vm + strlen("vmcnt("));
    if (lgkm)
        wait_for(m, RP_ATT_LGKM, lgkm + strlen("lgkmcnt("));
}

/* Reads "s_waitcnt_vscnt null, 0x0" of gfx10 and "s_wait_loadcnt 0x3" of gfx12. */
static void decode_one(const char *isa, struct rp_att_meaning *m)
{
    static const struct {
        const char *prefix;
        enum rp_att_counter counters[2]; /**< the same twice: one */
    } waits[] = {
        {"s_waitcnt_vmcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_waitcnt_vscnt", {RP_ATT_VS, RP_ATT_VS}},
        {"s_waitcnt_lgkmcnt", {RP_ATT_LGKM, RP_ATT_LGKM}},
        {"s_wait_loadcnt_dscnt", {RP_ATT_VM, RP_ATT_LGKM}},
        {"s_wait_storecnt_dscnt", {RP_ATT_VS, RP_ATT_LGKM}},
        {"s_wait_loadcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_samplecnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_bvhcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_storecnt", {RP_ATT_VS, RP_ATT_VS}},
        {"s_wait_dscnt", {RP_ATT_LGKM, RP_ATT_LGKM}},
        {"s_wait_kmcnt", {RP_ATT_KM, RP_ATT_KM}},
    };
    const char *comma = strchr(isa, ','), *blank = strchr(isa, ' ');
    const char *number = comma ? comma + 1 : blank ? blank + 1 : "0";
    unsigned long value = strtoul(number, NULL, 0);

    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        if (!begins(isa, waits[i].prefix))
            continue;
        wait_for(m, waits[i].counters[0], number);
        if (waits[i].counters[1] != waits[i].counters[0]) {
            /* One number is for both: load or store count above, DS count in the low 6 bits (RDNA4
             * ISA, S_WAIT_LOADCNT_DSCNT). */
            m->limit[waits[i].counters[0]] = (uint32_t)(value >> 8 & 63);
            m->waits[waits[i].counters[1]] = true;
            m->limit[waits[i].counters[1]] = (uint32_t)(value & 63);
        }
        return;
    }
}

static bool is_store(const char *isa)
{
    return strstr(isa, "_store") != NULL || (strstr(isa, "_atomic") && !strstr(isa, " glc") &&
                                             !strstr(isa, " sc0") && !strstr(isa, "_RETURN"));
}

void rp_att_decode(const char *isa, uint32_t gfx_ip, struct rp_att_meaning *ret)
{
    bool split = gfx_ip >= 10 && is_store(isa);

    *ret = (struct rp_att_meaning){.kind = kind_of(isa)};
    switch (ret->kind) {
    case RP_ATT_VMEM:
        ret->counts[split ? RP_ATT_VS : RP_ATT_VM] = true;
        ret->atomic = strstr(isa, "_atomic") != NULL;
        break;
    case RP_ATT_FLAT: /* It may go to memory or LDS, so both count it. */
        ret->counts[split ? RP_ATT_VS : RP_ATT_VM] = true;
        ret->counts[RP_ATT_LGKM] = true;
        ret->atomic = strstr(isa, "_atomic") != NULL;
        break;
    case RP_ATT_LDS:
        ret->counts[RP_ATT_LGKM] = true;
        break;
    case RP_ATT_SMEM:
        ret->counts[gfx_ip >= 12 ? RP_ATT_KM : RP_ATT_LGKM] = true;
        break;
    case RP_ATT_WAIT:
        if (begins(isa, "s_waitcnt ") || strcmp(isa, "s_waitcnt") == 0)
            decode_counts(isa, ret);
        else
            decode_one(isa, ret);
        break;
    default:
        ret->sleeps = begins(isa, "s_nop") || begins(isa, "s_sleep") || begins(isa, "s_setprio");
    }
}

enum rp_att_reason rp_att_reason_of(const struct rp_att_meaning *m)
{
    bool vector = m->waits[RP_ATT_VM] || m->waits[RP_ATT_VS];

    switch (m->kind) {
    case RP_ATT_VALU:
        return RP_ATT_WAITED_VALU_DEPENDENCY;
    case RP_ATT_MFMA:
        return RP_ATT_WAITED_MFMA_DEPENDENCY;
    case RP_ATT_VMEM:
    case RP_ATT_FLAT:
        return RP_ATT_WAITED_VECTOR_MEMORY_ISSUE;
    case RP_ATT_LDS:
        return RP_ATT_WAITED_LDS_ISSUE;
    case RP_ATT_SALU:
    case RP_ATT_SMEM:
        return RP_ATT_WAITED_SCALAR_ISSUE;
    case RP_ATT_BRANCH:
        return RP_ATT_WAITED_BRANCH;
    case RP_ATT_BARRIER:
        return RP_ATT_WAITED_BARRIER;
    case RP_ATT_WAIT:
        if (vector && (m->waits[RP_ATT_LGKM] || m->waits[RP_ATT_KM]))
            return RP_ATT_WAITED_MEMORY_MIXED;
        if (vector)
            return RP_ATT_WAITED_VECTOR_MEMORY;
        if (m->waits[RP_ATT_KM])
            return RP_ATT_WAITED_SCALAR_MEMORY;
        if (m->waits[RP_ATT_LGKM])
            return RP_ATT_WAITED_LDS_OR_SCALAR;
        /* s_waitcnt_depctr and expcnt are waits within the CU. */
        return RP_ATT_WAITED_VALU_DEPENDENCY;
    default:
        return m->sleeps ? RP_ATT_WAITED_SLEEP : RP_ATT_WAITED_SCALAR_ISSUE;
    }
}

int rp_att_json(const char *text, size_t len, json_t **ret, struct rp_err *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, len, 0, &why);

    if (!root)
        return rp_fail(err, RP_BAD_INPUT, "line %d, column %d: %s", why.line, why.column, why.text);
    if (!json_is_object(root)) {
        json_decref(root);
        return rp_fail(err, RP_BAD_INPUT, "it is not a JSON object");
    }
    *ret = root;
    return 0;
}

bool rp_att_number(const json_t *value, int64_t *ret)
{
    const int64_t most = INT64_C(1) << 53; /* Sums of many of them must not overflow. */

    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        json_integer_value(value) <= most) {
        *ret = (int64_t)json_integer_value(value);
        return true;
    }
    if (json_is_real(value) && json_real_value(value) >= 0 &&
        json_real_value(value) <= (double)most &&
        json_real_value(value) == (double)(int64_t)json_real_value(value)) {
        *ret = (int64_t)json_real_value(value);
        return true;
    }
    return false;
}
