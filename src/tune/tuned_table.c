#include "tune/bridge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/path.h"
#include "trace/csv_read.h"
#include "tune/space.h"

/* --- columns ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(name, *words) == 0)
            return true;
    return false;
}

static bool is_measured(const char *column)
{
    static const char *const words[] = {"us", "tflops", "bw", "errRatio", "err_ratio", NULL};

    return is_one_of(column, words);
}

/** These say which kernel a row is about, though not all of them need be parameters. */
static bool is_kernel(const char *column)
{
    static const char *const words[] = {"libtype", "kernelId",   "solidx",
                                        "splitK",  "kernelName", NULL};

    return is_one_of(column, words);
}

static int find_column(const struct rp_tuned_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->columns[i], name) == 0)
            return (int)i;
    return -1;
}

/** Says whether the column is part of what a row is about, not of the result. */
static bool is_shape(const struct rp_tuned_table *table, const struct rp_space *space,
                     size_t column)
{
    return !is_measured(table->columns[column]) && !is_kernel(table->columns[column]) &&
           rp_space_parameter(space, table->columns[column]) < 0;
}

static char **copy_fields(const struct rp_csv *csv)
{
    char **fields = rp_alloc_zero(csv->count + 1, sizeof *fields);

    for (size_t i = 0; i < csv->count; i++)
        fields[i] = rp_strdup(rp_buf_text(&csv->text) + csv->starts[i]);
    return fields;
}

static void free_fields(char **fields, size_t count)
{
    for (size_t i = 0; fields && i < count; i++)
        free(fields[i]);
    free(fields);
}

/* --- the shape -------------------------------------------------------------------------------- */

static int take_word(struct rp_tuned_table *table, const struct rp_space *space, char *word,
                     struct rp_err *err)
{
    char *equals = strchr(word, '=');
    int column;

    if (!equals)
        return rp_fail(err, RP_USAGE, "--shape: %s: use COLUMN=VALUE,COLUMN=VALUE...", word);
    *equals = 0;
    column = find_column(table, word);
    if (column < 0)
        return rp_fail(err, RP_USAGE, "--shape: %s has no column %s", table->path, word);
    if (rp_space_parameter(space, word) >= 0 || is_measured(word))
        return rp_fail(err, RP_USAGE, "--shape: %s is %s, not part of the shape", word,
                       is_measured(word) ? "measured" : "a parameter of the space");
    free(table->wanted[column]);
    table->wanted[column] = rp_strdup(equals + 1);
    return 0;
}

static int take_shape(struct rp_tuned_table *table, const char *shape, const struct rp_space *space,
                      struct rp_err *err)
{
    rp_autofree char *words = rp_strdup(shape);
    rp_autobuf missing = {0};
    char *rest = NULL;
    size_t parameters = 0;

    table->wanted = rp_alloc_zero(table->count + 1, sizeof *table->wanted);
    for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (take_word(table, space, word, err) < 0)
            return -(int)err->code;
    for (size_t i = 0; i < table->count; i++) {
        parameters += rp_space_parameter(space, table->columns[i]) >= 0;
        if (is_shape(table, space, i) && !table->wanted[i])
            rp_buf_printf(&missing, "%s%s", missing.len ? "," : "", table->columns[i]);
    }
    if (missing.len)
        return rp_fail(err, RP_USAGE, "--shape: %s has these columns as well: %s", table->path,
                       rp_buf_text(&missing));
    if (parameters == 0)
        return rp_fail(err, RP_USAGE,
                       "--tuned-csv %s: none of its columns is a parameter of the space: name a "
                       "parameter kernelId, say",
                       table->path);
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool is_of_shape(const struct rp_tuned_table *table, const struct rp_space *space,
                        char *const *fields)
{
    for (size_t i = 0; i < table->count; i++)
        if (is_shape(table, space, i) && strcmp(fields[i], table->wanted[i]) != 0)
            return false;
    return true;
}

/** Finds the number of a value that is written so. */
static int value_of(const struct rp_parameter *parameter, const char *text)
{
    for (size_t i = 0; i < parameter->count; i++) {
        rp_autobuf own = {0};

        rp_value_text(&parameter->values[i], &own);
        if (strcmp(rp_buf_text(&own), text) == 0)
            return (int)i;
    }
    return -1;
}

/** Other parameters than those of the table may have any values: all such configurations count. */
static bool has_fields(const struct rp_tuned_table *table, const struct rp_space *space,
                       size_t config, const int *values)
{
    const uint16_t *row = rp_space_row(space, config);

    for (size_t i = 0; i < table->count; i++) {
        const int parameter = rp_space_parameter(space, table->columns[i]);

        if (parameter >= 0 && row[parameter] != values[i])
            return false;
    }
    return true;
}

/** Finds what the row has as configurations of the space, at most ten. */
static void take_first(struct rp_tuned_table *table, const struct rp_space *space)
{
    enum { MOST_FIRST = 10 };
    rp_autofree int *values = rp_alloc_zero(table->count + 1, sizeof *values);

    for (size_t i = 0; i < table->count; i++) {
        const int parameter = rp_space_parameter(space, table->columns[i]);

        if (parameter < 0)
            continue;
        values[i] = value_of(&space->parameters[parameter], table->row[i]);
        if (values[i] < 0)
            return;
    }
    table->first = rp_alloc_zero(MOST_FIRST, sizeof *table->first);
    for (size_t i = 0; i < space->count && table->first_count < MOST_FIRST; i++)
        if (has_fields(table, space, i, values))
            table->first[table->first_count++] = (uint32_t)i;
}

static int read_rows(struct rp_tuned_table *table, const char *shape, const struct rp_space *space,
                     struct rp_csv *csv, struct rp_err *err)
{
    const char *text = rp_buf_text(&table->text);
    int rc = rp_csv_next(csv, err);

