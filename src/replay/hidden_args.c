#include "replay/hidden_args.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "replay/msgpack.h"

enum { NOTE_METADATA = 32 }; /* NT_AMDGPU_METADATA, LLVM's AMDGPU user guide */

/* What needs somebody at the other end. Pointers to plain memory (heap, multigrid barrier) do not:
 * that memory is in the capture. */
static const struct {
    const char *kind, *why;
} needs_host[] = {
    {"hidden_hostcall_buffer", "it calls the host (printf, malloc or assert)"},
    {"hidden_printf_buffer", "it prints through the host"},
    {"hidden_default_queue", "it launches kernels itself"},
    {"hidden_completion_action", "it launches kernels itself"},
    {"hidden_queue_ptr", "it uses its queue"},
};

/* --- ELF ----------------------------------------------------------------------------------- */

static bool find_in_segment(const uint8_t *notes, uint64_t bytes, struct rp_msgpack *ret)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        uint64_t name, text, all;

        memcpy(&note, notes, sizeof note);
        name = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
        text = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
        all = sizeof note + name + text;
        if (all > bytes)
            return false;
        if (note.n_type == NOTE_METADATA && note.n_namesz == sizeof "AMDGPU" &&
            memcmp(notes + sizeof note, "AMDGPU", sizeof "AMDGPU") == 0) {
            ret->at = notes + sizeof note + name;
            ret->end = ret->at + note.n_descsz;
            return true;
        }
        notes += all;
        bytes -= all;
    }
    return false;
}

static bool find_metadata(const uint8_t *elf, size_t size, struct rp_msgpack *ret)
{
    Elf64_Ehdr h;

    if (size < sizeof h || memcmp(elf, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&h, elf, sizeof h);
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > size ||
        (size - h.e_phoff) / sizeof(Elf64_Phdr) < h.e_phnum)
        return false;
    for (size_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;

        memcpy(&p, elf + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_NOTE && p.p_offset <= size && p.p_filesz <= size - p.p_offset &&
            find_in_segment(elf + p.p_offset, p.p_filesz, ret))
            return true;
    }
    return false;
}

/* --- metadata ------------------------------------------------------------------------------ */

static bool equals(const char *text, uint32_t bytes, const char *other)
{
    return strlen(other) == bytes && memcmp(text, other, bytes) == 0;
}

/* The value of a key, the cursor being before a map, which is taken whole. */
static bool member(struct rp_msgpack *m, const char *key, struct rp_msgpack *ret)
{
    bool found = false;
    uint32_t pairs;

    if (!rp_msgpack_map(m, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs; i++) {
        const char *name;
        uint32_t bytes;

        if (!rp_msgpack_string(m, &name, &bytes))
            return false;
        if (!found && equals(name, bytes, key)) {
            *ret = *m;
            found = true;
        }
        if (!rp_msgpack_skip(m))
            return false;
    }
    return found;
}

static int check_arg(struct rp_msgpack arg, const uint8_t *kernarg, size_t kernarg_bytes,
                     struct rp_err *err)
{
    struct rp_msgpack at = arg, kind_at, offset_at;
    uint64_t offset, value = 0;
    const char *kind;
    uint32_t bytes;

    if (!member(&at, ".value_kind", &kind_at) || !rp_msgpack_string(&kind_at, &kind, &bytes))
        return 0;
    at = arg;
    for (size_t i = 0; i < sizeof needs_host / sizeof *needs_host; i++) {
        if (!equals(kind, bytes, needs_host[i].kind) || !member(&at, ".offset", &offset_at) ||
            !rp_msgpack_unsigned(&offset_at, &offset) || offset > kernarg_bytes ||
            kernarg_bytes - offset < sizeof value)
            continue;
        memcpy(&value, kernarg + offset, sizeof value);
        if (value)
            return rp_fail(err, RP_VERDICT,
                           "the kernel cannot be replayed: %s, which nobody answers here (%s)",
                           needs_host[i].why, needs_host[i].kind);
    }
    return 0;
}

static int check_kernel(struct rp_msgpack kernel, const uint8_t *kernarg, size_t kernarg_bytes,
                        struct rp_err *err)
{
    struct rp_msgpack args;
    uint32_t count;
    int rc = 0;

    if (!member(&kernel, ".args", &args) || !rp_msgpack_array(&args, &count))
        return 0; /* it takes none */
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        rc = check_arg(args, kernarg, kernarg_bytes, err);
        if (rc == 0 && !rp_msgpack_skip(&args))
            return rp_fail(err, RP_BAD_INPUT, "the metadata of the code object is damaged");
    }
    return rc;
}

int rp_replay_check_hidden_args(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                                const uint8_t *kernarg, size_t kernarg_bytes, struct rp_err *err)
{
    struct rp_msgpack all, kernels;
    uint32_t count;

    if (!find_metadata(elf, elf_bytes, &all) || !member(&all, "amdhsa.kernels", &kernels) ||
        !rp_msgpack_array(&kernels, &count))
        return rp_fail(err, RP_BAD_INPUT, "the code object has no metadata of its kernels");
    for (uint32_t i = 0; i < count; i++) {
        struct rp_msgpack kernel = kernels, name_at;
        const char *name;
        uint32_t bytes;

        if (member(&kernel, ".symbol", &name_at) && rp_msgpack_string(&name_at, &name, &bytes) &&
            equals(name, bytes, symbol))
            return check_kernel(kernels, kernarg, kernarg_bytes, err);
        if (!rp_msgpack_skip(&kernels))
            break;
    }
    return rp_fail(err, RP_BAD_INPUT, "the code object has no metadata of the kernel %s", symbol);
}
