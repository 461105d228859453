#include "capture/code_metadata.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "capture/code_elf.h"
#include "capture/msgpack.h"

/* LLVM's AMDGPU user guide, "Note Records": of code objects V3 and later, and of V2. */
enum { NOTE_METADATA = 32, NOTE_METADATA_V2 = 10 };

/* --- values -------------------------------------------------------------------------------- */

bool rp_code_text_is(struct rp_code_text text, const char *other)
{
    return strlen(other) == text.bytes && memcmp(text.at, other, text.bytes) == 0;
}

bool rp_code_text_same(struct rp_code_text a, struct rp_code_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

bool rp_code_arg_is_hidden(const struct rp_code_arg *arg)
{
    return arg->kind.bytes >= 7 && memcmp(arg->kind.at, "hidden_", 7) == 0;
}

/* The value of a key, the cursor being before a map. */
static bool member(struct rp_msgpack m, const char *key, struct rp_msgpack *ret)
{
    uint32_t pairs;

    if (!rp_msgpack_map(&m, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs; i++) {
        struct rp_code_text name;

        if (!rp_msgpack_string(&m, &name.at, &name.bytes))
            return false;
        if (rp_code_text_is(name, key)) {
            *ret = m;
            return true;
        }
        if (!rp_msgpack_skip(&m))
            return false;
    }
    return false;
}

static bool number(struct rp_msgpack map, const char *key, uint64_t *ret)
{
    struct rp_msgpack at;

    return member(map, key, &at) && rp_msgpack_unsigned(&at, ret);
}

static bool text(struct rp_msgpack map, const char *key, struct rp_code_text *ret)
{
    struct rp_msgpack at;

    return member(map, key, &at) && rp_msgpack_string(&at, &ret->at, &ret->bytes);
}

static bool truth(struct rp_msgpack map, const char *key)
{
    struct rp_msgpack at;
    uint64_t value;
    bool yes;

    if (!member(map, key, &at))
        return false;
    return rp_msgpack_unsigned(&at, &value) ? value != 0 : rp_msgpack_bool(&at, &yes) && yes;
}

/* --- kernels ------------------------------------------------------------------------------- */

static int damaged(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "the metadata of the code object is damaged");
}

static int read_args(struct rp_msgpack kernel, struct rp_code_kernel *k, struct rp_err *err)
{
    struct rp_msgpack args;
    uint32_t count;

    if (!member(kernel, ".args", &args))
        return 0; /* it takes none */
    if (!rp_msgpack_array(&args, &count) || count > (size_t)(args.end - args.at))
        return damaged(err);
    k->args = calloc((size_t)count + 1, sizeof *k->args);
    if (!k->args)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        struct rp_code_arg *arg = &k->args[i];

        if (!number(args, ".offset", &arg->offset) || !number(args, ".size", &arg->bytes) ||
            !text(args, ".value_kind", &arg->kind))
            return damaged(err);
        text(args, ".address_space", &arg->space);
        if (!rp_msgpack_skip(&args))
            return damaged(err);
    }
    k->arg_count = count;
    return 0;
}

