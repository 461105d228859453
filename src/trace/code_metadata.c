/* Just enough MessagePack to read the metadata of a code object. Every read is checked. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/code_object.h"

struct rp_msgpack {
    const uint8_t *at, *end;
};

enum { MOST_DEPTH = 32 };

/* Reads a big-endian number behind the tag. */
static bool number_behind_tag(const struct rp_msgpack *m, unsigned bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(m->end - m->at) < 1 + (size_t)bytes)
        return false;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | m->at[1 + i];
    *ret = value;
    return true;
}

/* Reads the number behind one of several tags, the first of which has a number of 1 << shift
 * bytes.
 */
static bool sized(const struct rp_msgpack *m, uint8_t first, uint8_t count, unsigned shift,
                  uint64_t *ret, unsigned *ret_header)
{
    if (m->at == m->end || m->at[0] < first || m->at[0] >= first + count)
        return false;
    *ret_header = 1u << (shift + (m->at[0] - first));
    if (!number_behind_tag(m, *ret_header, ret))
        return false;
    *ret_header += 1;
    return true;
}

static bool container(struct rp_msgpack *m, uint8_t small, uint8_t large, uint32_t *ret)
{
    unsigned header = 1;
    uint64_t count;

    if (m->at == m->end)
        return false;
    if ((m->at[0] & 0xf0) == small)
        count = m->at[0] & 0x0f;
    else if (!sized(m, large, 2, 1, &count, &header))
        return false;
    m->at += header;
    *ret = (uint32_t)count;
    return true;
}

/**
 * Each function takes one value.
 * @return false: it is of another kind, or not whole, and nothing is taken
 */
static bool msgpack_map(struct rp_msgpack *m, uint32_t *ret_pairs)
{
    return container(m, 0x80, 0xde, ret_pairs);
}

static bool msgpack_array(struct rp_msgpack *m, uint32_t *ret_count)
{
    return container(m, 0x90, 0xdc, ret_count);
}

static bool bytes_of(struct rp_msgpack *m, uint64_t bytes, unsigned header, const uint8_t **ret)
{
    if ((uint64_t)(m->end - m->at) < header + bytes)
        return false;
    *ret = m->at + header;
    m->at += header + bytes;
    return true;
}

static bool msgpack_string(struct rp_msgpack *m, const char **ret, uint32_t *ret_bytes)
{
    const uint8_t *text;
    unsigned header = 1;
    uint64_t bytes;

    if (m->at == m->end)
        return false;
    if ((m->at[0] & 0xe0) == 0xa0)
        bytes = m->at[0] & 0x1f;
    else if (!sized(m, 0xd9, 3, 0, &bytes, &header))
        return false;
    if (!bytes_of(m, bytes, header, &text))
        return false;
    *ret = (const char *)text;
    *ret_bytes = (uint32_t)bytes;
    return true;
}

static bool msgpack_unsigned(struct rp_msgpack *m, uint64_t *ret)
{
    unsigned header = 1;

    if (m->at == m->end)
        return false;
    if (m->at[0] < 0x80)
        *ret = m->at[0];
    else if (!sized(m, 0xcc, 4, 0, ret, &header))
        return false;
    m->at += header;
    return true;
}

static bool msgpack_bool(struct rp_msgpack *m, bool *ret)
{
    if (m->at == m->end || (m->at[0] != 0xc2 && m->at[0] != 0xc3))
        return false;
    *ret = m->at[0] == 0xc3;
    m->at++;
    return true;
}