    if (rc == 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "it is empty: begin it with the names of the columns, such as "
                     "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio");
    if (rc < 0)
        return rc;
    table->columns = copy_fields(csv);
    table->count = csv->count;
    if (find_column(table, "") >= 0)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: a column has no name", csv->line);
    if (find_column(table, "us") < 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "line %lu: no column is called us, the time of the kernel: is it a table "
                       "of tuned kernels?",
                       csv->line);
    if ((rc = take_shape(table, shape, space, err)) < 0)
        return rc;
    for (;;) {
        const size_t begin = (size_t)(csv->at - text);
        char **fields;

        if ((rc = rp_csv_next(csv, err)) <= 0)
            return rc;
        if (csv->count != table->count)
            return rp_fail(err, RP_BAD_INPUT, "line %lu: %zu fields in place of %zu", csv->line,
                           csv->count, table->count);
        fields = copy_fields(csv);
        if (table->row || !is_of_shape(table, space, fields)) {
            free_fields(fields, table->count);
            continue;
        }
        table->row = fields;
        table->row_begin = begin;
        table->row_end = (size_t)(csv->at - text);
    }
}

/** Reads the text that the table has already. */
static int tuned_table_parse(struct rp_tuned_table *table, const char *shape,
                             const struct rp_space *space, struct rp_err *err)
{
    const char *text = rp_buf_text(&table->text);
    struct rp_csv csv = {.at = text, .end = text + table->text.len};
    int rc;

    table->row_begin = table->row_end = table->text.len;
    rc = read_rows(table, shape, space, &csv, err);
    rp_csv_free(&csv);
    return rc;
}

int rp_tuned_table_read(const char *path, const char *shape, const struct rp_space *space,
                        struct rp_tuned_table *ret, struct rp_err *err)
{
    struct rp_tuned_table table = {.path = rp_strdup(path)};
    int rc = rp_json_read_file(path, &table.text, err);