static bool read_required_workgroup(struct rp_msgpack kernel, struct rp_code_kernel *k)
{
    struct rp_msgpack at;
    uint32_t count;

    if (!member(kernel, ".reqd_workgroup_size", &at))
        return true;
    if (!rp_msgpack_array(&at, &count) || count != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (!rp_msgpack_unsigned(&at, &k->required_workgroup[i]))
            return false;
    return true;
}

static int read_kernel(struct rp_msgpack kernel, struct rp_code_kernel *k, struct rp_err *err)
{
    if (!number(kernel, ".kernarg_segment_size", &k->kernarg_bytes) ||
        !number(kernel, ".group_segment_fixed_size", &k->group_bytes) ||
        !number(kernel, ".private_segment_fixed_size", &k->private_bytes) ||
        !number(kernel, ".wavefront_size", &k->wave_size) ||
        !number(kernel, ".max_flat_workgroup_size", &k->max_workgroup) ||
        !number(kernel, ".vgpr_count", &k->vgprs) || !number(kernel, ".sgpr_count", &k->sgprs) ||
        !read_required_workgroup(kernel, k))
        return damaged(err);
    number(kernel, ".agpr_count", &k->agprs); /* not there before gfx90a */
    k->uniform_workgroups = truth(kernel, ".uniform_work_group_size");
    k->dynamic_stack = truth(kernel, ".uses_dynamic_stack");
    return read_args(kernel, k, err);
}

/** A kernel that is looked for in every note: a code object that was linked of several ones has
 * the metadata of each, as all of Tensile's have. */
struct search {
    const char *symbol;
    bool any, old, damaged, found;
    struct rp_msgpack note, kernel; /* of the kernel that was found */
};

static bool is_of(const struct rp_code_note *note, const char *owner)
{
    /* The end of the name counts; some writers leave it out. */
    const size_t length = strnlen(note->owner, note->owner_bytes);

    return length == strlen(owner) && memcmp(note->owner, owner, length) == 0;
}

/* Kernels of one note; some have none, of a file of functions. */
static void search_kernels(struct search *s, struct rp_msgpack all)
{
    struct rp_msgpack kernels;
    uint32_t count;

    if (!member(all, "amdhsa.kernels", &kernels) || !rp_msgpack_array(&kernels, &count))
        return;
    s->any = true;
    for (uint32_t i = 0; i < count; i++) {
        struct rp_code_text name;

        if (text(kernels, ".symbol", &name) && rp_code_text_is(name, s->symbol)) {
            s->found = true;
            s->note = all;
            s->kernel = kernels;
            return;
        }
        if (!rp_msgpack_skip(&kernels)) {
            s->damaged = true;
            return;
        }
    }
}

static bool search_note(void *ctx, const struct rp_code_note *note)
{
    struct search *s = ctx;

    if (note->type == NOTE_METADATA && is_of(note, "AMDGPU"))
        search_kernels(s,
                       (struct rp_msgpack){.at = note->text, .end = note->text + note->text_bytes});
    else if (note->type == NOTE_METADATA_V2 && is_of(note, "AMD"))
        s->old = true;
    return !s->found;
}

static int find_kernel(const uint8_t *bytes, size_t size, struct search *s, struct rp_err *err)
{
    struct rp_code_elf elf;

    if (rp_code_elf_open(bytes, size, &elf))
        rp_code_elf_notes(&elf, search_note, s);
    if (s->found)
        return 0;
    if (s->damaged)
        return damaged(err);
    if (s->any)
        return rp_fail(err, RP_BAD_INPUT, "the code object has no kernel %s", s->symbol);
    if (s->old)
        return rp_fail(err, RP_BAD_INPUT,
                       "the code object is of version 2, whose metadata is not read: compile it "
                       "with -mcode-object-version=5");
    return rp_fail(err, RP_BAD_INPUT, "the code object has no metadata of its kernels");
}

int rp_code_kernel_read(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                        struct rp_code_kernel *ret, bool *ret_missing, struct rp_err *err)
{
    struct search s = {.symbol = symbol};
    struct rp_code_kernel k = {0};
    int rc = find_kernel(elf, elf_bytes, &s, err);

    if (rc == 0) {
        text(s.note, "amdhsa.target", &k.target);
        rc = read_kernel(s.kernel, &k, err);
    }
    if (ret_missing)
        *ret_missing = s.any && !s.damaged && !s.found;
    if (rc == 0)
        *ret = k;
    else
        rp_code_kernel_free(&k);
    return rc;
}

void rp_code_kernel_free(struct rp_code_kernel *kernel)
{
    free(kernel->args);
    kernel->args = NULL;
    kernel->arg_count = 0;
}
