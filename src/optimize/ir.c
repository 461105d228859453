#include "optimize/ir.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "optimize/ir_parts.h"

/* A file with HIP's headers and a thousand kernels has about 50 MB. */
static const size_t MOST_BYTES = (size_t)256 << 20;

RP_DEFINE_CLEANUP(struct rp_ir, rp_ir_free)

/* --- text ---------------------------------------------------------------------------------- */

bool rp_ir_line(struct rp_ir_span *rest, struct rp_ir_span *ret)
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

bool rp_ir_begins(struct rp_ir_span span, const char *with)
{
    return span.bytes >= strlen(with) && memcmp(span.at, with, strlen(with)) == 0;
}

bool rp_ir_has(struct rp_ir_span span, const char *text)
{
    return span.bytes && memmem(span.at, span.bytes, text, strlen(text));
}

bool rp_ir_is(struct rp_ir_span span, const char *text)
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

size_t rp_ir_name(struct rp_ir_span at, struct rp_ir_span *ret)
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

struct rp_ir_span rp_ir_called(struct rp_ir_span line, char *ret_sigil)
{
    *ret_sigil = 0;
    for (size_t i = 0; i < line.bytes; i++) {
        struct rp_ir_span name;
        size_t length;

        if (line.at[i] != '@' && line.at[i] != '%')
            continue;
        length = rp_ir_name(from(line, i), &name);
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

int64_t rp_ir_field(struct rp_ir_span span, const char *behind)
{
    const char *found = span.bytes ? memmem(span.at, span.bytes, behind, strlen(behind)) : NULL;

    return found ? number_at(from(span, (size_t)(found - span.at) + strlen(behind))) : -1;
}

int64_t rp_ir_number(struct rp_ir_span span, const char *behind)
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
    int order = common ? memcmp(a.at, b.at, common) : 0; /* an empty one may be nowhere */

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

const struct rp_ir_function *rp_ir_function(const struct rp_ir *ir, struct rp_ir_span name)
{
    struct rp_ir_function key = {.name = name};

    return ir->function_count
               ? bsearch(&key, ir->functions, ir->function_count, sizeof key, by_name)
               : NULL;
}

bool rp_ir_is_constant(const struct rp_ir *ir, struct rp_ir_span name)
{
    return ir->constant_count &&
           bsearch(&name, ir->constants, ir->constant_count, sizeof name, by_text);
}

struct rp_ir_span rp_ir_metadata(const struct rp_ir *ir, int64_t number)
{
    return number >= 0 && (uint64_t)number < ir->metadata_count ? ir->metadata[number]
                                                                : (struct rp_ir_span){ir->text, 0};
}

struct rp_ir_span rp_ir_attributes(const struct rp_ir *ir, int64_t number)
{
    return number >= 0 && (uint64_t)number < ir->attribute_count ? ir->attributes[number]
                                                                 : (struct rp_ir_span){ir->text, 0};
}

/* --- reading ------------------------------------------------------------------------------- */

/** The lines up to one that is }. */
static struct rp_ir_span read_body(struct rp_ir_span *rest)
{
    struct rp_ir_span body = *rest, line;

    body.bytes = 0;
    while (rp_ir_line(rest, &line) && !rp_ir_is(line, "}"))
        body.bytes = (size_t)(line.at + line.bytes - body.at);
    return body;
}

/** `!7 = ` and `attributes #7 = `: into its place. Numbers are dense: no more than there are lines.
 */
static void put(struct rp_ir_span *list, size_t most, size_t *count, struct rp_ir_span line,
                const char *behind)
{
    int64_t number = rp_ir_field(line, behind);
    const char *equals = memmem(line.at, line.bytes, " = ", 3);

    if (number < 0 || (uint64_t)number >= most || !equals)
        return;
    list[number] = from(line, (size_t)(equals - line.at) + 3);
    if (*count <= (size_t)number)
        *count = (size_t)number + 1;
}

/** `@name = internal addrspace(4) constant ...` */
static void add_variable(struct rp_ir *ir, struct rp_ir_span line)
{
    struct rp_ir_span name;

    if (rp_ir_name(line, &name) && rp_ir_has(line, " constant "))
        ir->constants[ir->constant_count++] = name;
}

static void read_lines(struct rp_ir *ir, struct rp_ir_span rest, size_t lines)
{
    struct rp_ir_span line;

    while (rp_ir_line(&rest, &line)) {
        bool defined = rp_ir_begins(line, "define ");

        if (defined || rp_ir_begins(line, "declare ")) {
            struct rp_ir_function *function = &ir->functions[ir->function_count++];
            char sigil;

            *function = (struct rp_ir_function){.name = rp_ir_called(line, &sigil), .head = line};
            if (defined)
                function->body = read_body(&rest);
        } else if (rp_ir_begins(line, "!")) {
            put(ir->metadata, lines, &ir->metadata_count, line, "!");
        } else if (rp_ir_begins(line, "attributes #")) {
            put(ir->attributes, lines, &ir->attribute_count, line, "#");
        } else if (rp_ir_begins(line, "@")) {
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
    rp_cleanup(rp_cleanup_rp_ir_free) struct rp_ir *ir = calloc(1, sizeof *ir);
    struct rp_ir_span rest, line;
    size_t lines = 1;

    if (bytes > MOST_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "what the compiler made is too large to be read");
    if (!ir || !(ir->text = malloc(bytes + 1)))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (bytes)
        memcpy(ir->text, text, bytes);
    ir->text[bytes] = '\0';
    rest = (struct rp_ir_span){ir->text, bytes};
    while (rp_ir_line(&rest, &line))
        lines++;
    ir->functions = calloc(lines, sizeof *ir->functions);
    ir->metadata = calloc(lines, sizeof *ir->metadata);
    ir->attributes = calloc(lines, sizeof *ir->attributes);
    ir->constants = calloc(lines, sizeof *ir->constants);
    if (!ir->functions || !ir->metadata || !ir->attributes || !ir->constants)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
