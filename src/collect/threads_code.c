#include "collect/threads_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "collect/environment.h"
#include "trace/code_object.h"

enum { MOST_BYTES = 1 << 30 };

/* --- functions ----------------------------------------------------------------------------- */

static int copy_functions(const struct rp_code_functions *from, struct rp_elf_functions *ret)
{
    ret->at = calloc(from->count + 1, sizeof *ret->at);
    if (!ret->at)
        return -1;
    for (size_t i = 0; i < from->count; i++) {
        const struct rp_code_function *f = &from->at[i];

        ret->at[i] = (struct rp_elf_function){.symbol = strndup(f->symbol, f->symbol_bytes),
                                              .address = f->address,
                                              .bytes = f->bytes};
        if (!ret->at[i].symbol)
            return -1;
        ret->count++;
    }
    return 0;
}

int rp_elf_functions_read(const char *path, struct rp_elf_functions *ret, struct rp_err *err)
{
    rp_cleanup(rp_code_functions_free) struct rp_code_functions found = {0};
    struct rp_elf_functions functions = {0};
    struct rp_code_elf elf;
    rp_autofree void *bytes = NULL;
    size_t size;
    int rc = rp_read_file(path, MOST_BYTES, RP_ENVIRONMENT, &bytes, &size, err);

    if (rc < 0)
        return rc;
    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT, "%s is no ELF file", path);
    if (rp_code_functions_read(&elf, &found) < 0 || copy_functions(&found, &functions) < 0) {
        rp_elf_functions_free(&functions);
        return rp_out_of_memory(err);
    }
    *ret = functions;
    return 0;
}

static void free_contents(struct rp_code_identity **contents)
{
    rp_code_identity_free(*contents);
}

uint64_t rp_elf_kernel_hash(const char *path, const char *symbol)
{
    rp_autofree char *descriptor = rp_format("%s.kd", symbol);
    rp_cleanup(free_contents) struct rp_code_identity *contents = NULL;
    rp_autofree void *bytes = NULL;
    struct rp_err ignored = RP_ERR_INIT;
    size_t size;

    if (!descriptor || rp_read_file(path, MOST_BYTES, RP_ENVIRONMENT, &bytes, &size, &ignored) < 0)
        return 0;
    contents = rp_code_identity_open(bytes, size);
    return contents ? rp_code_identity_hash(contents, descriptor) : 0;
}

void rp_elf_functions_free(struct rp_elf_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++)
        free(functions->at[i].symbol);
    free(functions->at);
    *functions = (struct rp_elf_functions){0};
}

const struct rp_elf_function *rp_elf_function_at(const struct rp_elf_functions *functions,
                                                 uint64_t address)
{
    size_t low = 0, high = functions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (functions->at[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - functions->at[low - 1].address >= functions->at[low - 1].bytes)
        return NULL;
    return &functions->at[low - 1];
}

/* --- source lines -------------------------------------------------------------------------- */

char *rp_find_symbolizer(const struct rp_environment *env)
{
    return rp_find_llvm_program(env, "llvm-symbolizer");
}

/* Of "/a/b.hip:12:7" without the column; nothing of "??:0:0". */
static void add_frame(struct rp_buf *line, const char *frame, size_t length)
{
    const char *colon = memrchr(frame, ':', length);

    if (!colon || (length > 2 && memcmp(frame, "??", 2) == 0))
        return;
    rp_buf_puts(line, line->len ? " -> " : "");
    rp_buf_add(line, frame, (size_t)(colon - frame));
}

/* The places of an address, innermost first, end with an empty line. */
static int read_places(const char *text, size_t count, char **ret)
{
    for (size_t i = 0; i < count; i++) {
        rp_autobuf line = {0};

        for (size_t length; (length = strcspn(text, "\n")); text += length + (text[length] != 0))
            add_frame(&line, text, length);
        text += *text == '\n';
        ret[i] = line.len ? rp_buf_steal(&line) : strdup("");
        if (!ret[i])
            return -1;
    }
    return 0;
}

/* LLVM takes words of such a file as GNU programs do: a backslash quotes. */
static void add_quoted(struct rp_buf *text, const char *word)
{
    rp_buf_puts(text, "\"");
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            rp_buf_puts(text, "\\");
        rp_buf_add(text, word, 1);
    }
    rp_buf_puts(text, "\"\n");
}

/* Arguments in a file: there may be more than a command line holds. */
static int symbolize(const char *symbolizer, const char *scratch, int out, struct rp_err *err)
{
    rp_autofree char *file = rp_format("@%s", scratch);
    char *argv[] = {(char *)"llvm-symbolizer", file, NULL};
    struct rp_proc proc = {.path = symbolizer, .argv = argv, .stdout_fd = out, .stderr_fd = -1};
    struct rp_proc_end end;
    int rc = file ? rp_proc_run(&proc, &end, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0 && (end.signaled || end.status))
        rc = rp_fail(err, RP_ENVIRONMENT, "%s failed with %s %d", symbolizer,
                     end.signaled ? "signal" : "status", end.status);
    return rc;
}

static int run_symbolizer(const char *symbolizer, const char *elf, const uint64_t *addresses,
                          size_t count, const char *scratch, char **ret_text, struct rp_err *err)
{
    rp_autofree char *out_name = rp_format("%s.out", scratch);
    rp_autobuf text = {0};
    int rc, out;

    rp_buf_puts(&text, "--inlines\n--functions=none\n--obj=");
    add_quoted(&text, elf);
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "0x%" PRIx64 "\n", addresses[i]);
    if (!out_name || text.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_write_file(scratch, text.data, text.len, err);
    if (rc < 0)
        return rc;
    out = open(out_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    rc = out < 0 ? rp_fail(err, RP_ENVIRONMENT, "cannot write %s: %m", out_name)
                 : symbolize(symbolizer, scratch, out, err);
    if (out >= 0)
        close(out);
    *ret_text = rc == 0 ? rp_read_text(out_name, SIZE_MAX / 2) : NULL;
    unlink(scratch);
    unlink(out_name);
    return rc < 0 || *ret_text ? rc : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_source_lines(const char *symbolizer, const char *elf, const uint64_t *addresses,
                    size_t count, const char *scratch, char **ret, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = 0;

    memset(ret, 0, count * sizeof *ret);
    if (count)
        rc = run_symbolizer(symbolizer, elf, addresses, count, scratch, &text, err);
    if (rc == 0 && count && read_places(text, count, ret) < 0)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; rc < 0 && i < count; i++) {
        free(ret[i]);
        ret[i] = NULL;
    }
    return rc;
}
