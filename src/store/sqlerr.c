#include "store/sqlerr.h"

#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

static bool files_are_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* SQLite keeps the system's error of some statements; that of a COMMIT only the file knows. What a
 * rollback has done since hides it from both: then a write that fails where files are limited is
 * taken for one beyond the limit, for a full disk has a code of its own. */
static int system_error(sqlite3 *db, int result)
{
    int sys = db ? sqlite3_system_errno(db) : 0;

    if (db && !sys)
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
    if (!sys && result == SQLITE_IOERR_WRITE && files_are_limited())
        sys = EFBIG;
    return sys;
}

int rp_sql_fail(sqlite3 *db, int result, struct rp_err *err)
{
    int sys = system_error(db, result);

    if (result == SQLITE_IOERR_NOMEM)
        result = SQLITE_NOMEM;
    switch (result & 0xff) {
    case SQLITE_NOMEM:
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    case SQLITE_FULL:
        return rp_fail(err, RP_ENVIRONMENT, "no space left for the database");
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        if (sys == EFBIG)
            return rp_fail_errno(err, RP_ENVIRONMENT, EFBIG, "file size limit reached");
        if (sys)
            return rp_fail_errno(err, RP_ENVIRONMENT, sys, "%s", sqlite3_errstr(result));
        return rp_fail(err, RP_ENVIRONMENT, "%s", sqlite3_errstr(result));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return rp_fail(err, RP_ENVIRONMENT, "in use by another program");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return rp_fail(err, RP_BAD_INPUT, "the database is damaged");
    default:
        return rp_fail(err, RP_BAD_INPUT, "%s", db ? sqlite3_errmsg(db) : sqlite3_errstr(result));
    }
}

int rp_sql_exec(sqlite3 *db, const char *sql, struct rp_err *err)
{
    int result = sqlite3_exec(db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : rp_sql_fail(db, result, err);
}