    if (rc == 0)
        rc = tuned_table_parse(&table, shape, space, err);
    if (rc < 0) {
        rp_tuned_table_free(&table);
        return rc == -RP_USAGE ? rc : rp_wrap(err, "--tuned-csv %s", path);
    }
    if (table.row)
        take_first(&table, space);
    *ret = table;
    return 0;
}

void rp_tuned_table_free(struct rp_tuned_table *table)
{
    free_fields(table->columns, table->count);
    free_fields(table->wanted, table->count);
    free_fields(table->row, table->count);
    free(table->path);
    free(table->first);
    rp_buf_free(&table->text);
    *table = (struct rp_tuned_table){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

static double size_of(const struct rp_tuned_table *table, const char *column)
{
    const int at = find_column(table, column);

    return at >= 0 && table->wanted[at] ? strtod(table->wanted[at], NULL) : 0;
}

static void put_field(const char *text, struct rp_buf *to)
{
    if (!strpbrk(text, ",\"\r\n")) {
        rp_buf_puts(to, text);
        return;
    }
    rp_buf_puts(to, "\"");
    for (; *text; text++)
        rp_buf_printf(to, *text == '"' ? "\"\"" : "%c", *text);
    rp_buf_puts(to, "\"");
}

/** Of what is neither known nor said, nothing is made up: the field is empty. A kernel's old name
 * stays only where the rest of the result is as it was. */
static void put_column(const struct rp_tuned_table *table, const struct rp_space *space,
                       size_t config, size_t column, double us, bool same, struct rp_buf *to)
{
    const char *name = table->columns[column];
    const int parameter = rp_space_parameter(space, name);
    const struct rp_value *value =
        parameter < 0 ? NULL : rp_space_value(space, config, (size_t)parameter);
    const double flops = 2 * size_of(table, "M") * size_of(table, "N") * size_of(table, "K");
    rp_autobuf text = {0};

    if (value)
        rp_value_text(value, &text);
    else if (strcmp(name, "us") == 0)
        rp_buf_printf(&text, "%.4f", us);
    else if (strcmp(name, "tflops") == 0 && flops > 0)
        rp_buf_printf(&text, "%.2f", flops / us / 1e6);
    else if (table->wanted[column])
        rp_buf_puts(&text, table->wanted[column]);
    else if (is_kernel(name) && table->row && (same || strcmp(name, "kernelName") != 0))
        rp_buf_puts(&text, table->row[column]);
    put_field(rp_buf_text(&text), to);
}

/** Says whether the row had the same configuration before. */
static bool is_same(const struct rp_tuned_table *table, size_t config)
{
    for (size_t i = 0; i < table->first_count; i++)
        if (table->first[i] == config)
            return true;
    return false;
}

static void put_table(const struct rp_tuned_table *table, const struct rp_space *space,
                      size_t config, double us, struct rp_buf *to)
{
    const char *text = rp_buf_text(&table->text);
    const bool same = is_same(table, config);
    const bool crlf = memmem(text, table->text.len, "\r\n", 2) != NULL;

    rp_buf_add(to, text, table->row_begin);
    if (to->len && to->data[to->len - 1] != '\n')
        rp_buf_puts(to, crlf ? "\r\n" : "\n");
    for (size_t i = 0; i < table->count; i++) {
        rp_buf_puts(to, i ? "," : "");
        put_column(table, space, config, i, us, same, to);
    }
    rp_buf_puts(to, crlf ? "\r\n" : "\n");
    rp_buf_add(to, text + table->row_end, table->text.len - table->row_end);
}

/** Returns the time of a row that stays: of a kernel that could not be run here, and is faster.
 * @return 0: the row does not stay */
static double time_to_keep(const struct rp_tuned_table *table, double us)
{
    const double was =
        table->row && !table->first_count ? strtod(table->row[find_column(table, "us")], NULL) : 0;

    return was > 0 && us >= was ? was : 0;
}

/** Takes the file for this process. Whoever had it before may have put another one in its place.
 * @return the lock; -1 */
static int take_file(const char *path)
{
    for (;;) {
        struct stat here, locked;
        const int fd = rp_lock_path(path, RP_LOCK_WAIT);

        if (fd < 0 && errno != EINTR)
            return -1;
        if (fd >= 0 && fstat(fd, &locked) == 0 && stat(path, &here) == 0 &&
            here.st_ino == locked.st_ino && here.st_dev == locked.st_dev)
            return fd;
        if (fd >= 0)
            close(fd);
    }
}

/* A search takes hours, in which others add rows of other shapes: the table is read again. */
int rp_tuned_table_write(const char *path, const char *shape, const struct rp_space *space,
                         size_t config, double us, double *ret_kept_us, struct rp_err *err)
{
    rp_cleanup(rp_tuned_table_free) struct rp_tuned_table table = {0};
    rp_autoclose int lock = take_file(path);
    rp_autobuf to = {0};
    int rc;

    if (lock < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "--tuned-csv: cannot lock %s", path);
    rc = rp_tuned_table_read(path, shape, space, &table, err);
    if (rc < 0)
        return rc;
    *ret_kept_us = time_to_keep(&table, us);
    if (*ret_kept_us > 0)
        return 0;
    put_table(&table, space, config, us, &to);
    return rp_write_output(path, rp_buf_text(&to), to.len, err) < 0 ? rp_wrap(err, "--tuned-csv")
                                                                    : 0;
}
