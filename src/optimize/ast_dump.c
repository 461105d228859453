#include "optimize/ast_dump.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "collect/compiler_cache.h"
#include "optimize/ast.h"
#include "optimize/child.h"
#include "optimize/compile_command.h"
#include "optimize/ir.h"

/* The filter means every name that contains the kernel's. One named `f`: 90 MB with HIP's headers
 * alone. 20 000 functions whose names contain it: 1.5 GB in 25 s; the compiler's memory stays at
 * 0.3 GB. */
static const uint64_t MOST_DUMP_BYTES = (uint64_t)1 << 30;
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

/** Whoever stands between us and the compiler may say in his own way that it was ended. */
static int check_limits(const struct rp_proc_end *end, uint64_t dump_bytes, const char *name,
                        const char *compiler, struct rp_err *err)
{
    if (dump_bytes >= MOST_DUMP_BYTES)
        return rp_fail(err, RP_BAD_INPUT,
                       "what the compiler says of %s and of other names that contain this one is "
                       "larger than 1 GB: the kernel is too large, or its name is too short",
                       name);
    if (end->timed_out)
        return rp_fail(err, RP_BAD_INPUT, "%s has not ended after 120 s: it was ended", compiler);
    if (end->over_memory)
        return rp_fail(err, RP_BAD_INPUT, "%s took more than 6 GB of memory: it was ended",
                       compiler);
    return 0;
}

/**
 * Asks the compiler for something that it prints.
 * @param name  for messages
 * @return 0 with the bytes of it; RP_VERDICT with *ret_output, as rp_ast_dump
 */
static int ask(const struct rp_compile_command *command, enum rp_compile_what what,
               const char *path, const char *output, const char *name, const char *arch, FILE *dump,
               size_t *ret_bytes, char **ret_output, struct rp_err *err)
{
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_cleanup(close_file) FILE *said = tmpfile();
    const struct rp_env_change env[] = {rp_compile_command_env(command), {0}};
    struct rp_proc_limits limits = rp_compiler_limits();
    struct rp_proc_end end;
    struct stat status;
    int rc;

    limits.file_bytes = MOST_DUMP_BYTES;
    if (!dump || !said)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "a temporary file");
    rc = rp_compile_argv(command, what, path, output, arch, &argv, err);
    if (rc < 0)
        return rc;
    rc = rp_compiler_run(rp_compile_command_environment(command),
                         &(struct rp_proc){.path = argv[0],
                                           .argv = argv,
                                           .env = env,
                                           .stdout_fd = fileno(dump),
                                           .stderr_fd = fileno(said),
                                           .timeout_ns = TIMEOUT_NS,
                                           .limits = &limits},
                         false, &end, err);
    if (rc < 0)
        return rp_wrap(err, "%s", argv[0]);
    if (fstat(fileno(dump), &status) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    rc = check_limits(&end, (uint64_t)status.st_size, name, argv[0], err);
    if (rc < 0)
        return rc;
    *ret_bytes = (size_t)status.st_size;
    if (!end.signaled && end.status == 0)
        return 0;
    free(*ret_output);
    *ret_output = read_output(said);
    return *ret_output ? rp_fail(err, RP_VERDICT, "the compiler does not accept it")
                       : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/** What was written, readable as memory. @return NULL: it cannot be; bytes == 0: "" */
static const char *map_dump(FILE *dump, size_t bytes)
{
    void *map = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(dump), 0) : (void *)"";

    return map == MAP_FAILED ? NULL : map;
}

static void unmap_dump(const char *map, size_t bytes)
{
    if (bytes)
        munmap((void *)(uintptr_t)map, bytes);
}

int rp_ast_dump(const struct rp_compile_command *command, const char *path, const char *filter,
                const char *name, const char *arch, struct rp_ast **ret, char **ret_output,
                struct rp_err *err)
{
    rp_cleanup(close_file) FILE *dump = tmpfile();
    struct rp_ast_file file = {.path = path};
    const char *map;
    size_t bytes;
    int rc = ask(command, RP_COMPILE_AST, path, filter, name, arch, dump, &bytes, ret_output, err);

    if (rc < 0)
        return rc;
    map = map_dump(dump, bytes);
    if (!map)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    file.included = rp_compile_command_included(command, &file.path, &file.directory);
    rc = rp_ast_read(map, bytes, &file, name, ret, err);
    unmap_dump(map, bytes);
    return rc;
}

int rp_ir_dump(const struct rp_compile_command *command, const char *path, const char *arch,
               struct rp_ir **ret, struct rp_err *err)
{
    rp_cleanup(close_file) FILE *dump = tmpfile();
    rp_autofree char *said = NULL;
    const char *map;
    size_t bytes;
    int rc = ask(command, RP_COMPILE_IR, path, "-", path, arch, dump, &bytes, &said, err);

    if (rc < 0)
        return rc;
    map = map_dump(dump, bytes);
    if (!map)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's text");
    rc = rp_ir_read(map, bytes, ret, err);
    unmap_dump(map, bytes);
    return rc;
}
