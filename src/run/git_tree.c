#include "run/git_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"

#define GIT_VARIABLES                                                                              \
    {.name = "GIT_DIR"}, {.name = "GIT_WORK_TREE"}, {.name = "GIT_INDEX_FILE"},                    \
        {.name = "GIT_PREFIX"},                                                                    \
    {                                                                                              \
        .name = "GIT_COMMON_DIR"                                                                   \
    }

const struct rp_env_change rp_git_no_variables[] = {GIT_VARIABLES, {0}};

enum { MOST_WORDS = 32 };

/* Reads all that a file in memory has. */
static void read_all(int fd, struct rp_buf *ret)
{
    char block[4096];
    ssize_t got;

    for (off_t at = 0; (got = pread(fd, block, sizeof block, at)) > 0; at += got)
        rp_buf_add(ret, block, (size_t)got);
}

/** A call of git. */
struct call {
    const char *root;           /**< where; NULL: here, with the variables of this process */
    const char *index;          /**< in place of the user's; NULL: that one, which is only read */
    const char *const *words;   /**< ended by NULL */
    const struct rp_buf *input; /**< NULL: nothing */
};

/* Opens what a call reads. */
static int open_input(const struct rp_buf *input)
{
    int fd;

    if (!input)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd = rp_memfd("git-stdin", MFD_CLOEXEC);
    if (fd >= 0 &&
        (rp_write_all(fd, rp_buf_text(input), input->len) < 0 || lseek(fd, 0, SEEK_SET))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Hooks and helpers of the repository are not for trees that nobody works in, and no index is
 * written to remember which files are unchanged. */
static void list_words(const struct call *call, const char **argv)
{
    static const char *const settings[] = {
        "git",       "-c", "core.hooksPath=/dev/null",     "-c", "core.fsmonitor=false", "-c",
        "gc.auto=0", "-c", "advice.addEmbeddedRepo=false", "-C"};
    size_t count = 0;

    for (size_t i = 0; call->root && i < sizeof settings / sizeof *settings; i++)
        argv[count++] = settings[i];
    argv[count++] = call->root ? call->root : "git";
    for (size_t i = 0; call->words[i] && count < MOST_WORDS; i++)
        argv[count++] = call->words[i];
    argv[count] = NULL;
}

/** Runs git.
 * @return 0 whatever its status; RP_ENVIRONMENT, RP_INTERRUPTED */
static int run(const struct call *call, struct rp_proc_end *end, struct rp_buf *said,
               struct rp_buf *complaint, struct rp_err *err)
{
    const char *argv[MOST_WORDS + 1];
    /* Asking writes nothing, so that it is in nobody's way who works there. */
    const struct rp_env_change here[] = {{.name = "GIT_OPTIONAL_LOCKS", .value = "0"},
                                         {.name = "GIT_NO_LAZY_FETCH", .value = "1"},
                                         {.name = "LC_ALL", .value = "C"},
                                         {0}};
    const struct rp_env_change env[] = {
        GIT_VARIABLES,
        here[0],
        here[1],
        here[2],
        {.name = call->index ? "GIT_INDEX_FILE" : NULL, .value = call->index},
        {0}};
    rp_autofree char *git = NULL;
    rp_autoclose int in = open_input(call->input);
    rp_autoclose int out = rp_memfd("git-stdout", MFD_CLOEXEC);
    rp_autoclose int other = rp_memfd("git-stderr", MFD_CLOEXEC);
    int rc;

    if (in < 0 || out < 0 || other < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot keep what git says");
    if (rp_find_program("git", &git, NULL) < 0)
        return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                   "there is no git in $PATH: install it (apt install git)");
    list_words(call, argv);
    const struct rp_proc proc = {.path = git,
                                 .argv = (char *const *)(uintptr_t)argv,
                                 .env = call->root ? env : here,
                                 .stdin_fd = in,
                                 .stdout_fd = out,
                                 .stderr_fd = other};

    rc = rp_proc_run(&proc, end, err);
    if (rc < 0)
        return rc;
    read_all(out, said);
    read_all(other, complaint);
    return 0;
}

static bool succeeded(const struct rp_proc_end *end)
{
    return !end->signaled && end->status == 0;
}

/* Fails with git's own first line where it does not succeed. */
static int must_run(const struct call *call, enum rp_code code, struct rp_buf *said,
                    struct rp_err *err)
{
    struct rp_proc_end end = {0};
    rp_autobuf complaint = {0};
    int rc = run(call, &end, said, &complaint, err);
    const char *text = rp_buf_text(&complaint), *hint;

    if (rc < 0 || succeeded(&end))
        return rc;
    if (strstr(text, "not a git repository"))
        return rp_fail_with_remedy(err, code,
                                   "this folder is not a git repository, nor in one: run it where "
                                   "the program's sources are");
    hint = strstr(text, "git config --global --add safe.directory ");
    if (hint) /* That is usual in containers. */
        return rp_fail_with_remedy(err, code,
                                   "the repository is another user's; git reads it after: %.*s",
                                   (int)strcspn(hint, "\n"), hint);
    return rp_fail(err, code, "git %s: %.*s", call->words[0],
                   *text ? (int)strcspn(text, "\n") : (int)strlen("it failed"),
                   *text ? text : "it failed");
}

/* Reads the first line of what git prints. */
static int read_line(const struct call *call, enum rp_code code, char **ret, struct rp_err *err)
{
    rp_autobuf said = {0};
    int rc = must_run(call, code, &said, err);

    if (rc < 0)
        return rc;
    *ret = rp_strndup(rp_buf_text(&said), strcspn(rp_buf_text(&said), "\n"));
    return 0;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- the repository ------------------------------------------------------------------------ */

char *rp_git_current_commit(void)
{
    const struct call head = {.words = WORDS("rev-parse", "--verify", "HEAD")};
    const struct call status = {.words = WORDS("status", "--porcelain", "--untracked-files=no")};
    rp_autofree char *commit = NULL, *changed = NULL;

    if (read_line(&head, RP_USAGE, &commit, NULL) < 0 || !*commit)
        return NULL;
    return rp_format("%s%s", commit,
                     read_line(&status, RP_USAGE, &changed, NULL) == 0 && *changed ? "-dirty" : "");
}

int rp_git_root(char **ret, struct rp_err *err)
{
    const struct call call = {.root = ".", .words = WORDS("rev-parse", "--show-toplevel")};

    return read_line(&call, RP_USAGE, ret, err);
}

char *rp_git_branch(const char *root)
{
    const struct call call = {.root = root,
                              .words = WORDS("symbolic-ref", "--quiet", "--short", "HEAD")};
    char *name = NULL;

    return read_line(&call, RP_USAGE, &name, NULL) == 0 ? name : NULL;
}

/* Says what is wrong with a name that stands for no commit. */
static int no_commit(const char *root, const char *name, struct rp_err *err)
{
    const struct call first = {.root = root, .words = WORDS("rev-parse", "--verify", "HEAD")};
    const struct call shallow = {.root = root,
                                 .words = WORDS("rev-parse", "--is-shallow-repository")};
    rp_autofree char *head = NULL, *is = NULL;

    if (read_line(&first, RP_USAGE, &head, NULL) < 0)
        return rp_fail_with_remedy(
            err, RP_USAGE,
            "this repository has no commit yet: commit what the change is to "
            "be held against first");
    if (*name == '-')
        return rp_fail_with_remedy(err, RP_USAGE,
                                   "%s is no commit: of a branch that is called so give "
                                   "refs/heads/%s",
                                   name, name);
    if (read_line(&shallow, RP_USAGE, &is, NULL) == 0 && strcmp(is, "true") == 0)
        return rp_fail_with_remedy(
            err, RP_USAGE,
            "%s is no commit of this clone, which has not the whole history: "
            "fetch it (git fetch --unshallow; in a workflow of GitHub "
            "fetch-depth: 0 of actions/checkout, in GitLab GIT_DEPTH: 0)",
            name);
    return rp_fail_with_remedy(err, RP_USAGE,
                               "%s is no commit of this repository: give a branch, a tag or a hash "
                               "(git branch --all lists branches), or fetch it (git fetch origin "
                               "BRANCH)",
                               name);
}

int rp_git_commit_of(const char *root, const char *name, char **ret, struct rp_err *err)
{
    rp_autofree char *wanted = rp_format("%s^{commit}", name);
    const struct call call = {.root = root, .words = WORDS("rev-parse", "--verify", wanted)};
    struct rp_err why = RP_ERR_INIT;
    int rc = *name == '-' ? -(int)RP_USAGE : read_line(&call, RP_USAGE, ret, &why);

    if (rc == -(int)RP_USAGE)
        return no_commit(root, name, err);
    return rc < 0 ? rp_fail(err, why.code, "%s", why.text) : 0;
}

bool rp_git_same_files(const char *root, const char *a, const char *b)
{
    rp_autofree char *first = rp_format("%s^{tree}", a), *second = rp_format("%s^{tree}", b);
    rp_autofree char *of_a = NULL, *of_b = NULL;
    const struct call one = {.root = root, .words = WORDS("rev-parse", "--verify", first)};
    const struct call other = {.root = root, .words = WORDS("rev-parse", "--verify", second)};

    return read_line(&one, RP_USAGE, &of_a, NULL) == 0 &&
           read_line(&other, RP_USAGE, &of_b, NULL) == 0 && strcmp(of_a, of_b) == 0;
}

size_t rp_git_changed_submodules(const char *root)
{
    const struct call call = {.root = root,
                              .words = WORDS("status", "--porcelain=v2", "--untracked-files=no",
                                             "--ignore-submodules=untracked")};
    struct rp_proc_end end = {0};
    rp_autobuf said = {0}, complaint = {0};
    size_t count = 0;

    if (run(&call, &end, &said, &complaint, NULL) < 0)
        return 0;
    /* "1 .M S.M. ...": of a submodule, in whose tree something is modified. */
    for (const char *line = rp_buf_text(&said); *line;
         line += strcspn(line, "\n"), line += *line != 0)
        count += line[0] == '1' && strnlen(line, 9) == 9 && line[5] == 'S' && line[7] == 'M';
    return count;
}

/* Git would take other words for options, paths and names. */
static bool is_hash(const char *text)
{
    enum { SHA1 = 40, SHA256 = 64 };
    const size_t digits = strspn(text, "0123456789abcdef");

    return !text[digits] && (digits == SHA1 || digits == SHA256);
}

int rp_git_subjects(const char *root, const char *const *commits, size_t count,
                    void (*found)(void *context, const char *commit, const char *subject),
                    void *context)
{
    rp_autobuf wanted = {0}, said = {0}, complaint = {0};
    const struct call call = {.root = root,
                              .input = &wanted,
                              .words = WORDS("rev-list", "--no-walk", "--ignore-missing", "--stdin",
                                             "--encoding=UTF-8", "--format=%s")};
    static const char head[] = "commit ";
    struct rp_proc_end end = {0};
    char *line, *next;
    int rc;

    for (size_t i = 0; i < count; i++)
        if (is_hash(commits[i]))
            rp_buf_printf(&wanted, "%s\n", commits[i]);
    rc = run(&call, &end, &said, &complaint, NULL);
    if (rc < 0)
        return rc;
    rp_buf_puts(&said, "");
    for (line = said.data; line && strncmp(line, head, sizeof head - 1) == 0; line = next) {
        char *subject = strchr(line, '\n');

        next = subject ? strchr(subject + 1, '\n') : NULL;
        if (!next)
            break;
        *subject++ = *next++ = '\0';
        found(context, line + sizeof head - 1, subject);
    }
    return 0;
}

/* --- the work tree as a commit -------------------------------------------------------------- */

/* The copy says which files are unchanged, so that git reads only the others. */
static int copy_index(const char *root, const char *to, struct rp_err *err)
{
    const struct call call = {.root = root, .words = WORDS("rev-parse", "--git-path", "index")};
    enum { MOST_BYTES = 1 << 30 };
    rp_autofree char *name = NULL, *path = NULL;
    rp_autofree void *data = NULL;
    size_t bytes = 0;
    int rc = read_line(&call, RP_ENVIRONMENT, &name, err);

    if (rc < 0)
        return rc;
    path = *name == '/' ? rp_strdup(name) : rp_path_join(root, name);
    if (!rp_path_exists(path))
        return 0;
    rc = rp_read_file(path, MOST_BYTES, RP_ENVIRONMENT, &data, &bytes, err);
    return rc < 0 ? rc : rp_write_private_file(to, data, bytes, err);
}

/* @return the part of the path below the root; NULL: it is not below it */
static const char *below(const char *root, const char *path)
{
    const size_t len = strlen(root);

    return path && strncmp(path, root, len) == 0 && path[len] == '/' && path[len + 1]
               ? path + len + 1
               : NULL;
}

/* Names what git is to leave out. It refuses to be told so of what it ignores already.
 * @param ret_word NULL: nothing */
static int exclude(const char *root, const char *path, char **ret_word, struct rp_err *err)
{
    const char *inside = below(root, path);
    const struct call call = {.root = root,
                              .words = WORDS("check-ignore", "-q", "--", inside ? inside : "")};
    struct rp_proc_end end = {0};
    rp_autobuf said = {0}, complaint = {0};
    int rc = inside ? run(&call, &end, &said, &complaint, err) : 0;

    if (rc == 0 && inside && !succeeded(&end))
        *ret_word = rp_format(":(exclude,literal)%s", inside);
    return rc;
}

static int add_all(const char *root, const char *const *leave_out, const char *index,
                   struct rp_err *err)
{
    enum { MOST_PATHS = 8, FIXED = 4 };
    const char *words[FIXED + MOST_PATHS + 1] = {"add", "--all", "--", "."};
    char *excluded[MOST_PATHS] = {NULL};
    const struct call call = {.root = root, .index = index, .words = words};
    size_t count = 0;
    rp_autobuf said = {0};
    int rc = 0;

    for (; rc == 0 && *leave_out && count < MOST_PATHS; leave_out++) {
        rc = exclude(root, *leave_out, &excluded[count], err);
        words[FIXED + count] = excluded[count];
        count += excluded[count] != NULL;
    }
    if (rc == 0)
        rc = must_run(&call, RP_ENVIRONMENT, &said, err);
    while (count)
        free(excluded[--count]);
    return rc;
}

int rp_git_snapshot(const char *root, const char *const *leave_out, const char *scratch, char **ret,
                    bool *ret_changed, struct rp_err *err)
{
    rp_autofree char *index = rp_path_join(scratch, "index"), *head = NULL, *then = NULL,
                     *now = NULL;
    const struct call of_head = {.root = root, .words = WORDS("rev-parse", "HEAD^{tree}")};
    const struct call write = {.root = root, .index = index, .words = WORDS("write-tree")};
    int rc = rp_git_commit_of(root, "HEAD", &head, err);

    if (rc == 0)
        rc = copy_index(root, index, err);
    if (rc == 0)
        rc = add_all(root, leave_out, index, err);
    if (rc == 0)
        rc = read_line(&of_head, RP_ENVIRONMENT, &then, err);
    if (rc == 0)
        rc = read_line(&write, RP_ENVIRONMENT, &now, err);
    if (rc < 0)
        return rc;
    *ret_changed = strcmp(then, now) != 0;
    if (!*ret_changed) {
        *ret = rp_steal(head);
        return 0;
    }
    const struct call commit = {.root = root,
                                .words = WORDS("-c", "user.name=rocm-perf", "-c",
                                               "user.email=rocm-perf@localhost", "commit-tree",
                                               "-p", head, "-m", "the work tree", now)};

    return read_line(&commit, RP_ENVIRONMENT, ret, err);
}

/* --- trees of their own --------------------------------------------------------------------- */

/* A tree of git has a file that names the folder of the repository in which it is noted. */
static char *record_of(const char *path)
{
    static const char begin[] = "gitdir: ";
    rp_autofree char *file = rp_path_join(path, ".git");
    rp_autofree char *line = rp_read_line(file);

    if (!line || strncmp(line, begin, sizeof begin - 1) != 0 || !strstr(line, "/worktrees/"))
        return NULL;
    return rp_strdup(line + sizeof begin - 1);
}

int rp_git_tree_make(const char *root, const char *commit, const char *path,
                     struct rp_git_tree *ret, struct rp_err *err)
{
    const struct call where = {.root = root,
                               .words = WORDS("rev-parse", "--git-path", "worktrees")};
    const struct call call = {.root = root,
                              .words = WORDS("worktree", "add", "--quiet", "--force", "--force",
                                             "--detach", path, commit)};
    rp_autofree char *name = NULL, *records = NULL;
    rp_autobuf said = {0};
    int rc = read_line(&where, RP_ENVIRONMENT, &name, err);

    if (rc < 0)
        return rc;
    records = *name == '/' ? rp_strdup(name) : rp_path_join(root, name);
    rc = must_run(&call, RP_ENVIRONMENT, &said, err);
    *ret = (struct rp_git_tree){.path = rp_strdup(path), .record = record_of(path)};
    if (rc == 0)
        return 0;
    rp_git_tree_remove(ret);
    rmdir(records); /* Git removes its note of a tree that a signal ended, but not the folder. */
    return rc;
}

void rp_git_tree_remove(struct rp_git_tree *tree)
{
    if (tree->path)
        rp_remove_tree(tree->path);
    if (tree->record) {
        rp_remove_tree(tree->record);
        rmdir(dirname(tree->record)); /* That is only done where it was the last one. */
    }
    free(tree->path);
    free(tree->record);
    *tree = (struct rp_git_tree){0};
}

int rp_git_find_word(const char *tree, const char *word, struct rp_buf *ret, struct rp_err *err)
{
    const struct call call = {.root = tree,
                              .words =
                                  WORDS("grep", "-n", "-I", "-z", "-w", "-F", "--full-name",
                                        "--no-color", "-e", word, "--", "*.hip", "*.cu", "*.cuh",
                                        "*.cpp", "*.cc", "*.cxx", "*.h", "*.hpp", "*.hxx")};
    struct rp_proc_end end = {0};
    rp_autobuf complaint = {0};

    return run(&call, &end, ret, &complaint, err);
}
