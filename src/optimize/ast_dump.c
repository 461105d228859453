#include "optimize/ast_dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/proc.h"
#include "optimize/ast.h"
#include "optimize/compile_command.h"

/* A kernel named `f` matches thousands of declarations of the headers: 90 MB. */
static const off_t MOST_DUMP_BYTES = (off_t)1 << 30;
static const size_t MOST_OUTPUT_BYTES = (size_t)64 << 10;
static const int64_t TIMEOUT_NS = (int64_t)120 * 1000000000;

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/** What was written to a file that has no name, or as much as is of use. */
static char *read_output(FILE *file)
{
    char *text = calloc(1, MOST_OUTPUT_BYTES + 1);

    rewind(file);
    if (text && fread(text, 1, MOST_OUTPUT_BYTES, file) == 0)
        text[0] = '\0';
    return text;
}

static int read_dump(FILE *file, const char *path, const char *name, struct rp_ast **ret,
                     struct rp_err *err)
{
    struct stat status;
    void *map;
    int rc;

    if (fstat(fileno(file), &status) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    if (status.st_size > MOST_DUMP_BYTES)
        return rp_fail(
            err, RP_BAD_INPUT,
            "the compiler's dump of %s is larger than 1 GB: give the kernel a longer name", name);
    if (status.st_size == 0)
        return rp_ast_read("", 0, path, name, ret, err);
    map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    if (map == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    rc = rp_ast_read(map, (size_t)status.st_size, path, name, ret, err);
    munmap(map, (size_t)status.st_size);
    return rc;
}

int rp_ast_dump(const struct rp_compile_command *command, const char *path, const char *filter,
                const char *name, const char *arch, struct rp_ast **ret, char **ret_output,
                struct rp_err *err)
{
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_cleanup(close_file) FILE *dump = tmpfile();
    rp_cleanup(close_file) FILE *said = tmpfile();
    struct rp_proc_end end;
    int rc;

    if (!dump || !said)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "a temporary file");
    rc = rp_compile_argv(command, RP_COMPILE_AST, path, filter, arch, &argv, err);
    if (rc < 0)
        return rc;
    rc = rp_proc_run(&(struct rp_proc){.path = argv[0],
                                       .argv = argv,
                                       .stdout_fd = fileno(dump),
                                       .stderr_fd = fileno(said),
                                       .timeout_ns = TIMEOUT_NS},
                     &end, err);
    if (rc < 0)
        return rp_wrap(err, "%s", argv[0]);
    if (end.timed_out)
        return rp_fail(err, RP_BAD_INPUT, "%s has not ended after 120 s: it was ended", argv[0]);
    if (end.signaled || end.status != 0) {
        char *text = read_output(said);

        if (!text)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        free(*ret_output);
        *ret_output = text;
        return rp_fail(err, RP_VERDICT, "the compiler does not accept it");
    }
    return read_dump(dump, path, name, ret, err);
}
