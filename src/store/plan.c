#include "store/plan.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/sqlerr.h"

#include <stdlib.h>
#include <string.h>

/*
 * SQLite explains a statement as the program of its virtual machine. One that goes through a table
 * is
 *     OpenRead cursor root
 *     Rewind cursor
 *       Rowid cursor - register | Column cursor column register     (one per argument)
 *       AggStep - first-register - function - count
 *     Next cursor
 * within operations that begin and end it. A filter, a join, an order, an index, an expression all
 * need others.
 */
enum stage { BEFORE, OPEN, IN_ROW, STEPPED, AFTER };

struct reading {
    const char *aggregate;
    enum stage stage;
    int cursor;
    int64_t root;
    struct {
        int reg, column; /* -1: the row's id */
    } loads[RP_RECORD_VALUES];
    int load_count, first_reg, arg_count;
};

struct op {
    const char *name, *p4;
    int p1, p2, p3, p5;
};

static bool is(const struct op *op, const char *name)
{
    return strcmp(op->name, name) == 0;
}

static bool is_one_of(const struct op *op, const char *const *names)
{
    while (*names && !is(op, *names))
        names++;
    return *names != NULL;
}

/* An index is opened with a description of its keys, a table with its number of columns. */
static bool open_table(struct reading *r, const struct op *op)
{
    if (!is(op, "OpenRead") || op->p2 < 2 || op->p3 != 0 || op->p5 != 0 ||
        strspn(op->p4, "0123456789") != strlen(op->p4))
        return false;
    r->cursor = op->p1;
    r->root = op->p2;
    r->stage = OPEN;
    return true;
}

static bool load(struct reading *r, const struct op *op)
{
    bool rowid = is(op, "Rowid");

    if (!(rowid || is(op, "Column")) || op->p1 != r->cursor || op->p5 != 0 ||
        r->load_count == RP_RECORD_VALUES || (!rowid && (op->p2 < 0 || op->p2 > UINT16_MAX)))
        return false;
    r->loads[r->load_count].reg = rowid ? op->p2 : op->p3;
    r->loads[r->load_count++].column = rowid ? -1 : op->p2;
    return true;
}

static bool step(struct reading *r, const struct op *op)
{
    size_t len = strlen(r->aggregate);

    if (!is(op, "AggStep") || op->p1 != 0 || strncmp(op->p4, r->aggregate, len) != 0 ||
        op->p4[len] != '(' || op->p5 != r->load_count)
        return false;
    r->first_reg = op->p2;
    r->arg_count = op->p5;
    r->stage = STEPPED;
    return true;
}

static bool take_op(struct reading *r, const struct op *op)
{
    static const char *const before[] = {"Init", "Null", NULL};
    static const char *const after[] = {"AggFinal", "Copy",        "SCopy", "ResultRow",
                                        "Halt",     "Transaction", "Goto",  NULL};

    if (is(op, "Explain") || is(op, "Noop"))
        return true;
    switch (r->stage) {
    case BEFORE:
        return is_one_of(op, before) || open_table(r, op);
    case OPEN:
        r->stage = IN_ROW;
        return is(op, "Rewind") && op->p1 == r->cursor;
    case IN_ROW:
        return load(r, op) || step(r, op);
    case STEPPED:
        r->stage = AFTER;
        return is(op, "Next") && op->p1 == r->cursor;
    case AFTER:
        return is_one_of(op, after);
    }
    return false;
}

static int by_column(const void *a, const void *b)
{
    const uint16_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool put_wanted(const struct reading *r, struct rp_wanted *ret)
{
    bool filled[RP_RECORD_VALUES] = {false};

    *ret = (struct rp_wanted){0};
    if (r->stage != AFTER || r->arg_count != r->load_count)
        return false;
    for (int i = 0; i < r->load_count; i++) {
        int value = r->loads[i].reg - r->first_reg;
        if (value < 0 || value >= r->arg_count || filled[value])
            return false;
        filled[value] = true;
        if (r->loads[i].column < 0) {
            ret->rowids[ret->rowid_count++] = (uint16_t)value;
        } else {
            ret->columns[ret->column_count].column = (uint16_t)r->loads[i].column;
            ret->columns[ret->column_count++].value = (uint16_t)value;
        }
    }
    qsort(ret->columns, ret->column_count, sizeof ret->columns[0], by_column);
    return true;
}

bool rp_plan_scan(sqlite3 *db, const char *sql, const char *aggregate, uint32_t *ret_root,
                  struct rp_wanted *ret_wanted)
{
    enum { OPCODE = 1, P1, P2, P3, P4, P5 };
    rp_autobuf explain = {0};
    rp_autostmt *stmt = NULL;
    struct reading r = {.aggregate = aggregate};
    bool known = true;

    rp_buf_printf(&explain, "EXPLAIN %s", sql);
    if (explain.failed || sqlite3_prepare_v2(db, explain.data, -1, &stmt, NULL) != SQLITE_OK)
        return false;
    while (known && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, OPCODE);
        const char *p4 = (const char *)sqlite3_column_text(stmt, P4);
        const struct op op = {.name = name ? name : "",
                              .p4 = p4 ? p4 : "",
                              .p1 = sqlite3_column_int(stmt, P1),
                              .p2 = sqlite3_column_int(stmt, P2),
                              .p3 = sqlite3_column_int(stmt, P3),
                              .p5 = sqlite3_column_int(stmt, P5)};
        known = take_op(&r, &op);
    }
    if (!known || !put_wanted(&r, ret_wanted))
        return false;
    *ret_root = (uint32_t)r.root;
    return true;
}
