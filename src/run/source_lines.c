#include "run/source_lines.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "run/machine.h"
#include "trace/code_object.h"

char *rp_find_symbolizer(const struct rp_environment *env)
{
    return rp_find_llvm_program(env, "llvm-symbolizer");
}

/* --- the program --------------------------------------------------------------------------- */

/* LLVM reads words of such a file as GNU programs do, where a backslash quotes. */
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

/* The arguments stand in a file, because there may be more than a command line holds. */
static int symbolize(const char *symbolizer, const char *scratch, int out, struct rp_err *err)
{
    rp_autofree char *file = rp_format("@%s", scratch);
    char *argv[] = {(char *)"llvm-symbolizer", file, NULL};
    struct rp_proc proc = {.path = symbolizer, .argv = argv, .stdout_fd = out};
    struct rp_proc_end end;
    int rc = rp_proc_run(&proc, &end, err);

    if (rc == 0 && (end.signaled || end.status))
        rc = rp_fail(err, RP_ENVIRONMENT, "%s failed with %s %d", symbolizer,
                     end.signaled ? "signal" : "status", end.status);
    return rc;
}

/** What llvm-symbolizer is asked about each address: the option for functions, and what stands
 * before it. A backslash keeps the blank within a word. */
struct question {
    const char *functions, *word;
};

static const struct question ask_lines = {"none", ""}, ask_places = {"linkage", ""},
                             ask_variables = {"none", "FRAME\\ "};

static int run_symbolizer(const char *symbolizer, struct question question, const char *elf,
                          const uint64_t *addresses, size_t count, const char *scratch,
                          char **ret_text, struct rp_err *err)
{
    rp_autofree char *out_name = rp_format("%s.out", scratch);
    rp_autobuf text = {0};
    int rc, out;

    rp_buf_printf(&text, "--inlines\n--functions=%s\n--obj=", question.functions);
    add_quoted(&text, elf);
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "%s0x%" PRIx64 "\n", question.word, addresses[i]);
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
    return rc < 0 || *ret_text ? rc : rp_fail(err, RP_ENVIRONMENT, "cannot read %s", out_name);
}

/* --- lines --------------------------------------------------------------------------------- */

/* Adds "/a/b.hip:12:7" without the column, and nothing for "??:0:0". */
static void add_frame(struct rp_buf *line, const char *frame, size_t length)
{
    const char *colon = memrchr(frame, ':', length);

    if (!colon || (length > 2 && memcmp(frame, "??", 2) == 0))
        return;
    rp_buf_puts(line, line->len ? " -> " : "");
    rp_buf_add(line, frame, (size_t)(colon - frame));
}

/* The places of an address come innermost first, and an empty line ends them. */
static void read_lines(const char *text, size_t count, char **ret)
{
    for (size_t i = 0; i < count; i++) {
        rp_autobuf line = {0};

        for (size_t length; (length = strcspn(text, "\n")); text += length + (text[length] != 0))
            add_frame(&line, text, length);
        text += *text == '\n';
        ret[i] = line.len ? rp_buf_steal(&line) : rp_strdup("");
    }
}

int rp_source_lines(const char *symbolizer, const char *elf, const uint64_t *addresses,
                    size_t count, const char *scratch, char **ret, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = 0;

    memset(ret, 0, count * sizeof *ret);
    if (count)
        rc = run_symbolizer(symbolizer, ask_lines, elf, addresses, count, scratch, &text, err);
    if (rc == 0 && count)
        read_lines(text, count, ret);
    return rc;
}

/* --- places -------------------------------------------------------------------------------- */

/* Reads "/a/b.hip:12:7". Unknown parts are "??" and 0. */
static void read_place(struct rp_source_place *place, const char *text, size_t length)
{
    const char *column = memrchr(text, ':', length);
    const char *line = column ? memrchr(text, ':', (size_t)(column - text)) : NULL;
    const size_t file = line ? (size_t)(line - text) : 0;

    place->line = line ? (uint32_t)strtoul(line + 1, NULL, 10) : 0;
    place->file = rp_strndup(text, place->line ? file : 0);
}

