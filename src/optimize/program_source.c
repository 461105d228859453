/* Finds the source of a program's kernels. What is found is a guess only as far as the session goes
 * on to check it: the code of the kernels must be what the build makes of the source. */
#include "optimize/program_source.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/source_lines.h"
#include "trace/code_object.h"

enum { MOST_SOURCE_BYTES = 16 << 20 };

/** This is what is known while it is looked for. */
struct search {
    const struct rp_environment *env;
    const char *program;
    const char *kernel;          /**< --kernel; NULL */
    struct rp_host_kernels host; /**< those that --kernel leaves out have an empty name */
    struct rp_words found;       /**< sources, each one once */
    struct rp_buf looked;        /**< where nothing was found, with commas */
};

static void add_once(struct rp_words *words, const char *path)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->list[i], path) == 0)
            return;
    rp_words_add(words, path);
}

static bool is_word_character(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || !is_word_character(at[-1])) && !is_word_character(at[length]))
            return true;
    return false;
}

/** Says whether a file defines kernels, of the program as far as their names are known. */
static bool has_kernels(const struct search *s, const char *path)
{
    rp_autofree char *text = rp_read_text(path, MOST_SOURCE_BYTES);
    bool found = s->host.count == 0;

    if (!text || !has_word(text, "__global__"))
        return false;
    for (size_t i = 0; i < s->host.count && !found; i++)
        found = *s->host.names[i] && has_word(text, s->host.names[i]);
    return found;
}

/** Takes a file that has kernels of the program, and is not part of ROCm. */
static void try_file(struct search *s, const char *path)
{
    rp_autofree char *real = realpath(path, NULL);
    const char *rocm = s->env->rocm_root;
    const size_t length = rocm ? strlen(rocm) : 0;

    if (real && !(length && strncmp(real, rocm, length) == 0 && real[length] == '/') &&
        has_kernels(s, real))
        add_once(&s->found, real);
}

/** Notes what has led nowhere. */
static void note(struct search *s, const char *what, const char *why)
{
    rp_buf_printf(&s->looked, "%s%s (%s)", s->looked.len ? ", " : "", what, why);
}

static int keep_named(struct search *s, struct rp_err *err)
{
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};
    int rc;

    if (!s->kernel)
        return 0;
    rc = rp_kernel_pattern_compile("--kernel", s->kernel, &pattern, err);
    for (size_t i = 0; rc == 0 && i < s->host.count; i++)
        if (!rp_kernel_pattern_finds(&pattern, s->host.names[i], NULL))
            s->host.names[i][0] = '\0';
    return rc;
}

/* --- line tables --------------------------------------------------------------------------- */

/** Cuts "FILE:LINE -> FILE:LINE" down to the last file, in which the function itself stands. */
static const char *last_file(char *places)
{
    static const char arrow[] = " -> ";
    char *file = places, *colon;

    for (char *at; (at = strstr(file, arrow)) != NULL;)
        file = at + sizeof arrow - 1;
    colon = strrchr(file, ':');
    if (colon)
        *colon = '\0';
    return file;
}

/** This is where code objects are copied to, one after the other. */
struct scratch {
    char *symbolizer, *code, *words;
    bool has_lines; /**< one of them has */
};

/** Says whether a symbol of device code is a kernel that counts: "_ZN2ns4axpyEPf" of axpy. */
static bool is_kernel_of(const struct search *s, const struct rp_code_function *function)
{
    rp_autofree char *symbol = rp_strndup(function->symbol, function->symbol_bytes);

    for (size_t i = 0; i < s->host.count; i++) {
        const char *name = s->host.names[i];
        rp_autofree char *mangled = rp_format("%zu%s", strlen(name), name);

        if (*name && (strcmp(symbol, name) == 0 || strstr(symbol, mangled)))
            return true;
    }
    return false;
}

