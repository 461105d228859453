#include "store/memdb.h"

#include "base/err.h"
#include "store/sqlerr.h"

int rp_memdb_begin(struct rp_memdb *m, const char *name, const char *tables, struct rp_err *err)
{
    int result = sqlite3_open_v2(
        name, &m->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

    return result == SQLITE_OK ? rp_sql_exec(m->db, tables, err) : rp_sql_fail(m->db, result, err);
}

void rp_memdb_end(struct rp_memdb *m)
{
    for (size_t i = 0; i < RP_MEMDB_STATEMENTS; i++)
        sqlite3_finalize(m->statements[i].stmt);
    rp_names_free(&m->strings);
}

int rp_memdb_statement(struct rp_memdb *m, const char *sql, sqlite3_stmt **ret, struct rp_err *err)
{
    size_t i = 0;
    int result;

    while (i < RP_MEMDB_STATEMENTS && m->statements[i].sql && m->statements[i].sql != sql)
        i++;
    if (i == RP_MEMDB_STATEMENTS)
        return rp_fail(err, RP_ENVIRONMENT, "too many statements");
    if (!m->statements[i].sql) {
        result = sqlite3_prepare_v2(m->db, sql, -1, &m->statements[i].stmt, NULL);
        if (result != SQLITE_OK)
            return rp_sql_fail(m->db, result, err);
        m->statements[i].sql = sql;
    }
    *ret = m->statements[i].stmt;
    return 0;
}

int rp_memdb_run(struct rp_memdb *m, const char *sql, const int64_t *numbers, size_t count,
                 const char *const *texts, size_t text_count, struct rp_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = rp_memdb_statement(m, sql, &stmt, err), done;

    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == INT64_MIN)
            sqlite3_bind_null(stmt, (int)i + 1);
        else
            sqlite3_bind_int64(stmt, (int)i + 1, numbers[i]);
    for (size_t i = 0; i < text_count; i++) /* NULL binds NULL */
        sqlite3_bind_text(stmt, (int)(count + i) + 1, texts[i], -1, SQLITE_STATIC);
    done = sqlite3_step(stmt);
    if (done != SQLITE_DONE)
        result = rp_sql_fail(m->db, done, err);
    sqlite3_reset(stmt);
    return result;
}

int rp_memdb_string(struct rp_memdb *m, const char *text, int64_t *ret, struct rp_err *err)
{
    bool is_new = false;

    *ret = rp_names_id(&m->strings, text, &is_new);
    if (*ret == 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return is_new
               ? rp_memdb_run(m, "INSERT INTO rocpd_string VALUES (?1, ?2)", ret, 1, &text, 1, err)
               : 0;
}
