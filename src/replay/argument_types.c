#include "replay/argument_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "replay/replay.h"

/** Finds where the arguments begin: behind the parenthesis that the last one closes. */
static const char *arguments_of(const char *name)
{
    const char *end = strrchr(name, ')'), *at = end;
    int depth = 0;

    for (; at && at >= name; at--) {
        depth += (*at == ')') - (*at == '(');
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

/** Returns the length of an argument, which a comma outside of brackets ends. */
static size_t length_of(const char *argument)
{
    size_t at = 0;
    int depth = 0;

    for (; argument[at]; at++) {
        if (depth == 0 && (argument[at] == ',' || argument[at] == ')'))
            break;
        depth += strchr("(<[", argument[at]) != NULL;
        depth -= strchr(")>]", argument[at]) != NULL;
    }
    return at;
}

/** Returns an argument of a demangled kernel, and its length; NULL: there is none. */
static const char *argument_of(const char *name, unsigned index, size_t *ret_length)
{
    const char *at = arguments_of(name);

    for (; at && index; index--) {
        at += length_of(at);
        at = *at == ',' ? at + 1 + (at[1] == ' ') : NULL;
    }
    *ret_length = at ? length_of(at) : 0;
    return at;
}

static bool is_one_of(const char *text, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == length && strncmp(text, *words, length) == 0)
            return true;
    return false;
}

enum rp_scalar_type rp_argument_scalar(const char *name, unsigned index)
{
    static const char *const numbers[] = {"float", "double", "__half", "_Float16", NULL};
    static const char *const integers[] = {
        "int",   "unsigned int",   "long", "unsigned long", "long long",     "unsigned long long",
        "short", "unsigned short", "char", "signed char",   "unsigned char", "bool",
        NULL};
    size_t length;
    const char *at = argument_of(name, index, &length);

    return !at                               ? RP_SCALAR_UNKNOWN
           : is_one_of(at, length, numbers)  ? RP_SCALAR_NUMBER
           : is_one_of(at, length, integers) ? RP_SCALAR_INTEGER
                                             : RP_SCALAR_UNKNOWN;
}

enum rp_number_type rp_argument_type(const char *name, unsigned index)
{
    static const char vector[] = "HIP_vector_type<";
    static const struct {
        const char *word;
        enum rp_number_type type;
    } types[] = {
        {"float", RP_F32},           {"double", RP_F64},        {"__half", RP_F16},
        {"__half2", RP_F16},         {"_Float16", RP_F16},      {"__bf16", RP_BF16},
        {"__hip_bfloat16", RP_BF16}, {"hip_bfloat16", RP_BF16}, {"__hip_bfloat162", RP_BF16},
    };
    size_t length, word;
    const char *at = argument_of(name, index, &length);

    if (length > strlen(vector) && strncmp(at, vector, strlen(vector)) == 0) {
        at += strlen(vector);
        length -= strlen(vector);
    }
    word = at ? strspn(at, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") : 0;
    if (word >= length || !memchr(at + word, '*', length - word) ||
        memchr(at + word, '*', length - word) != memrchr(at + word, '*', length - word))
        return RP_EXACT; /* It is no pointer, or one to pointers. */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].word) == word && strncmp(at, types[i].word, word) == 0)
            return types[i].type;
    return RP_EXACT;
}

static enum rp_number_type page_type(const struct rp_replay *r, const struct rp_capture_memory *m,
                                     uint64_t page)
{
    const uint64_t last = m->region.base + (page + 1) * RP_PAGE_BYTES - 1;
    enum rp_number_type type = RP_EXACT;
    uint64_t nearest = 0;

    for (size_t i = 0; i < r->visible.count; i++) {
        uint64_t address = 0;

        if (!r->visible.at[i].pointer)
            continue;
        memcpy(&address, (const uint8_t *)r->kernarg_kept + r->visible.at[i].offset,
               sizeof address);
        if (address < m->region.base || address > last || address < nearest)
            continue;
        nearest = address;
        type = r->visible.at[i].type;
    }
    return type;
}

bool rp_argument_rule(const struct rp_replay *r, const struct rp_capture_memory *m, uint64_t page,
                      struct rp_inputs_rule *rule)
{
    const enum rp_number_type type =
        rule->none || rule->words || rule->vouched ? RP_EXACT : page_type(r, m, page);

    if (type == RP_EXACT)
        return rule->vouched;
    rule->types[0] = type;
    rule->type_count = 1;
    rule->vouched = rp_number_shape(type).bytes == 2;
    return true;
}
