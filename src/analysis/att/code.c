#include "analysis/att/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/csv_read.h"
#include "trace/rocpd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The listing: code.json or, with less in it, the stats CSV. Columns are found by their names,
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

/* "ISA, _, LineNumber ..." or the same as a list */
static int read_header(const json_t *header, struct columns *columns, struct rp_err *err)
{
    begin_columns(columns);
    if (json_is_string(header)) {
        const char *at = json_string_value(header);

        while (*at) {
            size_t len;

            at += strspn(at, " \t");
            len = strcspn(at, ",");
            take_word(columns, at, len);
            at += len + (at[len] == ',');
        }
    } else if (json_is_array(header)) {
        size_t i;
        json_t *word;

        json_array_foreach(header, i, word) take_word(
            columns, json_is_string(word) ? json_string_value(word) : "", json_string_length(word));
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    trace->kernels = grown;
    kernel = &grown[trace->kernel_count];
    name = name && *name ? name : symbol;
    *kernel = (struct rp_att_kernel){.symbol = strndup(symbol, rp_kernel_name_length(symbol)),
                                     .name = strndup(name, rp_kernel_name_length(name))};
    if (!kernel->symbol || !kernel->name) {
        free(kernel->symbol);
        free(kernel->name);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    trace->kernel_count++;
    return 0;
}

/* Takes the strings. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    row->kernel = trace->kernel_count ? (uint32_t)trace->kernel_count - 1 : UINT32_MAX;
    trace->instructions[trace->instruction_count++] = *row;
    return 0;
}

/* "; symbol": the label above a kernel's first instruction */
static int add_label(struct rp_thread_trace *trace, const char *isa, const char *source,
                     struct rp_err *err)
{
    isa++;
    return add_kernel(trace, isa + strspn(isa, " \t"), source, err);
}

/* --- code.json ----------------------------------------------------------------------------- */

/* A column that is not there is 0; one that is no number is damage. */
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

    if (json_is_null(rows)) /* an empty capture */
        return 0;
    if (!json_is_array(rows))
        return rp_fail(err, RP_BAD_INPUT, "it has no list called code");
    if (read_header(json_object_get(root, "header"), &columns, err) < 0)
        return -RP_BAD_INPUT;
    json_array_foreach(rows, i, row)
    {
        int rc = read_row(row, &columns, i, trace, err);

        if (rc < 0)
            return rc;
    }
    trace->sums_known = columns.at[COLUMN_HIT] != NO_COLUMN && !trace->sampled;
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
