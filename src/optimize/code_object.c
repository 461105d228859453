#include "optimize/code_object.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/code_object.h"

enum { MOST_BYTES = 1 << 30, DESCRIPTOR_BYTES = 64 /* LLVM: AMDHSA kernel descriptor, code V3+ */ };

/** The descriptor says where the code is relative to itself (bytes 16 to 23): the layout, which
 *  names of other lengths change, is no part of what the kernel does. */
static void add_descriptor(const uint8_t *at, struct rp_buf *text)
{
    enum { ENTRY_AT = 16, ENTRY_END = 24 };

    rp_buf_add(text, at, ENTRY_AT);
    rp_buf_add(text, at + ENTRY_END, DESCRIPTOR_BYTES - ENTRY_END);
}

static bool hash_code(const uint8_t *bytes, size_t size, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;
    const uint8_t *descriptor;
    Elf64_Sym symbol;
    rp_autobuf text = {0};

    if (!rp_code_elf_open(bytes, size, &elf))
        return false;
    for (size_t i = 0; i < elf.header.e_phnum; i++) {
        Elf64_Phdr p;
        const bool whole = rp_code_elf_segment(&elf, i, &p);

        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        if (!whole)
            return false;
        rp_buf_add(&text, bytes + p.p_offset, p.p_filesz);
    }
    if (!rp_code_elf_symbols(&elf, &symbols) || !rp_code_symbol_find(&symbols, kd, &symbol))
        return false;
    descriptor = rp_code_elf_at(&elf, symbol.st_value, DESCRIPTOR_BYTES);
    if (!descriptor)
        return false;
    add_descriptor(descriptor, &text);
    if (text.failed)
        return false;
    rp_sha256(text.data, text.len, ret);
    return true;
}

int rp_code_object_read(const char *path, const char *symbol, struct rp_code_object *ret,
                        struct rp_err *err)
{
    struct rp_code_object object = {0};
    rp_autofree char *kd = rp_format("%s.kd", symbol);
    void *bytes = NULL;
    int rc = kd ? rp_read_file(path, MOST_BYTES, RP_BAD_INPUT, &bytes, &object.size, err)
                : rp_out_of_memory(err);

    object.bytes = bytes;
    if (rc == 0)
        rc = rp_code_kernel_read(object.bytes, object.size, kd, &object.kernel, NULL, err);
    if (rc == 0 && !hash_code(object.bytes, object.size, kd, object.code_sha256))
        rc = rp_fail(err, RP_BAD_INPUT, "its symbols or segments cannot be read");
    if (rc < 0) {
        rp_code_object_free(&object);
        return rp_wrap(err, "read the code object %s", path);
    }
    rp_sha256(object.bytes, object.size, object.file_sha256);
    *ret = object;
    return 0;
}

void rp_code_object_free(struct rp_code_object *object)
{
    rp_code_kernel_free(&object->kernel);
    free(object->bytes);
    *object = (struct rp_code_object){0};
}

static int differ(struct rp_err *err, const char *what, uint64_t before, uint64_t after)
{
    return rp_fail(err, RP_VERDICT, "%s: %llu before, %llu now", what, (unsigned long long)before,
                   (unsigned long long)after);
}

int rp_code_object_fits(const struct rp_code_object *before, const struct rp_code_object *after,
                        struct rp_err *err)
{
    const struct rp_code_kernel *a = &before->kernel, *b = &after->kernel;

    if (!rp_code_text_same(a->target, b->target))
        return rp_fail(err, RP_VERDICT, "it is for another GPU");
    if (a->kernarg_bytes != b->kernarg_bytes)
        return differ(err, "bytes of arguments", a->kernarg_bytes, b->kernarg_bytes);
    if (a->arg_count != b->arg_count)
        return differ(err, "arguments", a->arg_count, b->arg_count);
    for (size_t i = 0; i < a->arg_count; i++)
        if (a->args[i].offset != b->args[i].offset || a->args[i].bytes != b->args[i].bytes ||
            !rp_code_text_same(a->args[i].kind, b->args[i].kind) ||
            !rp_code_text_same(a->args[i].space, b->args[i].space))
            return rp_fail(err, RP_VERDICT, "argument %zu is another one", i + 1);
    if (a->max_workgroup != b->max_workgroup)
        return differ(err, "most work-items of a workgroup", a->max_workgroup, b->max_workgroup);
    if (memcmp(a->required_workgroup, b->required_workgroup, sizeof a->required_workgroup) != 0)
        return rp_fail(err, RP_VERDICT, "the size of workgroups that it requires is another one");
    if (a->wave_size != b->wave_size)
        return differ(err, "lanes of a wave", a->wave_size, b->wave_size);
    if (a->dynamic_stack != b->dynamic_stack)
        return rp_fail(err, RP_VERDICT, "its stack has no fixed size any more, or has one now");
    return 0;
}

void rp_code_object_use(const struct rp_code_object *object, const char *arch,
                        uint32_t workgroup_size, uint64_t dynamic_bytes, struct rp_code_use *ret)
{
    const struct rp_arch *gpu = arch ? rp_arch_find(arch) : NULL;
    const struct rp_code_kernel *k = &object->kernel;
    const bool unified = gpu && gpu->vgpr_file == RP_VGPR_UNIFIED;
    const uint64_t lds_bytes = k->group_bytes + dynamic_bytes;
    struct rp_occupancy occupancy;

    rp_occupancy_compute(gpu,
                         &(struct rp_kernel_resources){
                             .arch_vgpr = (uint32_t)(k->vgprs - (unified ? k->agprs : 0)),
                             .accum_vgpr = (uint32_t)k->agprs,
                             .sgpr = (uint32_t)k->sgprs,
                             .lds_bytes = (uint32_t)lds_bytes,
                             .scratch_bytes = (uint32_t)k->private_bytes,
                             .workgroup_size = workgroup_size,
                             .wave_size = (uint32_t)k->wave_size,
                         },
                         &occupancy);
    *ret = (struct rp_code_use){
        .vgprs = k->vgprs,
        .agprs = k->agprs,
        .sgprs = k->sgprs,
        .lds_bytes = lds_bytes,
        .scratch_bytes = k->private_bytes,
        .occupancy_known = occupancy.known,
        .occupancy = occupancy.known ? occupancy.theoretical : 0,
        .waves_per_simd = occupancy.known ? occupancy.waves_per_simd : 0,
        .limiter = occupancy.known ? rp_occupancy_limit_name(occupancy.limiter) : NULL,
    };
}