/* Each place is a line with the function and one with the rest. */
static const char *read_places(const char *text, struct rp_source_places *ret)
{
    while (*text && *text != '\n') {
        const size_t function = strcspn(text, "\n");
        const char *rest = text + function + (text[function] != 0);
        const size_t length = strcspn(rest, "\n");
        const bool known = strncmp(text, "??", 2) != 0;
        struct rp_source_place *place;

        ret->at = rp_realloc_array(ret->at, ret->count + 1, sizeof *ret->at);
        place = &ret->at[ret->count++];
        place->function = rp_strndup(text, known ? function : 0);
        read_place(place, rest, length);
        text = rest + length + (rest[length] != 0);
    }
    return text + (*text == '\n');
}

int rp_source_places(const char *symbolizer, const char *elf, const uint64_t *addresses,
                     size_t count, const char *scratch, struct rp_source_places *ret,
                     struct rp_err *err)
{
    rp_autofree char *text = NULL;
    const char *at;
    int rc = 0;

    memset(ret, 0, count * sizeof *ret);
    if (count)
        rc = run_symbolizer(symbolizer, ask_places, elf, addresses, count, scratch, &text, err);
    at = text;
    for (size_t i = 0; rc == 0 && i < count; i++)
        at = read_places(at, &ret[i]);
    return rc;
}

void rp_source_places_free(struct rp_source_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        free(places->at[i].function);
        free(places->at[i].file);
    }
    free(places->at);
    *places = (struct rp_source_places){0};
}

/* --- variables ----------------------------------------------------------------------------- */

/* Each variable has lines for the function, its name, its place, and "offset size tag". What is not
 * known is "??". */
static void add_variable(char *const lines[4], struct rp_source_variables *ret)
{
    const char *size = strchr(lines[3], ' ');
    const uint64_t bytes = size ? strtoull(size + 1, NULL, 10) : 0;

    if (!bytes || strncmp(lines[1], "??", 2) == 0 || strncmp(lines[2], "??", 2) == 0)
        return;
    ret->at = rp_realloc_array(ret->at, ret->count + 1, sizeof *ret->at);
    ret->at[ret->count++] = (struct rp_source_variable){.function = rp_strdup(lines[0]),
                                                        .name = rp_strdup(lines[1]),
                                                        .place = rp_strdup(lines[2]),
                                                        .bytes = bytes};
}

static void read_variables(char *text, struct rp_source_variables *ret)
{
    char *lines[4];
    size_t count = 0;

    for (char *line; (line = strsep(&text, "\n"));) {
        lines[count++] = line;
        if (count < 4)
            continue;
        add_variable(lines, ret);
        count = 0;
    }
}

static unsigned long line_number(const char *place)
{
    const char *colon = strrchr(place, ':');

    return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

/* The function's own variables come first, and its parameters stand at the top. */
static const char *first_place(const struct rp_source_variables *of)
{
    const char *first = NULL;

    for (size_t i = 0; i < of->count && strcmp(of->at[i].function, of->at[0].function) == 0; i++)
        if (!first || line_number(of->at[i].place) < line_number(first))
            first = of->at[i].place;
    return first;
}

/* Returns the beginning of a line of the text, or NULL. */
static const char *find_line(const char *text, unsigned long line)
{
    for (; text && line > 1; line--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text;
}

/* Goes up from a kernel's first parameter to its "__global__", a few lines at most.
 * @return the line, and in @p ret where it begins in the text; 0: it is not found */
static unsigned long find_head(const char *text, unsigned long line, const char **ret)
{
    enum { MOST_LINES = 8 };

    for (unsigned long up = 0; up < MOST_LINES && up < line; up++) {
        const char *begin = find_line(text, line - up);
        const size_t length = begin ? strcspn(begin, "\n") : 0;

        if (!begin || (up && length && strchr(";}", begin[length - 1])))
            break;
        if (memmem(begin, length, "__global__", strlen("__global__"))) {
            *ret = begin;
            return line - up;
        }
    }
    return 0;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, size_t length, const char *word)
{
    const size_t bytes = strlen(word);
    const char *end = text + length;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, bytes)); at++)
        if ((at == text || !is_word_char(at[-1])) &&
            (at + bytes == end || !is_word_char(at[bytes])))
            return true;
    return false;
}

/* Parameters of the kernel lie in the memory of its arguments: they take no registers and no LDS.
 */
