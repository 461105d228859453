/**
 * @file pass.h
 * @brief One pass of SELECT over the relations of a table.
 *
 * Columns are found by name, so that neither their order nor later additions matter; joins are done
 * by the callers, on (guid, id), because some databases lack the rows that rocpd's own views join
 * with.
 */
#ifndef RP_STORE_PASS_H
#define RP_STORE_PASS_H

#include "store/cell.h"
#include "store/reader.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_pass;

typedef int rp_pass_fn(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err);

enum { RP_PASS_COLUMNS = 32 };

struct rp_pass {
    struct rp_store *store;
    enum rp_table table;
    const char *const *columns;
    size_t column_count;
    bool keep_texts; /**< else a text is lent until the next row */
    rp_pass_fn *on_row;
    void *ctx;
    struct rp_err *err;
    int failed; /**< what on_row returned that ended the pass */
    sqlite3_stmt *stmt;
    sqlite3_value **values;       /**< of the row, from SQLite; or */
    const struct rp_cell *cells;  /**< from the file */
    uint64_t skip;                /**< rows to come that were handed over already */
    const struct rp_pages *pages; /**< of the cells, or NULL */
    unsigned untold;              /**< rows since it was told how far it is */
    char *lent;                   /**< texts of the row that need room */
    size_t lent_used, lent_room;
    int at[RP_PASS_COLUMNS]; /**< value of each wanted column, -1: the relation lacks it */
    int guid_at;
    uint32_t guid; /**< of all rows when there is no guid column, else of the last row */
    bool guid_known;
    size_t guid_len;
    char guid_bytes[64]; /**< of the last row, as they are stored */
};

/** Set columns, column_count, keep_texts before; on_row is called for every row. */
struct rp_pass_order {
    enum rp_table table;
    const char *const *columns;
    size_t column_count;
    const bool *required; /**< per column, or NULL */
    bool keep_texts;
};

/** Once per store, before the first pass. */
int rp_pass_prepare(struct rp_store *s, struct rp_err *err);

int rp_pass_each(struct rp_store *s, const struct rp_pass_order *order, rp_pass_fn *on_row,
                 void *ctx, struct rp_err *err);

/** As rp_pass_number, of a value that may be anything. */
int rp_pass_any_number(struct rp_pass *pass, size_t column, int64_t if_null, int64_t *ret,
                       struct rp_err *err);

/** @return 0; RP_BAD_INPUT for a text: it would silently become 0 */
static inline int rp_pass_number(struct rp_pass *pass, size_t column, int64_t if_null, int64_t *ret,
                                 struct rp_err *err)
{
    int at = pass->at[column];

    if (pass->cells && at >= 0 && pass->cells[at].type == RP_CELL_INTEGER) {
        *ret = pass->cells[at].number;
        return 0;
    }
    return rp_pass_any_number(pass, column, if_null, ret, err);
}

int rp_pass_real(struct rp_pass *pass, size_t column, double *ret, struct rp_err *err);
int rp_pass_text(struct rp_pass *pass, size_t column, const char *if_null, const char **ret,
                 struct rp_err *err);

/** Adds a row to a growing array, or NULL. */
void *rp_next_slot(void **rows, size_t *count, size_t row_bytes);

#endif
