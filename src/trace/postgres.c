#include "trace/postgres.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

static const int64_t NS_PER_MS = 1000000;
enum {
    CONNECT_MS = 15000,              /**< where the address has no connect_timeout */
    MOST_CONNECT_MS = 600000,        /**< which may be so long */
    STATEMENT_MS = 180000,           /**< the server ends one before: see history_postgres.c */
    CONNECTION_MS = 900000,          /**< all together, however steadily it sends */
    MOST_RECEIVED_BYTES = 512 << 20, /**< some 10 000 results with 200 kernels */
    ROW_BYTES = 8,                   /**< of a row and of each value, beside its text */
    SAID_BYTES = 300,                /**< of the server's words in a message */
};

/* --- addresses ----------------------------------------------------------------------------- */

static const char *const schemes[] = {"postgresql://", "postgres://"};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

/** The parts of an address; each has its length. */
struct address {
    size_t scheme, user, password, hosts, database; /**< lengths; password: with its colon */
    const char *user_at, *hosts_at, *database_at;
};

static size_t scheme_of(const char *name)
{
    for (size_t i = 0; i < SCHEMES; i++)
        if (strncmp(name, schemes[i], strlen(schemes[i])) == 0) /* libpq takes no capitals. */
            return strlen(schemes[i]);
    return 0;
}

/* Says whether it is "host=db password=..", the other form that libpq knows. */
static bool has_keywords(const char *name)
{
    static const char *const keywords[] = {"host", "hostaddr", "port",    "dbname",
                                           "user", "password", "service", "passfile"};
    const size_t len = strcspn(name, "= \t/");

    for (size_t i = 0; name[len] == '=' && i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i]) == len && strncasecmp(name, keywords[i], len) == 0)
            return true;
    return false;
}

/* "postgresql:x" is no file either: somebody forgot the slashes, and may have written a password.
 * The same holds of addresses of other servers and tools; file: is for who reads files. */
bool rp_pg_is_address(const char *name)
{
    const char *slash = strchr(name, '/');

    if (slash && slash > name && slash[-1] == ':' && slash[1] == '/' &&
        strncasecmp(name, "file:", 5) != 0)
        return true;
    if (has_keywords(name))
        return true;
    for (size_t i = 0; i < SCHEMES; i++)
        if (strncasecmp(name, schemes[i], strlen(schemes[i]) - 2) == 0)
            return true;
    return false;
}

/** @return the length of HOST[:PORT], 0 of what is none */
static size_t length_of_host(const char *at)
{
    size_t len = *at == '[' ? strcspn(at, "]/?#@") : strcspn(at, ":,/?#@[]");

    if (*at == '[') {
        if (at[len] != ']')
            return 0;
        len++;
    }
    if (at[len] == ':')
        len += 1 + strspn(at + len + 1, "0123456789");
    return len;
}

/** Splits an address as libpq does, but refuses what has a sign of another part: then a password
 * that was not written as it must be would be taken for a host. */
static bool split(const char *address, struct address *ret)
{
    const char *at = address + scheme_of(address);
    const char *mark = at + strcspn(at, "@/");

    *ret = (struct address){.scheme = scheme_of(address), .user_at = at};
    if (at == address || strpbrk(address, " \t\r\n"))
        return false;
    if (*mark == '@') {
        ret->user = strcspn(at, ":@?#");
        ret->password = (size_t)(mark - at) - ret->user;
        if (ret->password && at[ret->user] != ':')
            return false;
        at = mark + 1;
    }
    ret->hosts_at = at;
    for (;;) {
        at += length_of_host(at);
        if (*at != ',')
            break;
        at++;
    }
    ret->hosts = (size_t)(at - ret->hosts_at);
    ret->database_at = at + (*at == '/');
    ret->database = *at == '/' ? strcspn(at + 1, "/?#@:") : 0;
    at = ret->database_at + ret->database;
    return !*at || (*at == '?' && !strpbrk(at, "@#"));
}

