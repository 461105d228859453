#include "optimize/kernel_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/profile.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sha256.h"
#include "experiment/build_command.h"
#include "experiment/compile.h"
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
    rp_sha256(text.data, text.len, ret);
    return true;
}

int rp_code_object_read(const char *path, const char *symbol, struct rp_code_object *ret,
                        struct rp_err *err)
{
    struct rp_code_object object = {0};
    rp_autofree char *kd = rp_format("%s.kd", symbol);
    void *bytes = NULL;
    int rc = rp_read_file(path, MOST_BYTES, RP_BAD_INPUT, &bytes, &object.size, err);

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
        .limiter = occupancy.known ? rp_occupancy_limit_names[occupancy.limiter] : NULL,
    };
}

static void release(struct rp_code_identity **contents)
{
    rp_code_identity_free(*contents);
}

static bool kernel_hash(const struct rp_code_identity *of, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct rp_buf text = {0};
    const bool told = rp_code_identity_of_kernel(of, kd, SIZE_MAX, &text);

    if (told)
        rp_sha256(text.data, text.len, ret);
    rp_buf_free(&text);
    return told;
}

/* --- all kernels --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** "name.kd" is of the kernel @p symbol. */
static bool is_descriptor_of(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return strncmp(name, symbol, length) == 0 && strcmp(name + length, ".kd") == 0;
}

static void find_changed(const struct rp_code_identity *before,
                         const struct rp_code_identity *after, const char *symbol, char **names)
{
    const struct rp_code_symbols *symbols = rp_code_identity_symbols(before);
    size_t count = 0;

    for (size_t i = 0; i < symbols->count; i++) {
        char old[RP_SHA256_TEXT], now[RP_SHA256_TEXT];
        Elf64_Sym s;
        const char *name = rp_code_symbol(symbols, i, &s);

        if (!name || !rp_code_symbol_is_kernel(name) || is_descriptor_of(name, symbol) ||
            (kernel_hash(before, name, old) && kernel_hash(after, name, now) &&
             strcmp(old, now) == 0))
            continue;
        names[count++] = rp_strndup(name, strlen(name) - strlen(".kd"));
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
}

int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err)
{
    rp_cleanup(release) struct rp_code_identity *a = NULL, *b = NULL;
    char **names;

    a = rp_code_identity_open(before->bytes, before->size);
    b = a ? rp_code_identity_open(after->bytes, after->size) : NULL;
    if (!b)
        return rp_fail(err, RP_BAD_INPUT, "symbols or sections of a code object cannot be read");
    names = rp_alloc_zero(rp_code_identity_symbols(a)->count + 1, sizeof *names);
    find_changed(a, b, symbol, names);
    *ret = names;
    return 0;
}

void rp_source_kernels_free(struct rp_source_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->symbols[i]);
    free(kernels->symbols);
    *kernels = (struct rp_source_kernels){0};
}

static void add(struct rp_source_kernels *kernels, const char *name, size_t bytes)
{
    char **more = rp_realloc_array(kernels->symbols, kernels->count + 1, sizeof *more);

    kernels->symbols = more;
    more[kernels->count] = rp_strndup(name, bytes);
    kernels->count++;
}

/** Those of a code object. @return 0 or RP_BAD_INPUT */
static int rp_source_kernels_of(const uint8_t *bytes, size_t size, struct rp_source_kernels *ret,
                                struct rp_err *err)
{
    rp_cleanup(rp_source_kernels_free) struct rp_source_kernels kernels = {0};
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT, "not a code object");
    if (!rp_code_elf_symbols(&elf, &symbols))
        return rp_fail(err, RP_BAD_INPUT, "a damaged code object");
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol;
        const char *name = rp_code_symbol(&symbols, i, &symbol);

        if (name && rp_code_symbol_is_kernel(name))
            add(&kernels, name, strlen(name) - strlen(".kd"));
    }
    if (kernels.count > 0)
        qsort(kernels.symbols, kernels.count, sizeof *kernels.symbols, by_name);
    *ret = kernels;
    kernels = (struct rp_source_kernels){0};
    return 0;
}

static int read_object(const char *path, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *elf;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    if (st.st_size == 0)
        return rp_fail(err, RP_BAD_INPUT, "the compiler made an empty code object");
    elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (elf == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    rc = rp_source_kernels_of(elf, (size_t)st.st_size, ret, err);
    munmap(elf, (size_t)st.st_size);
    return rc;
}

int rp_source_kernels(const struct rp_compile_command *command, const char *source,
                      const char *arch, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autofree char *object = NULL;
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};
    rp_autofree char *reason = NULL;

    if (rp_temporary_folder(&folder, err) < 0)
        return -(int)err->code;
    object = rp_path_join(folder, "device.co");
    if (rp_compile(command, source, arch, object, &built, err) < 0)
        return -(int)err->code;
    if (!built.ok) {
        reason = rp_build_result_reason(&built);
        return rp_fail(err, RP_BAD_INPUT, "%s does not compile%s: %s", source,
                       rp_compile_command_hint(command), reason ? reason : built.why);
    }
    return read_object(object, ret, err);
}
