#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "rocm-perf/store.h"
#include "store/reader.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/*
 * JIT compilers (Triton, hipRTC, Inductor) give many kernels one name. What tells them apart goes
 * behind their names, so that all that joins by name takes them for what they are. How that can be
 * told depends on who wrote the trace.
 */

/* The finest first. */
enum level {
    BY_CONTENTS,  /* a hash of what the kernel consists of, which our own tool leaves */
    BY_PLACE,     /* registers, arguments and memory, and where the code object came from */
    BY_REGISTERS, /* all that a CSV trace has */
    LEVELS
};

/** A kernel of a trace. */
struct known {
    struct rp_store *store;
    struct rp_row_kernel *row;
    size_t symbol_bytes;
    const char *arch; /* "gfx942", or "" */
    size_t arch_bytes;
    uint64_t code[LEVELS]; /* 0: cannot be told */
};

struct known_list {
    struct known *at;
    size_t count;
};

/* --- what is known of one ------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* steps of splitmix64 */
    return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (uint8_t)*text);
    return hash;
}

uint64_t rp_kernel_contents(const struct rp_row_kernel *row)
{
    json_t *extdata;
    const char *text;
    uint64_t hash;

    if (!row->extdata || !strstr(row->extdata, "code_hash"))
        return 0;
    extdata = json_loads(row->extdata, 0, NULL);
    text = json_string_value(json_object_get(extdata, "code_hash"));
    hash = text ? strtoull(text, NULL, 16) : 0;
    json_decref(extdata);
    return hash;
}

uint64_t rp_kernel_register_code(int64_t arch_vgprs, int64_t accum_vgprs, int64_t sgprs)
{
    if (arch_vgprs <= 0 && accum_vgprs <= 0 && sgprs <= 0)
        return 0;
    return mix(mix(mix(mix(0, (uint64_t)arch_vgprs), (uint64_t)accum_vgprs), (uint64_t)sgprs), 1) |
           1;
}

/* "file:///app#offset=8192&size=3672" is the same for each GPU and process. Of memory
 * ("memory://PID#offset=0x7f..&size=3672") addresses differ where a program loads a module again:
 * the size is what can be compared. In C++ kernels of one name are one by the one-definition rule,
 * however many files they lie in. */
static uint64_t mix_place(uint64_t hash, const char *uri, const char *symbol)
{
    const char *size = strstr(uri, "size="), *base = strrchr(uri, '/');

    if (strncmp(symbol, "_Z", 2) == 0)
        return hash;
    if (strncmp(uri, "memory:", strlen("memory:")) == 0)
        return size ? mix_text(hash, size) : hash;
    return mix_text(hash, base ? base : uri);
}

static struct known describe(struct rp_store *s, struct rp_row_kernel *row)
{
    const struct rp_row_code_object *object =
        rp_find_row(s, RP_ROWS_code_object, row->guid_index, row->code_object_id);
    const struct rp_row_agent *agent =
        object ? rp_find_row(s, RP_ROWS_agent, row->guid_index, object->agent_id) : NULL;
    struct known k = {.store = s,
                      .row = row,
                      .symbol_bytes = rp_kernel_name_length(row->kernel_name),
                      .arch = agent ? agent->name : ""};
    const int64_t sizes[] = {row->kernarg_bytes, row->group_bytes, row->private_bytes};
    uint64_t registers =
        rp_kernel_register_code(row->arch_vgpr_count, row->accum_vgpr_count, row->sgpr_count);

    k.arch_bytes = strcspn(k.arch, ":");
    k.code[BY_CONTENTS] = rp_kernel_contents(row);
    k.code[BY_REGISTERS] = registers;
    if (!object || !*object->uri)
        return k;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        registers = mix(registers, (uint64_t)sizes[i]);
    k.code[BY_PLACE] = mix_place(registers, object->uri, row->kernel_name) | 1;
    return k;
}

/* --- those of one name --------------------------------------------------------------------- */

static int order_of_texts(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int by_name_and_arch(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    int order = strcmp(a->row->plain_name, b->row->plain_name);

    if (!order)
        order = order_of_texts(a->row->kernel_name, a->symbol_bytes, b->row->kernel_name,
                               b->symbol_bytes);
    return order ? order : order_of_texts(a->arch, a->arch_bytes, b->arch, b->arch_bytes);
}

/* The finest that is known of all of them; LEVELS: none. */
static enum level common_level(const struct known *of, size_t count)
{
    enum level level = BY_CONTENTS;

    for (size_t i = 0; i < count && level < LEVELS;)
        if (of[i].code[level])
            i++;
        else
            level++, i = 0;
    return level;
}

/* Whether two that differ in one way differ in the other, too. */
static bool tells_as_much(const struct known *of, size_t count, enum level coarse, enum level fine)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if ((of[i].code[coarse] == of[j].code[coarse]) !=
                (of[i].code[fine] == of[j].code[fine]))
                return false;
    return true;
}

static bool is_one(const struct known *of, size_t count, enum level level)
{
    for (size_t i = 1; i < count; i++)
        if (of[i].code[level] != of[0].code[level])
            return false;
    return true;
}

/* So many digits that different ones differ in them. */
static int digits_for(const struct known *of, size_t count, enum level level)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (of[i].code[level] != of[j].code[level] &&
                of[i].code[level] >> 32 == of[j].code[level] >> 32)
                return 16;
    return 8;
}