int rp_pg_check_address(const char *address, struct rp_err *err)
{
    struct address parts;

    if (split(address, &parts))
        return 0;
    return rp_fail(err, RP_USAGE,
                   "the history's name is no address of PostgreSQL, which has the form "
                   "postgresql://USER@HOST:PORT/DATABASE; in a password write %% @ / : ? # as %%25 "
                   "%%40 %%2F %%3A %%3F %%23, or leave it to ~/.pgpass or PGPASSWORD (of a file "
                   "that is called like one give ./NAME)");
}

char *rp_pg_shown_address(const char *address)
{
    struct address parts;

    if (!split(address, &parts))
        return strdup("postgresql://...");
    return rp_format("postgresql://%.*s%s%.*s%s%.*s", (int)parts.user, parts.user_at,
                     parts.user ? "@" : "", (int)parts.hosts, parts.hosts_at,
                     parts.database ? "/" : "", (int)parts.database, parts.database_at);
}

/* --- libpq --------------------------------------------------------------------------------- */

/* What libpq's ABI says, which has been the same since version 9.2: its headers are needed nowhere.
 */
struct conninfo_option {
    char *keyword, *envvar, *compiled, *val, *label, *dispchar;
    int dispsize;
};
enum { STATUS_OK = 0 };
enum { POLLING_FAILED = 0, POLLING_READING = 1, POLLING_WRITING = 2, POLLING_OK = 3 };
enum { EMPTY_QUERY = 0, COMMAND_OK = 1, TUPLES_OK = 2, FATAL_ERROR = 7, SINGLE_TUPLE = 9 };
enum { FIELD_SQLSTATE = 'C', FIELD_MESSAGE = 'M' };

#define EACH_FUNCTION(F)                                                                           \
    F(struct conninfo_option *, conninfoParse, (const char *, char **))                            \
    F(void, conninfoFree, (struct conninfo_option *))                                              \
    F(void, freemem, (void *))                                                                     \
    F(void *, connectStartParams, (const char *const *, const char *const *, int))                 \
    F(int, connectPoll, (void *))                                                                  \
    F(int, status, (const void *))                                                                 \
    F(int, socket, (const void *))                                                                 \
    F(char *, pass, (const void *))                                                                \
    F(char *, errorMessage, (const void *))                                                        \
    F(int, setnonblocking, (void *, int))                                                          \
    F(void *, setNoticeProcessor, (void *, void (*)(void *, const char *), void *))                \
    F(int, sendQuery, (void *, const char *))                                                      \
    F(int, sendQueryParams,                                                                        \
      (void *, const char *, int, const unsigned *, const char *const *, const int *, const int *, \
       int))                                                                                       \
    F(int, setSingleRowMode, (void *))                                                             \
    F(int, flush, (void *))                                                                        \
    F(int, consumeInput, (void *))                                                                 \
    F(int, isBusy, (void *))                                                                       \
    F(void *, getResult, (void *))                                                                 \
    F(int, resultStatus, (const void *))                                                           \
    F(char *, resultErrorField, (const void *, int))                                               \
    F(int, ntuples, (const void *))                                                                \
    F(int, nfields, (const void *))                                                                \
    F(char *, getvalue, (const void *, int, int))                                                  \
    F(int, getisnull, (const void *, int, int))                                                    \
    F(int, getlength, (const void *, int, int))                                                    \
    F(void, clear, (void *))                                                                       \
    F(void, finish, (void *))

struct rp_pg {
#define MEMBER(type, name, arguments) type(*name) arguments;
    EACH_FUNCTION(MEMBER)
#undef MEMBER
    void *connection;
    int64_t until_ns;     /**< of what is being done */
    int64_t last_ns;      /**< of the connection */
    uint64_t taken_bytes; /**< of rows */
};