static void drop_parameters(const char *head, size_t length, struct rp_source_variables *of)
{
    const rp_autofree char *kernel = rp_strdup(of->at[0].function);
    size_t kept = 0;

    for (size_t i = 0; i < of->count; i++) {
        struct rp_source_variable *v = &of->at[i];

        if (strcmp(v->function, kernel) == 0 && has_word(head, length, v->name)) {
            free(v->function);
            free(v->name);
            free(v->place);
        } else {
            of->at[kept++] = *v;
        }
    }
    of->count = kept;
}

/* Without the source the kernel begins at the first of what it declares. */
static void find_declaration(struct rp_source_variables *of)
{
    enum { MOST_BYTES = 16 << 20 };
    const char *place = first_place(of), *colon = strrchr(place, ':'), *head;
    rp_autofree char *path = rp_strndup(place, colon ? (size_t)(colon - place) : 0);
    rp_autofree char *text = rp_read_text(path, MOST_BYTES);
    const unsigned long line = text ? find_head(text, line_number(place), &head) : 0;

    of->function_place = line ? rp_format("%s:%lu", path, line) : rp_strdup(place);
    if (line)
        drop_parameters(head, strcspn(head, "{"), of);
}

int rp_source_variables(const char *symbolizer, const char *elf, uint64_t address,
                        const char *scratch, struct rp_source_variables *ret, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc;

    *ret = (struct rp_source_variables){0};
    rc = run_symbolizer(symbolizer, ask_variables, elf, &address, 1, scratch, &text, err);
    if (rc == 0)
        read_variables(text, ret);
    if (ret->count)
        find_declaration(ret);
    return rc;
}

void rp_source_variables_free(struct rp_source_variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free(variables->at[i].function);
        free(variables->at[i].name);
        free(variables->at[i].place);
    }
    free(variables->at);
    free(variables->function_place);
    *variables = (struct rp_source_variables){0};
}

/* --- debug information --------------------------------------------------------------------- */

bool rp_has_source_lines(const char *path)
{
    rp_cleanup(rp_code_file_close) struct rp_code_elf file = {0};

    return rp_code_file_open(path, &file) && rp_code_elf_has_section(&file, ".debug_line");
}

/* --- kernels of a program ------------------------------------------------------------------ */

/* Takes the name of a kernel out of that of the function which launches it, which is the kernel's
 * with a word in front: "_ZN2ns19__device_stub__axpyEPf", or without parameters of C++
 * "__device_stub__axpy". */
static char *kernel_of_stub(const char *symbol)
{
    static const char word[] = "__device_stub__";
    const char *at = strstr(symbol, word), *digits = at;
    size_t length = at ? strlen(at) : 0, said;

    if (!at)
        return NULL;
    while (digits > symbol && isdigit((unsigned char)digits[-1]))
        digits--;
    said = digits < at ? strtoul(digits, NULL, 10) : length;
    if (said > length || said < sizeof word)
        return NULL;
    return rp_strndup(at + sizeof word - 1, said - (sizeof word - 1));
}

static void add_symbol(struct rp_host_kernels *to, const Elf64_Sym *symbol, const char *name)
{
    char *kernel = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ? kernel_of_stub(name) : NULL;

    if (kernel) {
        to->names = rp_realloc_array(to->names, to->count + 1, sizeof *to->names);
        to->names[to->count++] = kernel;
    } else if (ELF64_ST_TYPE(symbol->st_info) == STT_FILE && *name) {
        to->files = rp_realloc_array(to->files, to->file_count + 1, sizeof *to->files);
        to->files[to->file_count++] = rp_strdup(name);
    }
}

void rp_host_kernels_read(const char *path, struct rp_host_kernels *ret)
{
    rp_cleanup(rp_code_file_close) struct rp_code_elf file = {0};
    struct rp_code_symbols symbols;

    *ret = (struct rp_host_kernels){0};
    if (!rp_code_file_open(path, &file) || !rp_code_elf_all_symbols(&file, &symbols))
        return;
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol;
        const char *name = rp_code_symbol(&symbols, i, &symbol);

        if (name)
            add_symbol(ret, &symbol, name);
    }
}

void rp_host_kernels_free(struct rp_host_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->names[i]);
    for (size_t i = 0; i < kernels->file_count; i++)
        free(kernels->files[i]);
    free(kernels->names);
    free(kernels->files);
    *kernels = (struct rp_host_kernels){0};
}
