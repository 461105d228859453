#include "optimize/ir.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"

/** This is a part of the text, without a terminator. */
struct rp_ir_span {
    const char *at;
    size_t bytes;
};

struct rp_ir_function {
    struct rp_ir_span name; /**< without @ and quotes */
    struct rp_ir_span head; /**< its line of `define` or `declare` */
    struct rp_ir_span body; /**< the lines between braces; at == NULL: it is declared only */
};

/* A file with HIP's headers and a thousand kernels has about 50 MB. */
static const size_t MOST_BYTES = (size_t)256 << 20;

RP_DEFINE_CLEANUP(struct rp_ir, rp_ir_free)

/* --- text ---------------------------------------------------------------------------------- */

/** Takes the next line from a span.
 * @return whether there was one */
static bool ir_line(struct rp_ir_span *rest, struct rp_ir_span *ret)
{
    const char *end = rest->bytes ? memchr(rest->at, '\n', rest->bytes) : NULL;
    size_t bytes = end ? (size_t)(end - rest->at) : rest->bytes;

    if (rest->bytes == 0)
        return false;
    *ret = (struct rp_ir_span){rest->at, bytes};
    rest->at += bytes + (end != NULL);
    rest->bytes -= bytes + (end != NULL);
    return true;
}

static bool ir_begins(struct rp_ir_span span, const char *with)
{
    return span.bytes >= strlen(with) && memcmp(span.at, with, strlen(with)) == 0;
}

/** Says whether a text stands in a span. */
static bool ir_has(struct rp_ir_span span, const char *text)
{
    return span.bytes && memmem(span.at, span.bytes, text, strlen(text));
}

static bool ir_is(struct rp_ir_span span, const char *text)
{
    return span.bytes == strlen(text) && memcmp(span.at, text, span.bytes) == 0;
}

static struct rp_ir_span from(struct rp_ir_span span, size_t at)
{
    return (struct rp_ir_span){span.at + at, span.bytes - at};
}

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '$' || c == '-';
}

/**
 * Reads the name that begins at a sigil (@ or %), without it and without quotes.
 * @return its bytes in the text with all of these; 0: no name begins there
 */
static size_t ir_name(struct rp_ir_span at, struct rp_ir_span *ret)
{
    size_t length = 0;

    if (at.bytes > 1 && at.at[1] == '"') {
        const char *end = at.bytes > 2 ? memchr(at.at + 2, '"', at.bytes - 2) : NULL;

        if (!end)
            return 0;
        *ret = (struct rp_ir_span){at.at + 2, (size_t)(end - at.at) - 2};
        return ret->bytes + 3;
    }
    while (1 + length < at.bytes && is_name_byte(at.at[1 + length]))
        length++;
    *ret = (struct rp_ir_span){at.at + 1, length};
    return length ? length + 1 : 0;
}

/** Finds the name, with @ or %, that is called in a line or a head: a ( follows it. *ret_sigil is 0
 * when there is none. */
static struct rp_ir_span ir_called(struct rp_ir_span line, char *ret_sigil)
{
    *ret_sigil = 0;
    for (size_t i = 0; i < line.bytes; i++) {
        struct rp_ir_span name;
        size_t length;

        if (line.at[i] != '@' && line.at[i] != '%')
            continue;
        length = ir_name(from(line, i), &name);
        if (length && i + length < line.bytes && line.at[i + length] == '(') {
            *ret_sigil = line.at[i];
            return name;
        }
        i += length ? length - 1 : 0;
    }
    return (struct rp_ir_span){line.at, 0};
}

static int64_t number_at(struct rp_ir_span span)
{
    int64_t number = 0;

    if (span.bytes == 0 || span.at[0] < '0' || span.at[0] > '9')
        return -1;
    for (size_t i = 0; i < span.bytes && span.at[i] >= '0' && span.at[i] <= '9'; i++) {
        number = 10 * number + (span.at[i] - '0');
        if (number > INT32_MAX)
            return -1;
    }
    return number;
}

/** Returns the number behind the first occurrence. */
static int64_t ir_field(struct rp_ir_span span, const char *behind)
{
    const char *found = span.bytes ? memmem(span.at, span.bytes, behind, strlen(behind)) : NULL;

    return found ? number_at(from(span, (size_t)(found - span.at) + strlen(behind))) : -1;
}