/** Asks for the lines at which kernels begin. */
static int ask(struct search *s, const struct scratch *scratch,
               const struct rp_code_functions *functions, struct rp_err *err)
{
    rp_autofree uint64_t *addresses = rp_alloc_zero(functions->count + 1, sizeof *addresses);
    rp_autofree char **lines = rp_alloc_zero(functions->count + 1, sizeof *lines);
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i < functions->count; i++)
        if (functions->at[i].is_kernel && is_kernel_of(s, &functions->at[i]))
            addresses[count++] = functions->at[i].address;
    if (count)
        rc = rp_source_lines(scratch->symbolizer, scratch->code, addresses, count, scratch->words,
                             lines, err);
    for (size_t i = 0; i < count && lines[i]; i++) {
        if (*lines[i])
            try_file(s, last_file(lines[i]));
        free(lines[i]);
    }
    return rc;
}

static int try_code_object(struct search *s, struct scratch *scratch, const uint8_t *bytes,
                           size_t size, struct rp_err *err)
{
    struct rp_code_functions functions = {0};
    struct rp_code_elf elf;
    int rc = rp_write_file(scratch->code, (const char *)bytes, size, err);

    if (rc < 0 || !rp_has_source_lines(scratch->code) || !rp_code_elf_open(bytes, size, &elf))
        return rc;
    scratch->has_lines = true;
    rc = rp_code_functions_read(&elf, &functions) < 0 ? rp_out_of_memory(err)
                                                      : ask(s, scratch, &functions, err);
    rp_code_functions_free(&functions);
    return rc;
}

/** Returns the size of the code object that begins there, or 0. */
static size_t code_object_bytes(const uint8_t *at, size_t most)
{
    Elf64_Ehdr header;
    size_t sections;

    if (most < sizeof header)
        return 0;
    memcpy(&header, at, sizeof header);
    sections = (size_t)header.e_shnum * header.e_shentsize;
    return header.e_machine == EM_AMDGPU && header.e_shoff <= most &&
                   sections <= most - header.e_shoff
               ? header.e_shoff + sections
               : 0;
}

/** Tries the device code that lies in the program, for each GPU that it is compiled for. Bundles
 * that are compressed are passed over. */
static int try_code_objects(struct search *s, struct scratch *scratch, const uint8_t *file,
                            size_t bytes, struct rp_err *err)
{
    const uint8_t *end = file + bytes, *at = file + 1;
    int rc = 0;

    while (rc == 0 && at < end && (at = memmem(at, (size_t)(end - at), ELFMAG, SELFMAG)) != NULL) {
        const size_t size = code_object_bytes(at, (size_t)(end - at));

        if (size)
            rc = try_code_object(s, scratch, at, size, err);
        at += size ? size : 1;
    }
    return rc;
}

static int read_program(struct search *s, struct scratch *scratch, struct rp_err *err)
{
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autoclose int fd = open(s->program, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t *file;
    int rc = rp_temporary_folder(&folder, err);

    if (rc < 0 || fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0)
        return rc;
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return 0;
    scratch->code = rp_path_join(folder, "code");
    scratch->words = rp_path_join(folder, "words");
    rc = try_code_objects(s, scratch, file, (size_t)st.st_size, err);
    munmap(file, (size_t)st.st_size);
    return rc;
}

static int try_line_tables(struct search *s, struct rp_err *err)
{
    rp_autofree char *what = rp_format("the line tables of %s", s->program);
    struct scratch scratch = {.symbolizer = rp_find_symbolizer(s->env)};
    int rc = 0;

    if (scratch.symbolizer && s->host.count)
        rc = read_program(s, &scratch, err);
    if (!s->found.count)
        note(s, what,
             !s->host.count        ? "its symbols name no kernel"
             : !scratch.symbolizer ? "not read: there is no llvm-symbolizer"
             : !scratch.has_lines  ? "none: compile with -g"
                                   : "they name no file with its kernels that is there");
    free(scratch.symbolizer);
    free(scratch.code);
    free(scratch.words);
    return rc;
}

/* --- compile_commands.json ----------------------------------------------------------------- */

static int try_database(struct search *s, const char *path, struct rp_err *err)
{
    rp_autowords sources = {0};
    int rc = rp_compile_database_sources(path, &sources, err);

    for (size_t i = 0; rc == 0 && i < sources.count; i++)
        try_file(s, sources.list[i]);
    if (rc == 0 && !s->found.count)
        note(s, path, "none of its files has the kernels");
    return rc;
}

/** Tries the folders above the program, and build/ in each. */
static int try_databases(struct search *s, char **ret_from, struct rp_err *err)
{
    static const char *const places[] = {"compile_commands.json", "build/compile_commands.json"};
    rp_autofree char *folder = rp_strdup(s->program);
    bool any = false;

    for (char *slash; (slash = strrchr(folder, '/')) != NULL;) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            rp_autofree char *path = rp_format("%s/%s", folder, places[i]);
            int rc = rp_path_exists(path) ? try_database(s, path, err) : 0;

            any |= rp_path_exists(path);
            if (rc < 0)
                return rc;
            if (s->found.count) {
                *ret_from = rp_steal(path);
                return 0;
            }
        }
    }
    if (!any)
        note(s, "compile_commands.json in the folders above it", "none");
    return 0;
}