char *rp_kernel_code_name(const char *name, uint64_t code, int digits)
{
    return digits == 16 ? rp_format("%s [code %016" PRIx64 "]", name, code)
                        : rp_format("%s [code %08" PRIx64 "]", name, code >> 32);
}

size_t rp_kernel_plain_length(const char *name)
{
    static const char before[] = " [code ";
    const size_t length = strlen(name), before_length = strlen(before);

    for (size_t digits = 8; digits <= 16; digits += 8) {
        const size_t added = before_length + digits + 1;
        const char *at = length > added ? name + length - added : "";

        if (strncmp(at, before, before_length) == 0 &&
            strspn(at + before_length, "0123456789abcdef") == digits && name[length - 1] == ']')
            return length - added;
    }
    return length;
}

static int rename_one(const struct known *k, const char *name, bool *ret_changed,
                      struct rp_err *err)
{
    if (strcmp(k->row->display_name, name) == 0)
        return 0;
    *ret_changed = true;
    k->row->display_name = rp_text_add(&k->store->text, name, strlen(name));
    return k->row->display_name
               ? 0
               : rp_fail(err, RP_ENVIRONMENT, "read trace %s: out of memory", k->store->path);
}

/* A name that is that of more kernels than can be told apart in reasonable time. */
enum { MOST_OF_A_NAME = 4096 };

static int name_group(const struct known *of, size_t count, bool *ret_changed, struct rp_err *err)
{
    enum level level = common_level(of, count);
    const bool one = level == LEVELS || is_one(of, count, level);
    int digits, result = 0;

    if (!one && count <= MOST_OF_A_NAME && level == BY_PLACE &&
        tells_as_much(of, count, BY_REGISTERS, BY_PLACE))
        level = BY_REGISTERS; /* which files with counters have, too */
    digits = one ? 0 : count > MOST_OF_A_NAME ? 16 : digits_for(of, count, level);
    for (size_t i = 0; i < count && result == 0; i++) {
        const char *plain = of[i].row->plain_name;
        rp_autofree char *name = one ? NULL : rp_kernel_code_name(plain, of[i].code[level], digits);

        result = one || name ? rename_one(&of[i], one ? plain : name, ret_changed, err)
                             : rp_out_of_memory(err);
    }
    return result;
}

/* --- all of them --------------------------------------------------------------------------- */

/* What cannot be read tells nothing apart. */
static int load_places(struct rp_store *s, struct rp_err *err)
{
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_load_rows(s, RP_ROWS_code_object, &ignored) == -(int)RP_ENVIRONMENT ||
        rp_load_rows(s, RP_ROWS_agent, &ignored) == -(int)RP_ENVIRONMENT) {
        *err = ignored;
        return -(int)RP_ENVIRONMENT;
    }
    return 0;
}

static int add_known(struct rp_store *s, struct rp_rowset *set, struct known_list *to,
                     struct rp_err *err)
{
    struct rp_row_kernel *rows = set->rows;
    struct known *grown;
    int result = load_places(s, err);

    if (result < 0)
        return result;
    grown = reallocarray(to->at, to->count + set->count + 1, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    to->at = grown;
    for (size_t i = 0; i < set->count; i++) {
        struct known k = describe(s, &rows[i]);

        if (*rows[i].plain_name && common_level(&k, 1) != LEVELS)
            grown[to->count++] = k;
    }
    return 0;
}

static int name_all(struct known_list *list, bool *ret_changed, struct rp_err *err)
{
    int result = 0;

    if (list->count)
        qsort(list->at, list->count, sizeof *list->at, by_name_and_arch);
    for (size_t i = 0, end; i < list->count && result == 0; i = end) {
        for (end = i + 1; end < list->count && by_name_and_arch(&list->at[i], &list->at[end]) == 0;)
            end++;
        result = name_group(&list->at[i], end - i, ret_changed, err);
    }
    return result;
}

int rp_name_kernels(struct rp_store *s, struct rp_rowset *set, struct rp_err *err)
{
    struct rp_row_kernel *rows = set->rows;
    struct known_list list = {0};
    bool changed = false;
    int result = 0;

    for (size_t i = 0; i < set->count; i++) {
        const char *name = *rows[i].display_name ? rows[i].display_name : rows[i].kernel_name;
        size_t length = rp_kernel_name_length(name);

        rows[i].plain_name = name[length] ? rp_text_add(&s->text, name, length) : name;
        rows[i].display_name = rows[i].plain_name;
        if (!rows[i].plain_name)
            return rp_fail(err, RP_ENVIRONMENT, "read trace %s: out of memory", s->path);
    }
    if (set->count > 1)
        result = add_known(s, set, &list, err);
    if (result == 0)
        result = name_all(&list, &changed, err);
    free(list.at);
    return result;
}

int rp_store_tell_apart(struct rp_store *const *stores, size_t count, bool *ret_changed,
                        struct rp_err *err)
{
    struct known_list list = {0};
    bool changed = false;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        result = rp_load_rows(stores[i], RP_ROWS_kernel, err);
        if (result == 0 && count > 1)
            result = add_known(stores[i], &stores[i]->rows[RP_ROWS_kernel], &list, err);
    }
    if (result == 0)
        result = name_all(&list, &changed, err);
    free(list.at);
    if (result == 0 && ret_changed)
        *ret_changed = changed;
    return result;
}