/** Returns the number behind the last occurrence of a text, `!dbg !`; -1: it is not there. */
static int64_t ir_number(struct rp_ir_span span, const char *behind)
{
    int64_t number = -1;

    for (const char *found; span.bytes; span = from(span, (size_t)(found - span.at) + 1)) {
        found = memmem(span.at, span.bytes, behind, strlen(behind));
        if (!found)
            break;
        number = number_at(from(span, (size_t)(found - span.at) + strlen(behind)));
    }
    return number;
}

/* --- tables -------------------------------------------------------------------------------- */

static int compare_spans(struct rp_ir_span a, struct rp_ir_span b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = common ? memcmp(a.at, b.at, common) : 0; /* An empty span may point nowhere. */

    return order ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static int by_name(const void *a, const void *b)
{
    return compare_spans(((const struct rp_ir_function *)a)->name,
                         ((const struct rp_ir_function *)b)->name);
}

static int by_text(const void *a, const void *b)
{
    return compare_spans(*(const struct rp_ir_span *)a, *(const struct rp_ir_span *)b);
}

/** Returns NULL when there is none. */
static const struct rp_ir_function *rp_ir_function(const struct rp_ir *ir, struct rp_ir_span name)
{
    struct rp_ir_function key = {.name = name};

    return ir->function_count
               ? bsearch(&key, ir->functions, ir->function_count, sizeof key, by_name)
               : NULL;
}

static bool ir_is_constant(const struct rp_ir *ir, struct rp_ir_span name)
{
    return ir->constant_count &&
           bsearch(&name, ir->constants, ir->constant_count, sizeof name, by_text);
}

/** The span is empty when there is none. */
static struct rp_ir_span ir_metadata(const struct rp_ir *ir, int64_t number)
{
    return number >= 0 && (uint64_t)number < ir->metadata_count ? ir->metadata[number]
                                                                : (struct rp_ir_span){ir->text, 0};
}

static struct rp_ir_span ir_attributes(const struct rp_ir *ir, int64_t number)
{
    return number >= 0 && (uint64_t)number < ir->attribute_count ? ir->attributes[number]
                                                                 : (struct rp_ir_span){ir->text, 0};
}

/* --- reading ------------------------------------------------------------------------------- */

/** Takes the lines up to one that is }. */
static struct rp_ir_span read_body(struct rp_ir_span *rest)
{
    struct rp_ir_span body = *rest, line;

    body.bytes = 0;
    while (ir_line(rest, &line) && !ir_is(line, "}"))
        body.bytes = (size_t)(line.at + line.bytes - body.at);
    return body;
}

/** Puts `!7 = ` and `attributes #7 = ` into their places. Numbers are dense: there are no more than
 * lines. */
static void put(struct rp_ir_span *list, size_t most, size_t *count, struct rp_ir_span line,
                const char *behind)
{
    int64_t number = ir_field(line, behind);
    const char *equals = memmem(line.at, line.bytes, " = ", 3);

    if (number < 0 || (uint64_t)number >= most || !equals)
        return;
    list[number] = from(line, (size_t)(equals - line.at) + 3);
    if (*count <= (size_t)number)
        *count = (size_t)number + 1;
}

/** Adds `@name = internal addrspace(4) constant ...`. */
static void add_variable(struct rp_ir *ir, struct rp_ir_span line)
{
    struct rp_ir_span name;

    if (ir_name(line, &name) && ir_has(line, " constant "))
        ir->constants[ir->constant_count++] = name;
}

static void read_lines(struct rp_ir *ir, struct rp_ir_span rest, size_t lines)
{
    struct rp_ir_span line;

    while (ir_line(&rest, &line)) {
        bool defined = ir_begins(line, "define ");

        if (defined || ir_begins(line, "declare ")) {
            struct rp_ir_function *function = &ir->functions[ir->function_count++];
            char sigil;

            *function = (struct rp_ir_function){.name = ir_called(line, &sigil), .head = line};
            if (defined)
                function->body = read_body(&rest);
        } else if (ir_begins(line, "!")) {
            put(ir->metadata, lines, &ir->metadata_count, line, "!");
        } else if (ir_begins(line, "attributes #")) {
            put(ir->attributes, lines, &ir->attribute_count, line, "#");
        } else if (ir_begins(line, "@")) {
            add_variable(ir, line);
        }
    }
    if (ir->function_count)
        qsort(ir->functions, ir->function_count, sizeof *ir->functions, by_name);
    if (ir->constant_count)
        qsort(ir->constants, ir->constant_count, sizeof *ir->constants, by_text);
}

int rp_ir_read(const char *text, size_t bytes, struct rp_ir **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_ir_free) struct rp_ir *ir = rp_alloc_zero(1, sizeof *ir);
    struct rp_ir_span rest, line;
    size_t lines = 1;

    if (bytes > MOST_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "what the compiler made is too large to be read");
    ir->text = rp_alloc(bytes + 1);
    if (bytes)
        memcpy(ir->text, text, bytes);
    ir->text[bytes] = '\0';
    rest = (struct rp_ir_span){ir->text, bytes};
    while (ir_line(&rest, &line))
        lines++;
    ir->functions = rp_alloc_zero(lines, sizeof *ir->functions);
    ir->metadata = rp_alloc_zero(lines, sizeof *ir->metadata);
    ir->attributes = rp_alloc_zero(lines, sizeof *ir->attributes);
    ir->constants = rp_alloc_zero(lines, sizeof *ir->constants);
    read_lines(ir, (struct rp_ir_span){ir->text, bytes}, lines);
    *ret = rp_steal(ir);
    return 0;
}

