/* What instructions do beyond computing, loading and storing; calls are followed. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ir.h"
#include "optimize/ir_parts.h"
#include "optimize/kernel_find.h"
#include "optimize/kernel_shape.h"

enum { DEEPEST = 64 };

enum cause { NONE, ATOMIC, VOLATILE, ASSEMBLY, LASTING, POINTER, UNKNOWN, LANES, RECURSION, DEPTH };

enum state { UNSEEN, ENTERED, HARMLESS };

struct walk {
    const struct rp_ir *ir;
    unsigned char *states; /* of the functions */
    unsigned depth;
    struct rp_ir_span culprit; /* called, of which nothing is known */
};

/** By a name that the program cannot have in a namespace of its own. */
static enum rp_callee_effect effect_of(struct rp_ir_span symbol)
{
    rp_autofree char *text = strndup(symbol.at, symbol.bytes);
    rp_cleanup(rp_symbol_parts_free) struct rp_symbol_parts parts = {0};
    struct rp_err ignored = RP_ERR_INIT;

    if (text && strncmp(text, "_Z", 2) != 0)
        return rp_callee_effect(text);
    if (!text || rp_symbol_parts(text, &parts, &ignored) < 0 ||
        strcmp(parts.filter, parts.name) != 0)
        return RP_CALLEE_UNKNOWN;
    return rp_callee_effect(parts.name);
}

/** The compiler says of its own functions what they do. */
static enum cause intrinsic(const struct walk *walk, const struct rp_ir_function *function)
{
    struct rp_ir_span attributes = rp_ir_attributes(walk->ir, rp_ir_number(function->head, " #"));

    if (rp_ir_has(attributes, "convergent"))
        return LANES;
    if (rp_ir_has(function->name, "atomic"))
        return ATOMIC;
    return rp_ir_has(attributes, "memory(none)") || rp_ir_has(attributes, "memory(argmem: read)")
               ? NONE
               : UNKNOWN;
}

/** Of what has no body here. */
static enum cause declared(struct walk *walk, const struct rp_ir_function *function,
                           struct rp_ir_span name)
{
    enum rp_callee_effect effect = effect_of(name);

    walk->culprit = name;
    if (effect == RP_CALLEE_PURE || effect == RP_CALLEE_MATRIX)
        return NONE;
    if (effect == RP_CALLEE_SYNC || effect == RP_CALLEE_LANES)
        return LANES;
    return function && rp_ir_begins(name, "llvm.") ? intrinsic(walk, function) : UNKNOWN;
}

/** What is done in front of `%5 = ` and its like does not count. */
static struct rp_ir_span instruction(struct rp_ir_span line)
{
    static const char *const words[] = {"tail ", "musttail ", "notail "};
    struct rp_ir_span name;
    size_t at = 0, length;

    while (at < line.bytes && line.at[at] == ' ')
        at++;
    line = (struct rp_ir_span){line.at + at, line.bytes - at};
    length = rp_ir_begins(line, "%") ? rp_ir_name(line, &name) : 0;
    if (length && length + 3 <= line.bytes && memcmp(line.at + length, " = ", 3) == 0)
        line = (struct rp_ir_span){line.at + length + 3, line.bytes - length - 3};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (rp_ir_begins(line, words[i]))
            return (struct rp_ir_span){line.at + strlen(words[i]), line.bytes - strlen(words[i])};
    return line;
}

/** Whether a variable of a function's own, which is there once for all calls, stands in a line. */
static bool has_lasting(const struct rp_ir *ir, struct rp_ir_span line)
{
    for (size_t i = 0; i + 1 < line.bytes; i++) {
        struct rp_ir_span name;

        if (line.at[i] == '@' &&
            rp_ir_name((struct rp_ir_span){line.at + i, line.bytes - i}, &name) &&
            rp_ir_begins(name, "_ZZ") && !rp_ir_is_constant(ir, name) && !rp_ir_function(ir, name))
            return true;
    }
    return false;
}