/* --- symbols ------------------------------------------------------------------------------- */

/** The compiler leaves the names of sources without their folders, so they are looked for beside
 * the program and where one works. */
static void try_names(struct search *s)
{
    rp_autofree char *folder = rp_strdup(s->program);

    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < s->host.file_count; i++) {
        rp_autofree char *beside = rp_path_join(folder, s->host.files[i]);

        try_file(s, beside);
        try_file(s, s->host.files[i]);
    }
    if (!s->found.count)
        note(s, "the files that its symbols name, beside it and in the current folder",
             "none has the kernels");
}

/* --- all ----------------------------------------------------------------------------------- */

static int none(const struct search *s, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "--source is missing, and the source of the kernels of %s was not found: looked "
                   "at %s",
                   s->program, rp_buf_text(&s->looked));
}

static int several(const struct search *s, const char *from, struct rp_err *err)
{
    rp_autobuf list = {0};

    for (size_t i = 0; i < s->found.count; i++)
        rp_buf_printf(&list, "%s%s", i ? ", " : "", s->found.list[i]);
    return rp_fail(
        err, RP_USAGE,
        "--source is missing, and according to %s %zu files have kernels of %s: %s: name one "
        "with --source, or a kernel of one with --kernel",
        from, s->found.count, s->program, rp_buf_text(&list));
}

static int look(struct search *s, char **ret_from, struct rp_err *err)
{
    int rc;

    rp_host_kernels_read(s->program, &s->host);
    rc = keep_named(s, err);
    if (rc == 0)
        rc = try_line_tables(s, err);
    if (rc == 0 && s->found.count)
        *ret_from = rp_format("the line tables of %s", s->program);
    if (rc == 0 && !s->found.count)
        rc = try_databases(s, ret_from, err);
    if (rc < 0 || s->found.count)
        return rc;
    try_names(s);
    *ret_from = rp_format("the symbols of %s", s->program);
    return 0;
}

int rp_program_source_find(const struct rp_environment *env, const char *program,
                           const char *kernel, struct rp_program_source *ret, struct rp_err *err)
{
    struct search s = {.env = env, .program = program, .kernel = kernel};
    rp_autofree char *from = NULL;
    int rc = look(&s, &from, err);

    if (rc == 0 && !s.found.count)
        rc = none(&s, err);
    else if (rc == 0 && s.found.count > 1)
        rc = several(&s, from, err);
    else if (rc == 0)
        *ret =
            (struct rp_program_source){.path = rp_strdup(s.found.list[0]), .from = rp_steal(from)};
    rp_host_kernels_free(&s.host);
    rp_words_free(&s.found);
    rp_buf_free(&s.looked);
    return rc;
}

void rp_program_source_free(struct rp_program_source *source)
{
    free(source->path);
    free(source->from);
    *source = (struct rp_program_source){0};
}