void rp_ir_free(struct rp_ir *ir)
{
    if (!ir)
        return;
    free(ir->text);
    free(ir->functions);
    free(ir->metadata);
    free(ir->attributes);
    free(ir->constants);
    free(ir);
}

/* This section finds what instructions do beyond computing, loading and storing. Calls are
 * followed. */

enum { DEEPEST = 64 };

enum cause { NONE, ATOMIC, VOLATILE, ASSEMBLY, LASTING, POINTER, UNKNOWN, LANES, RECURSION, DEPTH };

enum state { UNSEEN, ENTERED, HARMLESS };

struct walk {
    const struct rp_ir *ir;
    unsigned char *states; /**< of the functions */
    unsigned depth;
    struct rp_ir_span culprit; /**< called, of which nothing is known */
};

/** A function is known by a name that the program cannot have in a namespace of its own. */
static enum rp_known_function_effect effect_of(struct rp_ir_span symbol)
{
    rp_autofree char *text = rp_strndup(symbol.at, symbol.bytes);
    rp_cleanup(rp_symbol_parts_free) struct rp_symbol_parts parts = {0};
    struct rp_err ignored = RP_ERR_INIT;

    if (strncmp(text, "_Z", 2) != 0)
        return rp_known_function_effect(text);
    if (rp_symbol_parts(text, &parts, &ignored) < 0 || strcmp(parts.filter, parts.name) != 0)
        return RP_KNOWN_FUNCTION_UNKNOWN;
    return rp_known_function_effect(parts.name);
}

/** The compiler says of its own functions what they do. */
static enum cause intrinsic(const struct walk *walk, const struct rp_ir_function *function)
{
    struct rp_ir_span attributes = ir_attributes(walk->ir, ir_number(function->head, " #"));

    if (ir_has(attributes, "convergent"))
        return LANES;
    if (ir_has(function->name, "atomic"))
        return ATOMIC;
    return ir_has(attributes, "memory(none)") || ir_has(attributes, "memory(argmem: read)")
               ? NONE
               : UNKNOWN;
}

/** Judges a function that has no body here. */
static enum cause declared(struct walk *walk, const struct rp_ir_function *function,
                           struct rp_ir_span name)
{
    enum rp_known_function_effect effect = effect_of(name);

    walk->culprit = name;
    if (effect == RP_KNOWN_FUNCTION_PURE || effect == RP_KNOWN_FUNCTION_MATRIX)
        return NONE;
    if (effect == RP_KNOWN_FUNCTION_SYNC || effect == RP_KNOWN_FUNCTION_LANES)
        return LANES;
    return function && ir_begins(name, "llvm.") ? intrinsic(walk, function) : UNKNOWN;
}

/** Removes `%5 = ` and the like, which do not matter. */
static struct rp_ir_span instruction(struct rp_ir_span line)
{
    static const char *const words[] = {"tail ", "musttail ", "notail "};
    struct rp_ir_span name;
    size_t at = 0, length;

