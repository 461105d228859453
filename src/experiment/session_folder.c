#include "experiment/session_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/journal.h"
#include "base/lock.h"
#include "base/path.h"
#include "run/standard_input.h"
#include "trace/records.h"

static char *journal_path(const struct rp_session_folder *folder)
{
    return rp_path_join(folder->path, "journal.jsonl");
}

static void __attribute__((format(printf, 2, 3)))
note(const struct rp_session_folder *folder, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!folder->note)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    folder->note(folder->context, rp_buf_text(&text));
}

/** Adds the option, and what helps. */
static int refuse_folder(struct rp_err *err)
{
    const struct rp_err failed = *err;

    return rp_fail(err, failed.code, "-o: %s: choose another folder", failed.text);
}

static int make_folder(const char *path, struct rp_err *err)
{
    int rc = rp_mkdirs_private(path, err);

    return rc < 0 ? refuse_folder(err) : 0;
}

/* What the lock holds says that the session made the folder: that a file has this name says
 * nothing. */
static const char lock_mark[] = "rocm-perf session\n";

/** Two sessions in a folder would write one journal. */
static int lock(struct rp_session_folder *folder, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder->path, "lock");
    const ssize_t length = sizeof lock_mark - 1;

    folder->lock = rp_lock_path(path, 0);
    if (folder->lock < 0 && errno == EWOULDBLOCK)
        return rp_fail(err, RP_USAGE, "%s is in use by another %s: choose another -o", folder->path,
                       folder->noun);
    if (folder->lock >= 0 && pwrite(folder->lock, lock_mark, (size_t)length, 0) == length)
        return 0;
    rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot lock %s", path);
    return refuse_folder(err);
}

/** Says whether the lock has the mark of a session. An empty one is nobody's. */
static bool is_marked(const struct rp_session_folder *folder, bool *ret_foreign)
{
    rp_autofree char *path = rp_path_join(folder->path, "lock");
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char text[sizeof lock_mark] = "";
    const ssize_t length = fd < 0 ? 0 : pread(fd, text, sizeof text - 1, 0);
    const bool marked = strcmp(text, lock_mark) == 0;

    *ret_foreign = length > 0 && !marked;
    return marked;
}

static bool is_name_of_session(const char *name)
{
    static const char *const names[] = {"journal.jsonl.head", "program", "stdin",   "optimize.json",
                                        "autotune.json",      "tmp",     "scratch", "builds"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "round-", 6) == 0;
}

/** Returns an entry with a name that a session would write to or remove; NULL: there is none. */
static char *find_entry(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    char *found = NULL;

    while (dir && !found && (entry = readdir(dir)))
        if (is_name_of_session(entry->d_name))
            found = rp_strdup(entry->d_name);
    if (dir)
        closedir(dir);
    return found;
}

/** What others have made is neither overwritten nor removed. */
static int check_files(const struct rp_session_folder *folder, const char *journal,
                       struct rp_err *err)
{
    bool foreign;
    rp_autofree char *entry = NULL;

    if (folder->resume || rp_journal_is_begun(journal) || is_marked(folder, &foreign))
        return 0;
    entry = foreign ? rp_strdup("lock") : find_entry(folder->path);
    if (!entry)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "-o: %s has %s, which is no %s's, and would be overwritten: choose another -o",
                   folder->path, entry, folder->noun);
}

/** A head without its journal: what was found would be lost by beginning anew. */
static int check_head(const struct rp_session_folder *folder, const char *journal,
                      struct rp_err *err)
{
    rp_autofree char *head = rp_format("%s.head", journal);
    bool foreign;

    if (rp_path_exists(journal) || !rp_path_exists(head) || !is_marked(folder, &foreign))
        return 0;
    return rp_fail(err, folder->resume ? RP_BAD_INPUT : RP_USAGE,
                   "%s is missing, but %s is there: restore the journal and give --resume, or "
                   "choose another -o",
                   journal, head);
}

/** A mistake in the name of the folder must not leave another one. */
static int check_resumable(const struct rp_session_folder *folder, const char *path,
                           struct rp_err *err)
{
    if (access(path, F_OK) == 0)
        return 0;
    if (errno == ENOENT || errno == ENOTDIR)
        return rp_fail(err, RP_USAGE, "--resume: there is no %s in %s: leave it out to begin one",
                       folder->noun, folder->path);
    rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot look for %s", path);
    return refuse_folder(err);
}