/* @return the name of a function that is missing; NULL: none is */
static const char *find_functions(void *library, struct rp_pg *pg)
{
#define FIND(type, name, arguments)                                                                \
    if (!(pg->name = (type(*) arguments)dlsym(library, "PQ" #name)))                               \
        return "PQ" #name;
    EACH_FUNCTION(FIND)
#undef FIND
    return NULL;
}

static int load(struct rp_pg *pg, struct rp_err *err)
{
    /* It stays: what it links leaves functions for the exit. */
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? find_functions(library, pg) : NULL;

    if (!library)
        return rp_fail_with_remedy(
            err, RP_ENVIRONMENT,
            "a PostgreSQL server is asked through libpq, which is not installed here: apt install "
            "libpq5 (Debian, Ubuntu; libpq on Red Hat, libpq5 on SLES)");
    if (missing)
        return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                   "the libpq of this machine has no %s: install version 9.2 or "
                                   "later",
                                   missing);
    return 0;
}

/* libpq would print what any server says. */
static void ignore_notice(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* --- failing ------------------------------------------------------------------------------- */

/** Copies the first line of somebody's words without the password, which a server that got it may
 * send back. */
static void first_line(const struct rp_pg *pg, const char *text, char ret[SAID_BYTES])
{
    const char *secret = pg->connection ? pg->pass(pg->connection) : NULL;
    const size_t secret_bytes = secret ? strlen(secret) : 0;
    size_t len = 0;

    for (; text && *text && *text != '\n' && len < SAID_BYTES - 4; text++) {
        if (secret_bytes && strncmp(text, secret, secret_bytes) == 0) {
            memcpy(ret + len, "***", 3);
            len += 3;
            text += secret_bytes - 1;
        } else {
            ret[len++] = *text;
        }
    }
    ret[len] = '\0';
}

static int connection_fail(const struct rp_pg *pg, struct rp_err *err)
{
    char said[SAID_BYTES];

    first_line(pg, pg->errorMessage(pg->connection), said);
    return rp_fail(err, RP_ENVIRONMENT, "%s", *said ? said : "the connection has ended");
}

/* These are what the server says most often, with what helps. */
static const struct {
    const char *sqlstate, *remedy;
} remedies[] = {
    {"42501", "; its owner may GRANT that: docs/history.md has the statements"},
    {"55P03", "; another writer holds the history for minutes: look at pg_stat_activity"},
    {"57014", "; it took too long, which no history of a usual size does"},
    {"25006", "; name the server that takes changes"},
};

static int statement_fail(const struct rp_pg *pg, const void *result, struct rp_err *err)
{
    const char *sqlstate = pg->resultErrorField(result, FIELD_SQLSTATE);
    const char *message = pg->resultErrorField(result, FIELD_MESSAGE), *remedy = "";
    char said[SAID_BYTES];

    if (!message)
        return connection_fail(pg, err);
    first_line(pg, message, said);
    for (size_t i = 0; sqlstate && i < sizeof remedies / sizeof *remedies; i++)
        if (strcmp(sqlstate, remedies[i].sqlstate) == 0)
            remedy = remedies[i].remedy;
    return rp_fail(err, RP_ENVIRONMENT, "the server says: %s%s", said, remedy);
}

/* --- waiting ------------------------------------------------------------------------------- */

static int wait_for(const struct rp_pg *pg, short events, struct rp_err *err)
{
    struct pollfd fd = {.fd = pg->socket(pg->connection), .events = events};
    const int64_t until = pg->until_ns < pg->last_ns ? pg->until_ns : pg->last_ns;

    for (;;) {
        const int64_t left_ms = (until - rp_now_ns()) / NS_PER_MS;
        int ready;

        if (left_ms <= 0)
            return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                       "the server has not answered in time: look whether it is "
                                       "reachable, and what keeps it busy");
        ready = poll(&fd, 1, (int)left_ms);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot wait for the server");
    }
}

/* A value of any size is kept by libpq before it is seen here, so what comes through the socket is
 * counted. A socket of this machine does not count; there the rows do. */
static int check_received(const struct rp_pg *pg, struct rp_err *err)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    uint64_t received = pg->taken_bytes;

    if (getsockopt(pg->socket(pg->connection), IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
        info.tcpi_bytes_received > received)
        received = info.tcpi_bytes_received;
    if (received <= MOST_RECEIVED_BYTES)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "the server sends more than %d MiB, which no history has: name another one with "
                   "--db",
                   MOST_RECEIVED_BYTES >> 20);
}

static int receive(const struct rp_pg *pg, struct rp_err *err)
{
    if (wait_for(pg, POLLIN, err) < 0)
        return -(int)err->code;
    if (!pg->consumeInput(pg->connection))
        return connection_fail(pg, err);
    return check_received(pg, err);
}

/* A server that does not read must not keep us: so it is written as far as it takes it. */
static int send_all(const struct rp_pg *pg, struct rp_err *err)
{
    int left;

    while ((left = pg->flush(pg->connection)) > 0) {
        if (wait_for(pg, POLLIN | POLLOUT, err) < 0)
            return -(int)err->code;
        if (!pg->consumeInput(pg->connection))
            return connection_fail(pg, err);
        if (check_received(pg, err) < 0)
            return -(int)err->code;
    }
    return left < 0 ? connection_fail(pg, err) : 0;
}

static void begin_waiting(struct rp_pg *pg, int ms)
{
    pg->until_ns = rp_now_ns() + ms * NS_PER_MS;
}

/* --- connecting ---------------------------------------------------------------------------- */

/** Parses an address as libpq does. Its own message may have a part of a password. */
static int read_timeout(const struct rp_pg *pg, const char *address, int *ret_ms,
                        struct rp_err *err)
{
    char *message = NULL;
    struct conninfo_option *options = pg->conninfoParse(address, &message);
    long seconds = 0;

    pg->freemem(message);
    for (const struct conninfo_option *o = options; o && o->keyword; o++)
        if (strcmp(o->keyword, "connect_timeout") == 0 && o->val)
            seconds = strtol(o->val, NULL, 10);
    *ret_ms = seconds <= 0                        ? CONNECT_MS
              : seconds >= MOST_CONNECT_MS / 1000 ? MOST_CONNECT_MS
                                                  : (int)seconds * 1000;
    if (!options)
        return rp_fail(
            err, RP_USAGE,
            "libpq does not take this address: look at the names behind its ?, and write "
            "%% in a password as %%25");
    pg->conninfoFree(options);
    return 0;
}

static int finish_connecting(struct rp_pg *pg, struct rp_err *err)
{
    /* As the manual says, the first wait is for writing. */
    int state = POLLING_WRITING;

    while (state != POLLING_OK) {
        if (state == POLLING_FAILED)
            return connection_fail(pg, err);
        if (wait_for(pg, state == POLLING_READING ? POLLIN : POLLOUT, err) < 0 ||
            check_received(pg, err) < 0)
            return -(int)err->code;
        state = pg->connectPoll(pg->connection);
    }
    return 0;
}

static int connect_to(struct rp_pg *pg, const char *address, struct rp_err *err)
{
    const char *const keys[] = {"dbname", "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {address, "UTF8", "rocm-perf", NULL};
    int timeout_ms;

    if (load(pg, err) < 0 || read_timeout(pg, address, &timeout_ms, err) < 0)
        return -(int)err->code;
    pg->last_ns = rp_now_ns() + CONNECTION_MS * NS_PER_MS;
    begin_waiting(pg, timeout_ms);
    pg->connection = pg->connectStartParams(keys, values, 1);
    if (!pg->connection)
        return rp_out_of_memory(err);
    pg->setNoticeProcessor(pg->connection, ignore_notice, NULL);
    if (pg->status(pg->connection) == 1)
        return connection_fail(pg, err);
    if (finish_connecting(pg, err) < 0)
        return -(int)err->code;
    return pg->status(pg->connection) == STATUS_OK && pg->setnonblocking(pg->connection, 1) == 0
               ? 0
               : connection_fail(pg, err);
}

int rp_pg_connect(const char *address, struct rp_pg **ret, struct rp_err *err)
{
    struct rp_pg *pg = calloc(1, sizeof *pg);
    int rc = pg ? connect_to(pg, address, err) : rp_out_of_memory(err);

    if (rc < 0) {
        rp_pg_close(pg);
        return rc;
    }
    *ret = pg;
    return 0;
}

void rp_pg_close(struct rp_pg *pg)
{
    if (pg && pg->connection)
        pg->finish(pg->connection);
    free(pg);
}

/* --- rows ---------------------------------------------------------------------------------- */

const char *rp_pg_text(const struct rp_pg_row *row, int column)
{
    if (column >= row->columns || row->pg->getisnull(row->result, 0, column))
        return NULL;
    return row->pg->getvalue(row->result, 0, column);
}

bool rp_pg_number(const struct rp_pg_row *row, int column, int64_t least, int64_t most,
                  int64_t *ret)
{
    const char *text = rp_pg_text(row, column);
    char *end = NULL;

    errno = 0;
    *ret = text ? strtoll(text, &end, 10) : 0;
    return text && *text && !*end && errno == 0 && *ret >= least && *ret <= most;
}

bool rp_pg_bool(const struct rp_pg_row *row, int column, bool *ret)
{
    const char *text = rp_pg_text(row, column);

    *ret = text && strcmp(text, "t") == 0;
    return *ret || (text && strcmp(text, "f") == 0);
}

/* No text of PostgreSQL has a zero byte. */
static int check_row(struct rp_pg *pg, const struct rp_pg_row *row, struct rp_err *err)
{
    pg->taken_bytes += ROW_BYTES;
    for (int i = 0; i < row->columns; i++) {
        const char *text = rp_pg_text(row, i);
        const int bytes = pg->getlength(row->result, 0, i);

        pg->taken_bytes += ROW_BYTES + (uint64_t)bytes;
        if (text && strlen(text) != (size_t)bytes)
            return rp_fail(err, RP_BAD_INPUT, "a value has a zero byte: name another history");
    }
    return check_received(pg, err);
}

/* --- statements ---------------------------------------------------------------------------- */

static int take_result(struct rp_pg *pg, const void *result, rp_pg_take *take, void *context,
                       struct rp_err *err)
{
    const struct rp_pg_row row = {pg, result, pg->nfields(result)};
    const int status = pg->resultStatus(result);
    int rc;

    if (status == EMPTY_QUERY || status == COMMAND_OK || status == TUPLES_OK)
        return 0;
    if (status == FATAL_ERROR)
        return statement_fail(pg, result, err);
    /* As of a COPY, which nobody asked for. */
    if (status != SINGLE_TUPLE || pg->ntuples(result) != 1)
        return rp_fail(err, RP_BAD_INPUT, "what the server sends is no answer: is it PostgreSQL?");
    rc = check_row(pg, &row, err);
    return rc < 0 || !take ? rc : take(context, &row, err);
}

static int take_results(struct rp_pg *pg, rp_pg_take *take, void *context, struct rp_err *err)
{
    int rc = send_all(pg, err);

    while (rc == 0) {
        void *result;

        while (rc == 0 && pg->isBusy(pg->connection))
            rc = receive(pg, err);
        result = rc == 0 ? pg->getResult(pg->connection) : NULL;
        if (!result)
            break;
        rc = take_result(pg, result, take, context, err);
        pg->clear(result);
    }
    return rc;
}

int rp_pg_run(struct rp_pg *pg, const char *sql, size_t count, const char *const *values,
              rp_pg_take *take, void *context, struct rp_err *err)
{
    begin_waiting(pg, STATEMENT_MS);
    if (!pg->sendQueryParams(pg->connection, sql, (int)count, NULL, values, NULL, NULL, 0))
        return connection_fail(pg, err);
    if (!pg->setSingleRowMode(pg->connection))
        return connection_fail(pg, err);
    return take_results(pg, take, context, err);
}

int rp_pg_run_all(struct rp_pg *pg, const char *sql, struct rp_err *err)
{
    begin_waiting(pg, STATEMENT_MS);
    if (!pg->sendQuery(pg->connection, sql))
        return connection_fail(pg, err);
    if (!pg->setSingleRowMode(pg->connection))
        return connection_fail(pg, err);
    return take_results(pg, NULL, NULL, err);
}
