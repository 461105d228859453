#include "store/reader.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "store/probe.h"
#include "store/sqlerr.h"

#include <string.h>
#include <strings.h>

/* rocprofv3's suffix is a UUID with underscores; other hexadecimal ones of some length are taken
 * too, but not words: rocpd_event_operation is a table of its own. */
static bool is_suffix(const char *text)
{
    size_t len = strspn(text, "0123456789abcdefABCDEF_");

    return len >= 16 && text[len] == '\0';
}

static int add_name(struct rp_relations *r, const char *name)
{
    char **grown = realloc(r->names, (r->count + 1) * sizeof *grown);

    if (!grown)
        return -1;
    r->names = grown;
    grown[r->count] = strdup(name);
    if (!grown[r->count])
        return -1;
    r->count++;
    return 0;
}

void rp_relations_free(struct rp_relations *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->names[i]);
    free(r->names);
    *r = (struct rp_relations){0};
}

int rp_relation_columns(sqlite3 *db, const char *relation, sqlite3_stmt **ret, struct rp_err *err)
{
    rp_autobuf sql = {0};
    int result;

    /* Names are rp_table_name with a suffix of digits and underscores: nothing to escape. */
    rp_buf_printf(&sql, "SELECT * FROM \"%s\" LIMIT 0", relation);
    if (sql.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = NULL;
    result = sqlite3_prepare_v2(db, sql.data, -1, ret, NULL);
    if (result == SQLITE_OK || (result & 0xff) == SQLITE_ERROR)
        return 0;
    return rp_sql_fail(db, result, err);
}

static int check_works(sqlite3 *db, const char *relation, bool *ret, struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = rp_relation_columns(db, relation, &stmt, err);

    *ret = stmt != NULL;
    return result;
}

int rp_column_at(sqlite3_stmt *stmt, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const char *column = sqlite3_column_name(stmt, i);
        if (column && strcasecmp(column, name) == 0)
            return i;
    }
    return -1;
}

static int check_column(struct rp_store *s, enum rp_table table, const char *column, bool *ret,
                        struct rp_err *err)
{
    const struct rp_relations *r = &s->tables[table];
    rp_autostmt *stmt = NULL;
    int result = r->count ? rp_relation_columns(s->db, r->names[0], &stmt, err) : 0;

    *ret = stmt && rp_column_at(stmt, column) >= 0;
    return result;
}

/* Sorts one name of the schema to its table: the un-suffixed one goes to plain. */
static int file_name(struct rp_store *s, const char *name, bool plain[RP_TABLE_COUNT])
{
    for (int t = 0; t < RP_TABLE_COUNT; t++) {
        const char *base = rp_table_name((enum rp_table)t);
        size_t len = strlen(base);
        if (strcasecmp(name, base) == 0) {
            plain[t] = true;
            return 0;
        }
        if (strncasecmp(name, base, len) == 0 && name[len] == '_' && is_suffix(name + len + 1))
            return add_name(&s->tables[t], name);
    }
    return 0;
}

static int list_names(struct rp_store *s, bool plain[RP_TABLE_COUNT], struct rp_err *err)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(s->db,
                                    "SELECT name FROM sqlite_master"
                                    " WHERE type IN ('table', 'view') ORDER BY name",
                                    -1, &stmt, NULL);

    while (result == SQLITE_OK && (result = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        if (!name || file_name(s, name, plain) < 0)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        result = SQLITE_OK;
    }
    return result == SQLITE_DONE ? 0 : rp_sql_fail(s->db, result, err);
}

/* Prefers the un-suffixed name: in a merged database it is the union. */
static int choose(struct rp_store *s, enum rp_table table, bool plain, struct rp_err *err)
{
    struct rp_relations *r = &s->tables[table];
    const char *name = rp_table_name(table);
    int result = 0;

    r->suffixed = true;
    if (plain)
        result = check_works(s->db, name, &plain, err);
    if (result < 0 || !plain)
        return result;
    rp_relations_free(r);
    return add_name(r, name) < 0 ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

/* The oldest version that has everything found. 3.0.1 only widened a check and cannot be told;
 * 3.0.4 added a table that is not in our list. */
static int detect(struct rp_store *s, struct rp_err *err)
{
    static const struct {
        const char *version;
        enum rp_table table;
        const char *column;
    } signs[] = {
        {"4 (draft)", RP_TABLE_kernel_dispatch, "track_id"},
        {"3.0.5", RP_TABLE_pmc_event, "shader_array"},
        {"3.0.4", RP_TABLE_COUNT, NULL},
        {"3.0.3", RP_TABLE_pmc_event, "sample_id"},
        {"3.0.3", RP_TABLE_info_pmc, "spm_support"},
        {"3.0.2", RP_TABLE_kernel_dispatch, "graph_exec_id"},
    };
    bool found = false;
    int result = 0;

    s->schema = "3.0.0";
    for (size_t i = 0; i < sizeof signs / sizeof signs[0] && !found && result == 0; i++) {
        if (signs[i].column)
            result = check_column(s, signs[i].table, signs[i].column, &found, err);
        else
            result = check_works(s->db, "rocpd_hip_event", &found, err);
        if (found)
            s->schema = signs[i].version;
    }
    return result;
}

static int require_tables(const struct rp_store *s, struct rp_err *err)
{
    if (s->tables[RP_TABLE_string].count == 0)
        return rp_fail(err, RP_BAD_INPUT, "table rocpd_string is missing");
    for (int r = 0; r < RP_ROWS_COUNT; r++)
        if (rp_specs[r].required && s->tables[rp_specs[r].table].count == 0)
            return rp_fail(err, RP_BAD_INPUT, "table %s is missing",
                           rp_table_name(rp_specs[r].table));
    return 0;
}

bool rp_relations_exist(sqlite3 *db)
{
    rp_autostmt *stmt = NULL;
    int result = sqlite3_prepare_v2(
        db, "SELECT name FROM sqlite_master WHERE name LIKE 'rocpd\\_info\\_%' ESCAPE '\\'", -1,
        &stmt, NULL);

    return result != SQLITE_OK || sqlite3_step(stmt) != SQLITE_DONE;
}

int rp_relations_find(struct rp_store *s, struct rp_err *err)
{
    bool plain[RP_TABLE_COUNT] = {false};
    bool found = false;
    int result = list_names(s, plain, err);

    for (int t = 0; t < RP_TABLE_COUNT && result == 0; t++) {
        result = choose(s, (enum rp_table)t, plain[t], err);
        /* RPD traces have a rocpd_string and a rocpd_metadata too. */
        if (t != RP_TABLE_metadata && t != RP_TABLE_string)
            found |= s->tables[t].count > 0;
    }
    if (result < 0)
        return result;
    if (!found)
        return rp_probe_other(s->db, err);
    result = require_tables(s, err);
    return result < 0 ? result : detect(s, err);
}