int rp_session_folder_claim(struct rp_session_folder *folder, struct rp_err *err)
{
    rp_autofree char *path = journal_path(folder);
    int rc = check_head(folder, path, err);

    if (rc == 0)
        rc = folder->resume ? check_resumable(folder, path, err) : make_folder(folder->path, err);
    if (rc == 0)
        rc = check_files(folder, path, err);
    if (rc == 0)
        rc = lock(folder, err);
    if (rc < 0)
        return rc;
    if (!folder->resume && rp_journal_is_begun(path))
        return rp_fail(err, RP_USAGE,
                       "%s is there already: --resume goes on with it; to begin anew, choose "
                       "another -o or remove that folder",
                       path);
    return 0;
}

int rp_session_folder_open_journal(struct rp_session_folder *folder, struct rp_err *err)
{
    rp_autofree char *path = journal_path(folder);
    const bool begun = rp_journal_is_begun(path);
    uint64_t cut = 0;
    int rc;

    if (!begun && rp_path_exists(path))
        note(folder, "%s: the %s there ended before it had done anything; it begins anew",
             folder->path, folder->noun);
    rc = folder->resume && begun ? rp_journal_resume(path, &folder->journal, &cut, err)
                                 : rp_journal_create(path, &folder->journal, err);
    if (rc == 0)
        rp_journal_set_again(folder->journal, folder->again);
    if (rc == 0 && cut)
        note(folder, "the last record was not complete: %llu %s cut off", (unsigned long long)cut,
             cut == 1 ? "byte is" : "bytes are");
    return rc;
}

int rp_session_folder_keep_input(struct rp_session_folder *folder, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder->path, "stdin");
    const struct rp_saved_input input = {
        .path = path, .resumed = folder->resume, .note = folder->note, .context = folder->context};
    bool has = false;
    int rc = rp_saved_input_read(&input, &has, err);

    if (rc < 0 || !has)
        return rc;
    folder->input = realpath(path, NULL);
    return folder->input ? 0 : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot use %s", path);
}

/** In the middle of a session another folder would not help.
 * @param why an errno */
static int cannot_make(const struct rp_session_folder *folder, const char *path, int why,
                       struct rp_err *err)
{
    if (folder->resume)
        return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                   "-o: cannot create folder %s: %s: %s, and go on with --resume",
                                   path, strerror(why), rp_journal_remedy(why));
    rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot create folder %s", path);
    return refuse_folder(err);
}

int rp_session_folder_make(const struct rp_session_folder *folder, const char *name, char **ret,
                           struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder->path, name);

    if (mkdir(path, RP_MODE_PRIVATE_FOLDER) != 0 && (errno != EEXIST || !rp_path_is_dir(path)))
        return cannot_make(folder, path, errno == EEXIST ? ENOTDIR : errno, err);
    *ret = realpath(path, NULL);
    return *ret ? 0 : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot use %s", path);
}

/** Says whether that lock is the one that the session holds. Another folder of that name may have
 * one, too. Where nobody can tell, it is. */
static bool is_its_lock(const struct rp_session_folder *folder, const char *path)
{
    struct stat by_name, held;

    if (fstat(folder->lock, &held) != 0)
        return true;
    if (stat(path, &by_name) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    return by_name.st_dev == held.st_dev && by_name.st_ino == held.st_ino;
}

int rp_session_folder_check_place(const struct rp_session_folder *folder, struct rp_err *err)
{
    rp_autofree char *path = folder->lock < 0 ? NULL : rp_path_join(folder->path, "lock");

    if (!path || is_its_lock(folder, path))
        return 0;
    return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                               "-o: %s was removed or renamed meanwhile: put it back and give "
                               "--resume, or begin anew without it",
                               folder->path);
}

static int check_disk(const struct rp_session_folder *folder, struct rp_err *err)
{
    enum { LEAST_MIB = 64 }; /* Compilers and captures may need so much meanwhile. */
    struct statvfs disk;
    unsigned long long mib;

    if (statvfs(folder->path, &disk) != 0)
        return 0;
    mib = (unsigned long long)disk.f_bavail * disk.f_frsize >> 20;
    return mib >= LEAST_MIB
               ? 0
               : rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                     "the disk of %s has %llu MiB left: make space (%d MiB or "
                                     "more) and %s",
                                     folder->path, mib, LEAST_MIB,
                                     folder->again ? folder->again : "go on with --resume");
}

int rp_session_folder_check(const struct rp_session_folder *folder, struct rp_err *err)
{
    int rc = rp_session_folder_check_place(folder, err);

    return rc < 0 ? rc : check_disk(folder, err);
}

void rp_session_folder_close(struct rp_session_folder *folder)
{
    rp_journal_close(folder->journal);
    free(folder->input);
    if (folder->lock >= 0)
        close(folder->lock);
    folder->journal = NULL;
    folder->input = NULL;
    folder->lock = -1;
}