    while (at < line.bytes && line.at[at] == ' ')
        at++;
    line = (struct rp_ir_span){line.at + at, line.bytes - at};
    length = ir_begins(line, "%") ? ir_name(line, &name) : 0;
    if (length && length + 3 <= line.bytes && memcmp(line.at + length, " = ", 3) == 0)
        line = (struct rp_ir_span){line.at + length + 3, line.bytes - length - 3};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ir_begins(line, words[i]))
            return (struct rp_ir_span){line.at + strlen(words[i]), line.bytes - strlen(words[i])};
    return line;
}

/** Says whether a line uses a variable of a function's own that exists once for all calls. */
static bool has_lasting(const struct rp_ir *ir, struct rp_ir_span line)
{
    for (size_t i = 0; i + 1 < line.bytes; i++) {
        struct rp_ir_span name;

        if (line.at[i] == '@' && ir_name((struct rp_ir_span){line.at + i, line.bytes - i}, &name) &&
            ir_begins(name, "_ZZ") && !ir_is_constant(ir, name) && !rp_ir_function(ir, name))
            return true;
    }
    return false;
}

static enum cause follow(struct walk *walk, struct rp_ir_span name);

static enum cause call(struct walk *walk, struct rp_ir_span line, struct rp_ir_span *ret_callee)
{
    struct rp_ir_span name;
    char sigil;

    if (ir_has(line, " asm "))
        return ASSEMBLY;
    name = ir_called(line, &sigil);
    if (sigil != '@')
        return POINTER;
    if (ir_begins(name, "llvm.mem") && ir_has(line, "i1 true)"))
        return VOLATILE;
    *ret_callee = name;
    return follow(walk, name);
}

/** @param ret_callee the called function; bytes == 0: it is no call */
static enum cause judge(struct walk *walk, struct rp_ir_span line, struct rp_ir_span *ret_callee)
{
    static const struct {
        const char *begins;
        enum cause cause;
    } rows[] = {{"fence ", ATOMIC},
                {"atomicrmw ", ATOMIC},
                {"cmpxchg ", ATOMIC},
                {"load atomic ", ATOMIC},
                {"store atomic ", ATOMIC},
                {"load volatile ", VOLATILE},
                {"store volatile ", VOLATILE},
                {"callbr ", ASSEMBLY}};

    *ret_callee = (struct rp_ir_span){line.at, 0};
    line = instruction(line);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ir_begins(line, rows[i].begins))
            return rows[i].cause;
    return ir_begins(line, "call ") || ir_begins(line, "invoke ") ? call(walk, line, ret_callee)
                                                                  : NONE;
}

/** Finds what calling a function does. */
static enum cause follow(struct walk *walk, struct rp_ir_span name)
{
    const struct rp_ir_function *function = rp_ir_function(walk->ir, name);
    struct rp_ir_span rest, line, callee;
    enum cause cause = NONE;
    unsigned char *state;

    if (!function || !function->body.at)
        return declared(walk, function, name);
    state = &walk->states[function - walk->ir->functions];
    if (*state != UNSEEN)
        return *state == HARMLESS ? NONE : RECURSION;
    if (walk->depth >= DEEPEST)
        return DEPTH;
    *state = ENTERED;
    walk->depth++;
    rest = function->body;
    while (cause == NONE && ir_line(&rest, &line)) {
        cause = judge(walk, line, &callee);
        if (cause == NONE && has_lasting(walk->ir, line))
            cause = LASTING;
    }
    walk->depth--;
    if (cause == NONE)
        *state = HARMLESS;
    return cause;
}

/* --- one part of a function ---------------------------------------------------------------- */

static bool same_symbol(struct rp_ir_span name, const char *symbol)
{
    size_t bytes = strcspn(symbol, ".");
    const char *dot = name.bytes ? memchr(name.at, '.', name.bytes) : NULL;

    return bytes == (dot ? (size_t)(dot - name.at) : name.bytes) &&
           memcmp(name.at, symbol, bytes) == 0;
}

static const struct rp_ir_function *definition(const struct rp_ir *ir, const char *symbol)
{
    for (size_t i = 0; i < ir->function_count; i++)
        if (ir->functions[i].body.at && same_symbol(ir->functions[i].name, symbol))
            return &ir->functions[i];
    return NULL;
}