static enum cause follow(struct walk *walk, struct rp_ir_span name);

static enum cause call(struct walk *walk, struct rp_ir_span line, struct rp_ir_span *ret_callee)
{
    struct rp_ir_span name;
    char sigil;

    if (rp_ir_has(line, " asm "))
        return ASSEMBLY;
    name = rp_ir_called(line, &sigil);
    if (sigil != '@')
        return POINTER;
    if (rp_ir_begins(name, "llvm.mem") && rp_ir_has(line, "i1 true)"))
        return VOLATILE;
    *ret_callee = name;
    return follow(walk, name);
}

/** @param ret_callee  what is called there; bytes == 0: nothing */
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
        if (rp_ir_begins(line, rows[i].begins))
            return rows[i].cause;
    return rp_ir_begins(line, "call ") || rp_ir_begins(line, "invoke ")
               ? call(walk, line, ret_callee)
               : NONE;
}

/** What calling a function does. */
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
    while (cause == NONE && rp_ir_line(&rest, &line)) {
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

/** @param file  of the function; -1: its places say nothing */
static bool is_in(const struct rp_ir *ir, struct rp_ir_span line, int64_t file,
                  const struct rp_ir_range *part)
{
    struct rp_ir_span place = rp_ir_metadata(ir, rp_ir_number(line, "!dbg !"));
    struct rp_ir_span scope = rp_ir_metadata(ir, rp_ir_field(place, "scope: !"));
    int64_t row = rp_ir_field(place, "line: "), column = rp_ir_field(place, "column: ");

    if (file < 0 || row <= 0 || rp_ir_has(place, "inlinedAt") ||
        rp_ir_field(scope, "file: !") != file)
        return true;
    if (row < part->first_line || row > part->last_line)
        return false;
    return column <= 0 || ((row > part->first_line || column >= part->first_column) &&
                           (row < part->last_line || column <= part->last_column));
}

/** The name that the source has; the symbol when that is not known. */
static struct rp_ir_span readable(const struct rp_ir *ir, struct rp_ir_span name)
{
    static const char key[] = "name: \"";
    const struct rp_ir_function *function = rp_ir_function(ir, name);
    struct rp_ir_span entry =
        rp_ir_metadata(ir, function ? rp_ir_number(function->head, "!dbg !") : -1);
    const char *found = entry.bytes ? memmem(entry.at, entry.bytes, key, sizeof key - 1) : NULL;
    const char *end;

    if (!found)
        return name;
    found += sizeof key - 1;
    end = memchr(found, '"', (size_t)(entry.at + entry.bytes - found));
    return end ? (struct rp_ir_span){found, (size_t)(end - found)} : name;
}

/** @param callee  bytes == 0: it is no call */
static char *reason(const struct walk *walk, enum cause cause, struct rp_ir_span callee)
{
    static const struct {
        const char *here, *there; /* in the part itself; in what is called there */
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
        return strdup(texts[cause].here);
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
    rp_autofree unsigned char *states = calloc(ir->function_count + 1, 1);
    struct walk walk = {.ir = ir, .states = states};
    struct rp_ir_span rest, line, callee, program;
    int64_t file;

    if (!function)
        return rp_fail(err, RP_BAD_INPUT, "the compiler makes nothing of %s", symbol);
    if (!states)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    program = rp_ir_metadata(ir, rp_ir_number(function->head, "!dbg !"));
    file = rp_ir_field(program, "scopeLine: ") == body_line ? rp_ir_field(program, "file: !") : -1;
    for (rest = function->body; rp_ir_line(&rest, &line);) {
        enum cause cause;

        if (!is_in(ir, line, file, part))
            continue;
        cause = judge(&walk, line, &callee);
        if (cause == NONE)
            continue;
        *ret = reason(&walk, cause, callee);
        return *ret ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = NULL;
    return 0;
}