/* --- what differs -------------------------------------------------------------------------- */

static bool same(const json_t *a, const json_t *b)
{
    /* They are compared as texts, because numbers in the journal went through one. */
    rp_autofree char *first = a ? json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    rp_autofree char *second = b ? json_dumps(b, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    return first && second ? strcmp(first, second) == 0 : first == second;
}

static bool is_hash(const struct rp_identity_row *row)
{
    return strstr(row->key, "_sha256") != NULL;
}

char *rp_identity_percent(const json_t *fraction)
{
    return rp_format("%g", 100 * json_number_value(fraction));
}

char *rp_identity_word(const json_t *word)
{
    return rp_strdup(json_string_value(word) ?: "?");
}

char *rp_identity_model(const json_t *model)
{
    static const char was[] = RP_TIMING_COUNTS_WAS;
    const char *text = json_string_value(model) ?: "";
    const size_t name = strcspn(text, " ");
    const bool old = name == strlen(was) && strncmp(text, was, name) == 0;

    if (!*text)
        return rp_strdup("not given");
    return old ? rp_format("\"%s%s\"", rp_timing_model_today(was), text + name)
               : json_dumps(model, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
}

/** Returns a value as people read it; it is freed by the caller. */
static char *value_text(const struct rp_identity_row *row, const json_t *value)
{
    if (!value || json_is_null(value) || json_is_false(value))
        return rp_strdup("not given");
    if (json_is_true(value))
        return rp_strdup("given");
    if (row->text)
        return row->text(value);
    return json_dumps(value,
                      JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
}

/** Of a long text only a part is shown, which begins a little before it differs from the other. */
static void put_part(const char *text, size_t differs, struct rp_buf *to)
{
    enum { MOST_SHOWN = 60, LEAD = 20 };
    const size_t length = strlen(text);
    const size_t begin = length <= MOST_SHOWN || differs <= LEAD ? 0 : differs - LEAD;
    const size_t rest = length - begin, shown = rest <= MOST_SHOWN ? rest : MOST_SHOWN;

    rp_buf_printf(to, "%s%.*s%s", begin ? "..." : "", (int)shown, text + begin,
                  shown < rest ? "..." : "");
}

static void put_difference(const struct rp_identity_row *row, const json_t *then, const json_t *now,
                           bool values, struct rp_buf *to)
{
    rp_autofree char *was = NULL, *is = NULL;
    size_t differs = 0;

    if (same(then, now))
        return;
    was = value_text(row, then);
    is = value_text(row, now);
    /* Of what the record has in one number, a row may show a part. */
    if (row->text && strcmp(was, is) == 0)
        return;
    rp_buf_printf(to, "%s%s", to->len ? values ? "; " : ", " : "", row->name);
    if (!values)
        return;
    if (is_hash(row)) {
        rp_buf_puts(to, !then  ? " was not given, and is"
                        : !now ? " was given, and is not"
                               : " was another one");
        return;
    }
    while (was[differs] && was[differs] == is[differs])
        differs++;
    rp_buf_puts(to, " was ");
    put_part(was, differs, to);
    rp_buf_puts(to, ", is ");
    put_part(is, differs, to);
}

static bool has_row(const struct rp_identity_row *rows, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].key, key) == 0)
            return true;
    return false;
}

void rp_identity_put_differences(const struct rp_identity_row *rows, size_t count,
                                 const json_t *then, const json_t *now, bool values,
                                 struct rp_buf *to)
{
    const char *key;
    json_t *value;

    for (size_t i = 0; i < count; i++)
        put_difference(&rows[i], json_object_get(then, rows[i].key),
                       json_object_get(now, rows[i].key), values, to);
    json_object_foreach((json_t *)now, key, value)
    {
        if (!json_is_object(value) && !has_row(rows, count, key))
            put_difference(&(struct rp_identity_row){.key = key, .name = key},
                           json_object_get(then, key), value, values, to);
    }
    json_object_foreach((json_t *)then, key, value)
    {
        if (!json_is_object(value) && !has_row(rows, count, key) && !json_object_get(now, key))
            put_difference(&(struct rp_identity_row){.key = key, .name = key}, value, NULL, values,
                           to);
    }
}

int rp_identity_refuse(const struct rp_session_folder *folder, const struct rp_buf *differ,
                       struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "--resume: %s was begun otherwise: %s; its results would answer another "
                   "question: give the same, or begin anew with another -o",
                   folder->path, rp_buf_text(differ));
}