/* Signed numbers, floats, nil, booleans, binary: taken whole, their value being of no interest. */
static bool skip_plain(struct rp_msgpack *m)
{
    const uint8_t tag = m->at[0], *rest;
    unsigned header;
    uint64_t bytes;

    if (tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
        return bytes_of(m, 0, 1, &rest);
    if (sized(m, 0xc4, 3, 0, &bytes, &header))
        return bytes_of(m, bytes, header, &rest);
    if (tag == 0xca || tag == 0xcb)
        return bytes_of(m, tag == 0xca ? 4 : 8, 1, &rest);
    if (tag >= 0xd0 && tag <= 0xd3)
        return bytes_of(m, 1u << (tag - 0xd0), 1, &rest);
    return false;
}

static bool skip(struct rp_msgpack *m, unsigned depth)
{
    const char *text;
    uint64_t value;
    uint32_t count;

    if (depth == MOST_DEPTH || m->at == m->end)
        return false;
    if (msgpack_unsigned(m, &value) || msgpack_string(m, &text, &count))
        return true;
    if (msgpack_map(m, &count)) {
        for (uint64_t i = 0; i < 2 * (uint64_t)count; i++)
            if (!skip(m, depth + 1))
                return false;
        return true;
    }
    if (msgpack_array(m, &count)) {
        for (uint32_t i = 0; i < count; i++)
            if (!skip(m, depth + 1))
                return false;
        return true;
    }
    return skip_plain(m);
}

/** Skips a value of any kind with everything in it. */
static bool msgpack_skip(struct rp_msgpack *m)
{
    return skip(m, 0);
}

/* LLVM's AMDGPU user guide, "Note Records": of code objects V3 and later, and of V2. */
enum { NOTE_METADATA = 32, NOTE_METADATA_V2 = 10 };

/* --- values -------------------------------------------------------------------------------- */

/* Finds the value of a key, with the cursor before a map. */
static bool member(struct rp_msgpack m, const char *key, struct rp_msgpack *ret)
{
    uint32_t pairs;

    if (!msgpack_map(&m, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs; i++) {
        struct rp_code_text name;

        if (!msgpack_string(&m, &name.at, &name.bytes))
            return false;
        if (rp_code_text_is(name, key)) {
            *ret = m;
            return true;
        }
        if (!msgpack_skip(&m))
            return false;
    }
    return false;
}

static bool number(struct rp_msgpack map, const char *key, uint64_t *ret)
{
    struct rp_msgpack at;

    return member(map, key, &at) && msgpack_unsigned(&at, ret);
}

static bool text(struct rp_msgpack map, const char *key, struct rp_code_text *ret)
{
    struct rp_msgpack at;

    return member(map, key, &at) && msgpack_string(&at, &ret->at, &ret->bytes);
}

static bool truth(struct rp_msgpack map, const char *key)
{
    struct rp_msgpack at;
    uint64_t value;
    bool yes;

    if (!member(map, key, &at))
        return false;
    return msgpack_unsigned(&at, &value) ? value != 0 : msgpack_bool(&at, &yes) && yes;
}

/* --- kernels ------------------------------------------------------------------------------- */

static int damaged(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "the metadata of the code object is damaged");
}

/* LLVM names the accesses of arguments that are noalias only (HSAMetadataStreamer), of which those
 * that are read and written have no name. OpenCL says it itself. */
static bool has_no_alias(struct rp_msgpack arg)
{
    struct rp_msgpack at;

    return member(arg, ".actual_access", &at) || member(arg, ".is_restrict", &at);
}

static int read_args(struct rp_msgpack kernel, struct rp_code_kernel *k, struct rp_err *err)
{
    struct rp_msgpack args;
    uint32_t count;

    if (!member(kernel, ".args", &args))
        return 0; /* The kernel takes no arguments. */
    if (!msgpack_array(&args, &count) || count > (size_t)(args.end - args.at))
        return damaged(err);
    k->args = calloc((size_t)count + 1, sizeof *k->args);
    if (!k->args)
        return rp_out_of_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        struct rp_code_arg *arg = &k->args[i];

        if (!number(args, ".offset", &arg->offset) || !number(args, ".size", &arg->bytes) ||
            !text(args, ".value_kind", &arg->kind))
            return damaged(err);
        text(args, ".address_space", &arg->space);
        arg->no_alias = has_no_alias(args);
        if (!msgpack_skip(&args))
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
    if (!msgpack_array(&at, &count) || count != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (!msgpack_unsigned(&at, &k->required_workgroup[i]))
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
    /* Code objects for GPUs before gfx90a do not have this key. */
    number(kernel, ".agpr_count", &k->agprs);
    k->uniform_workgroups = truth(kernel, ".uniform_work_group_size");
    k->dynamic_stack = truth(kernel, ".uses_dynamic_stack");
    return read_args(kernel, k, err);
}

/**
 * A kernel is searched in every note, because a code object that was linked from several has the
 * metadata of each. All of Tensile's are linked like that.
 */
struct search {
    const char *symbol;
    bool any, old, damaged, found;
    struct rp_msgpack note, kernel; /**< of the kernel that was found */
};

static bool is_of(const struct rp_code_note *note, const char *owner)
{
    /* The end of the name counts; some writers leave it out. */
    const size_t length = strnlen(note->owner, note->owner_bytes);

    return length == strlen(owner) && memcmp(note->owner, owner, length) == 0;
}

/* Searches the kernels of one note, which may have none if it comes from a file of functions. */
static void search_kernels(struct search *s, struct rp_msgpack all)
{
    struct rp_msgpack kernels;
    uint32_t count;

    if (!member(all, "amdhsa.kernels", &kernels) || !msgpack_array(&kernels, &count))
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
        if (!msgpack_skip(&kernels)) {
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

/* hipcc --genco writes code objects of several GPUs into one file, clang's offload bundle. Its
 * layout is in the Clang documentation, "Offload bundler": the magic, the number of entries, and
 * for each of them offset, size and length of the name that follows, all little endian.
 */

/* "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" is for gfx942. */
static bool is_for(const char *name, uint64_t bytes, const char *gpu)
{
    const size_t length = strlen(gpu);

    for (uint64_t i = 0; i + length + 1 <= bytes; i++)
        if (name[i] == '-' && memcmp(name + i + 1, gpu, length) == 0 &&
            (i + 1 + length == bytes || name[i + 1 + length] == ':'))
            return true;
    return false;
}

int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err)
{
    uint64_t count, at = RP_BUNDLE_MAGIC_BYTES + sizeof count;

    if (bytes >= 4 && memcmp(file, RP_BUNDLE_COMPRESSED_MAGIC, 4) == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "it is a compressed bundle: make it with --no-offload-compress");
    if (bytes < at || memcmp(file, RP_BUNDLE_MAGIC, RP_BUNDLE_MAGIC_BYTES) != 0) {
        *ret = file;
        *ret_bytes = bytes;
        return 0;
    }
    memcpy(&count, file + RP_BUNDLE_MAGIC_BYTES, sizeof count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry[3];

        if (bytes - at < RP_BUNDLE_ENTRY_BYTES)
            break;
        memcpy(entry, file + at, RP_BUNDLE_ENTRY_BYTES);
        at += RP_BUNDLE_ENTRY_BYTES;
        if (entry[2] > bytes - at || entry[0] > bytes || entry[1] > bytes - entry[0])
            break;
        if (entry[1] && is_for((const char *)file + at, entry[2], gpu)) {
            *ret = file + entry[0];
            *ret_bytes = entry[1];
            return 0;
        }
        at += entry[2];
        if (i + 1 == count)
            return rp_fail(err, RP_VERDICT, "it has no code for %s", gpu);
    }
    return rp_fail(err, RP_BAD_INPUT, "it is a damaged bundle of code objects");
}