/** @param file of the function; -1: its locations say nothing */
static bool is_in(const struct rp_ir *ir, struct rp_ir_span line, int64_t file,
                  const struct rp_ir_range *part)
{
    struct rp_ir_span place = ir_metadata(ir, ir_number(line, "!dbg !"));
    struct rp_ir_span scope = ir_metadata(ir, ir_field(place, "scope: !"));
    int64_t row = ir_field(place, "line: "), column = ir_field(place, "column: ");

    if (file < 0 || row <= 0 || ir_has(place, "inlinedAt") || ir_field(scope, "file: !") != file)
        return true;
    if (row < part->first_line || row > part->last_line)
        return false;
    return column <= 0 || ((row > part->first_line || column >= part->first_column) &&
                           (row < part->last_line || column <= part->last_column));
}

/** Returns the name that the source has, or the symbol when that is not known. */
static struct rp_ir_span readable(const struct rp_ir *ir, struct rp_ir_span name)
{
    static const char key[] = "name: \"";
    const struct rp_ir_function *function = rp_ir_function(ir, name);
    struct rp_ir_span entry = ir_metadata(ir, function ? ir_number(function->head, "!dbg !") : -1);
    const char *found = entry.bytes ? memmem(entry.at, entry.bytes, key, sizeof key - 1) : NULL;
    const char *end;

    if (!found)
        return name;
    found += sizeof key - 1;
    end = memchr(found, '"', (size_t)(entry.at + entry.bytes - found));
    return end ? (struct rp_ir_span){found, (size_t)(end - found)} : name;
}

/** @param callee bytes == 0: it is no call */
static char *reason(const struct walk *walk, enum cause cause, struct rp_ir_span callee)
{
    static const struct {
        const char *here, *there; /**< in the part itself; in a function that is called there */
    } texts[] = {
        [ATOMIC] = {"an atomic operation or a fence is in it",
                    "which has an atomic operation or a fence"},
        [VOLATILE] = {"it accesses something volatile", "which accesses something volatile"},
        [ASSEMBLY] = {"inline assembly is in it", "which has inline assembly"},
        [LASTING] = {"", "which has a variable that stays there from call to call"},
        [POINTER] = {"a call through a pointer is in it", "which calls through a pointer"},
        [UNKNOWN] = {"", "and what that does is not known"},
        [LANES] = {"", "which orders memory or meets other lanes"},
        [RECURSION] = {"", "which calls itself"},
        [DEPTH] = {"", "which calls others more than 64 deep"},
    };
    struct rp_ir_span name = readable(walk->ir, callee), own;

    if (callee.bytes == 0)
        return rp_strdup(texts[cause].here);
    own = readable(walk->ir, walk->culprit);
    if (cause == UNKNOWN && (own.bytes != name.bytes || memcmp(own.at, name.at, own.bytes) != 0))
        return rp_format("%.*s() is in it, which calls %.*s(), and what that does is not known",
                         (int)name.bytes, name.at, (int)own.bytes, own.at);
    return rp_format("%.*s() is in it, %s", (int)name.bytes, name.at, texts[cause].there);
}

int rp_ir_obstacle(const struct rp_ir *ir, const char *symbol, uint32_t body_line,
                   const struct rp_ir_range *part, char **ret, struct rp_err *err)
{
    const struct rp_ir_function *function = definition(ir, symbol);
    rp_autofree unsigned char *states = rp_alloc_zero(ir->function_count + 1, 1);
    struct walk walk = {.ir = ir, .states = states};
    struct rp_ir_span rest, line, callee, program;
    int64_t file;

    if (!function)
        return rp_fail(err, RP_BAD_INPUT, "the compiler makes nothing of %s", symbol);
    program = ir_metadata(ir, ir_number(function->head, "!dbg !"));
    file = ir_field(program, "scopeLine: ") == body_line ? ir_field(program, "file: !") : -1;
    for (rest = function->body; ir_line(&rest, &line);) {
        enum cause cause;

        if (!is_in(ir, line, file, part))
            continue;
        cause = judge(&walk, line, &callee);
        if (cause == NONE)
            continue;
        *ret = reason(&walk, cause, callee);
        return 0;
    }
    *ret = NULL;
    return 0;
}
