/**
 * @file code_objects.c
 * @brief This file records code objects and kernels when an executable is frozen:
 * before its first launch.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/code_object.h"
#include "tracer/tracer.h"

/* This part reads register counts out of an AMDGPU kernel descriptor, as rocpd reports them. */

/* Layout and granularities of register counts in a kernel descriptor are those of AMDGPU code
 * object v3+, "Kernel Descriptor", compute_pgm_rsrc1 and 3. What is reported is what was
 * allocated, not what the compiler used, because rocprofv3 stores that.
 */

enum { RP_KD_BYTES = 64 };

struct rp_kd_registers {
    uint32_t sgpr_count;
    uint32_t arch_vgpr_count;
    uint32_t accum_vgpr_count;
    uint32_t wave_size;
};

enum {
    KD_RSRC3 = 44,
    KD_RSRC1 = 48,
    KD_PROPERTIES = 56,

    RSRC1_VGPR_MASK = 0x3f, /**< bits 5:0, granulated work-item VGPR count */
    RSRC1_SGPR_SHIFT = 6,   /**< bits 9:6, granulated wavefront SGPR count */
    RSRC1_SGPR_MASK = 0xf,
    RSRC3_ACCUM_MASK = 0x3f, /**< bits 5:0 on gfx90a+: where the AccVGPRs begin, in fours */
    PROPERTY_WAVE32 = 1 << 10,

    SGPR_FIXED_GFX10 = 128, /**< gfx10+ gives every wave the same number */
};

static uint32_t load_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static int gfx_major(const char *digits)
{
    /* gfx942 and gfx90a have one digit of major version; gfx1030 and gfx1100 have two. */
    size_t length = strspn(digits, "0123456789abcdef");

    if (length == 3)
        return digits[0] - '0';
    if (length == 4)
        return (digits[0] - '0') * 10 + digits[1] - '0';
    return -1;
}

/**
 * Decodes a 64-byte kernel descriptor.
 * @param gfx the agent's name: "gfx942"; decides which encoding the bits have
 * @return 0, or -1 when @p gfx names no AMD GPU: nothing is written then
 */
static int kd_registers(const char *gfx, const uint8_t kd[RP_KD_BYTES], struct rp_kd_registers *ret)
{
    uint32_t rsrc1 = load_u32(kd + KD_RSRC1);
    uint32_t rsrc3 = load_u32(kd + KD_RSRC3);
    uint32_t vgpr = rsrc1 & RSRC1_VGPR_MASK;
    uint32_t sgpr = (rsrc1 >> RSRC1_SGPR_SHIFT) & RSRC1_SGPR_MASK;
    uint16_t properties;
    const char *name;
    int major;

    memcpy(&properties, kd + KD_PROPERTIES, sizeof(properties));
    if (strncmp(gfx, "gfx", 3) != 0)
        return -1;
    name = gfx + 3;
    major = gfx_major(name);
    if (major < 7)
        return -1;

    if (major >= 10) {
        ret->wave_size = properties & PROPERTY_WAVE32 ? 32 : 64;
        /* Waves of gfx125x can have 1024 registers, in as many bits. */
        ret->arch_vgpr_count = (vgpr + 1) * (strncmp(name, "125", 3) == 0 ? 16
                                             : ret->wave_size == 32       ? 8
                                                                          : 4);
        ret->accum_vgpr_count = 0;
        ret->sgpr_count = SGPR_FIXED_GFX10;
        return 0;
    }
    ret->wave_size = 64;
    /* gfx9 always allocates an even number of granules of 8, which means two at a time. */
    ret->sgpr_count = 16 * (sgpr / 2 + 1);
    if (strncmp(name, "90a", 3) == 0 || strncmp(name, "94", 2) == 0 ||
        strncmp(name, "95", 2) == 0) {
        uint32_t unified = 8 * (vgpr + 1);
        uint32_t arch = 4 * ((rsrc3 & RSRC3_ACCUM_MASK) + 1);

        /* One register file holds both kinds, so a descriptor that says otherwise is wrong. */
        ret->arch_vgpr_count = arch < unified ? arch : unified;
        ret->accum_vgpr_count = unified - ret->arch_vgpr_count;
    } else {
        ret->arch_vgpr_count = 4 * (vgpr + 1);
        ret->accum_vgpr_count = strncmp(name, "908", 3) == 0 ? ret->arch_vgpr_count : 0;
    }
    return 0;
}

enum { MAX_OBJECTS = 64 }; /* HIP puts one code object into an executable. */

struct loaded {
    uint32_t id;
    rp_hsa_code_object object;
    bool copied; /**< its ELF file */
    rp_hsa_agent agent;
    uint64_t base, bytes;
    bool opened;
    struct rp_code_identity *contents; /**< NULL: not opened, or they cannot be read */
};

/** This is what one freeze found. */
struct freeze {
    struct rp_tool *tool;
    rp_hsa_executable executable;
    struct loaded objects[MAX_OBJECTS];
    size_t count;
};

static char *object_uri(const struct rp_tool *tool, rp_hsa_code_object object)
{
    uint32_t length = 0;
    char *uri;

    if (tool->loader.code_object_get_info(object, RP_LOADER_INFO_URI_LENGTH, &length) !=
        RP_HSA_SUCCESS)
        return NULL;
    uri = calloc(1, (size_t)length + 1);
    if (uri && tool->loader.code_object_get_info(object, RP_LOADER_INFO_URI, uri) != RP_HSA_SUCCESS)
        uri[0] = '\0';
    return uri;
}

static rp_hsa_status visit_object(rp_hsa_executable executable, rp_hsa_code_object object,
                                  void *data)
{
    struct freeze *freeze = data;
    struct rp_tool *tool = freeze->tool;
    struct rp_record record = {.kind = RP_REC_CODE_OBJECT};
    struct rp_rec_code_object *rec = &record.u.code_object;
    uint32_t storage = 0;
    char *uri;

    if (freeze->count == MAX_OBJECTS)
        return RP_HSA_SUCCESS;
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_AGENT, &rec->agent);
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_LOAD_BASE, &rec->load_base);
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_LOAD_SIZE, &rec->load_bytes);
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_LOAD_DELTA, &rec->load_delta);
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_STORAGE_TYPE, &storage);
    rec->storage = storage == RP_LOADER_STORAGE_FILE;
    uri = object_uri(tool, object);
    rec->uri_id = rp_trace_string(&tool->trace, uri);
    rec->id = ++tool->code_object_count;
    rp_trace_append(&tool->trace, &record);
    rp_tool_log(tool, "code object=%u base=%" PRIx64 " bytes=%" PRIu64 " uri=%s", rec->id,
                rec->load_base, rec->load_bytes, uri ? uri : "");
    free(uri);
    rp_memory_add_code(tool, executable, rec->agent, rec->load_base, rec->load_bytes);

    freeze->objects[freeze->count++] = (struct loaded){.id = rec->id,
                                                       .object = object,
                                                       .agent = rec->agent,
                                                       .base = rec->load_base,
                                                       .bytes = rec->load_bytes};
    return RP_HSA_SUCCESS;
}

/* The descriptor lies in device memory, which the host may not be able to read; the loader keeps a
 * copy that it can. */
static void read_registers(const struct rp_tool *tool, rp_hsa_agent agent, uint64_t kernel_object,
                           struct rp_rec_kernel *rec)
{
    struct rp_kd_registers registers;
    const void *descriptor = NULL;
    char gfx[64];

    rp_agent_name(tool, agent, gfx);
    if (tool->loader.query_host_address((const void *)(uintptr_t)kernel_object, &descriptor) !=
            RP_HSA_SUCCESS ||
        !descriptor || kd_registers(gfx, descriptor, &registers) < 0)
        return;
    rec->sgpr_count = registers.sgpr_count;
    rec->arch_vgpr_count = registers.arch_vgpr_count;
    rec->accum_vgpr_count = registers.accum_vgpr_count;
    rec->wave_size = registers.wave_size;
}

static uint32_t symbol_u32(const struct rp_tool *tool, rp_hsa_symbol symbol, uint32_t what)
{
    uint32_t value = 0;

    if (tool->hsa.hsa_executable_symbol_get_info(symbol, what, &value) != RP_HSA_SUCCESS)
        return 0;
    return value;
}

/* Returns the name of a symbol, which the caller owns. NULL: unknown */
static char *symbol_name(const struct rp_tool *tool, rp_hsa_symbol symbol)
{
    uint32_t length = symbol_u32(tool, symbol, RP_HSA_SYMBOL_NAME_LENGTH);
    char *name = calloc(1, (size_t)length + 1);

    if (name && tool->hsa.hsa_executable_symbol_get_info(symbol, RP_HSA_SYMBOL_NAME, name) !=
                    RP_HSA_SUCCESS) {
        free(name);
        name = NULL;
    }
    return name;
}

static uint32_t object_of(const struct freeze *freeze, uint64_t address)
{
    for (size_t i = 0; i < freeze->count; i++)
        if (address - freeze->objects[i].base < freeze->objects[i].bytes)
            return freeze->objects[i].id;
    return 0;
}

/* Returns the ELF file if it is in the memory of this process, because a file on disk may have
 * changed.
 */
static const void *elf_of(const struct rp_tool *tool, rp_hsa_code_object object,
                          uint64_t *ret_bytes)
{
    uint32_t storage = 0;
    uint64_t base = 0;

    *ret_bytes = 0;
    tool->loader.code_object_get_info(object, RP_LOADER_INFO_STORAGE_TYPE, &storage);
    if (storage != RP_LOADER_STORAGE_MEMORY ||
        tool->loader.code_object_get_info(object, RP_LOADER_INFO_MEMORY_BASE, &base) !=
            RP_HSA_SUCCESS ||
        tool->loader.code_object_get_info(object, RP_LOADER_INFO_MEMORY_SIZE, ret_bytes) !=
            RP_HSA_SUCCESS)
        return NULL;
    return (const void *)(uintptr_t)base;
}

static void copy_object(struct rp_tool *tool, rp_hsa_executable executable, struct loaded *object,
                        bool traced)
{
    const void *elf;
    uint64_t bytes;

    if (object->copied)
        return;
    object->copied = true;
    elf = elf_of(tool, object->object, &bytes);
    if (!elf)
        return;
    if (traced)
        rp_threads_code(tool, object->id, elf, bytes);
    else
        rp_isolate_code(tool, executable, object->id, object->base, object->bytes, elf, bytes);
}

/* JIT compilers give many kernels one name: what is in them tells them apart. */
static void describe_code(const struct rp_tool *tool, struct loaded *object,
                          struct rp_rec_kernel *rec, const char *name)
{
    rec->code_bytes = (uint32_t)object->bytes;
    if (!object->opened) {
        uint64_t bytes;
        const void *elf = elf_of(tool, object->object, &bytes);

        object->opened = true;
        object->contents = elf ? rp_code_identity_open(elf, bytes) : NULL;
    }
    if (object->contents && name)
        rec->code_hash = rp_code_identity_hash(object->contents, name);
}

/* Chooses the kernel before its first launch, which may be traced. */
static void choose_kernel(struct freeze *freeze, const struct rp_rec_kernel *rec, const char *name)
{
    bool traced = name && rp_threads_kernel(freeze->tool, rec->id, name);
    bool captured = name && rp_isolate_kernel(freeze->tool, freeze->executable, rec, name);

    if (!traced && !captured)
        return;
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->objects[i].id == rec->code_object_id)
            copy_object(freeze->tool, freeze->executable, &freeze->objects[i], traced);
}

static rp_hsa_status visit_symbol(rp_hsa_executable executable, rp_hsa_agent agent,
                                  rp_hsa_symbol symbol, void *data)
{
    struct freeze *freeze = data;
    struct rp_tool *tool = freeze->tool;
    struct rp_record record = {.kind = RP_REC_KERNEL};
    struct rp_rec_kernel *rec = &record.u.kernel;
    char *name;

    (void)executable;
    if (symbol_u32(tool, symbol, RP_HSA_SYMBOL_TYPE) != RP_HSA_SYMBOL_KIND_KERNEL)
        return RP_HSA_SUCCESS;
    if (tool->hsa.hsa_executable_symbol_get_info(symbol, RP_HSA_SYMBOL_KERNEL_OBJECT,
                                                 &rec->kernel_object) != RP_HSA_SUCCESS ||
        !rec->kernel_object)
        return RP_HSA_SUCCESS;
    rec->id = ++tool->kernel_count;
    rec->code_object_id = object_of(freeze, rec->kernel_object);
    name = symbol_name(tool, symbol);
    for (size_t i = 0; i < freeze->count; i++)
        if (freeze->objects[i].id == rec->code_object_id)
            describe_code(tool, &freeze->objects[i], rec, name);
    rec->name_id = rp_trace_string(&tool->trace, name);
    rec->kernarg_bytes = symbol_u32(tool, symbol, RP_HSA_SYMBOL_KERNARG_BYTES);
    rec->kernarg_align_bytes = symbol_u32(tool, symbol, RP_HSA_SYMBOL_KERNARG_ALIGN);
    rec->group_bytes = symbol_u32(tool, symbol, RP_HSA_SYMBOL_GROUP_BYTES);
    rec->private_bytes = symbol_u32(tool, symbol, RP_HSA_SYMBOL_PRIVATE_BYTES);
    read_registers(tool, agent, rec->kernel_object, rec);
    rp_trace_append(&tool->trace, &record);
    choose_kernel(freeze, rec, name);
    free(name);
    /* Only now can a dispatch refer to it: a reader finds the kernel before its dispatches. */
    if (rp_kernel_map_put(&tool->kernels, rec->kernel_object, rec->id) < 0)
        rp_trace_count_lost(&tool->trace);
    rp_tool_log(tool, "kernel=%u object=%" PRIx64 " vgpr=%u agpr=%u sgpr=%u", rec->id,
                rec->kernel_object, rec->arch_vgpr_count, rec->accum_vgpr_count, rec->sgpr_count);
    return RP_HSA_SUCCESS;
}

static bool agent_seen_before(const struct freeze *freeze, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (freeze->objects[i].agent == freeze->objects[index].agent)
            return true;
    return false;
}

static void record_executable(struct rp_tool *tool, rp_hsa_executable executable)
{
    struct freeze freeze = {.tool = tool, .executable = executable};

    rp_agents_record(tool);
    pthread_mutex_lock(&tool->code_lock);
    if (!tool->loader_known)
        tool->loader_known = tool->hsa.hsa_system_get_major_extension_table(
                                 RP_HSA_EXTENSION_AMD_LOADER, 1, sizeof(tool->loader),
                                 &tool->loader) == RP_HSA_SUCCESS;
    if (tool->loader_known) {
        tool->loader.iterate_code_objects(executable, visit_object, &freeze);
        for (size_t i = 0; i < freeze.count; i++)
            if (!agent_seen_before(&freeze, i))
                tool->hsa.hsa_executable_iterate_agent_symbols(executable, freeze.objects[i].agent,
                                                               visit_symbol, &freeze);
        for (size_t i = 0; i < freeze.count; i++)
            rp_code_identity_free(freeze.objects[i].contents);
    } else {
        rp_trace_count_lost(&tool->trace);
    }
    pthread_mutex_unlock(&tool->code_lock);
}

static rp_hsa_status hook_executable_freeze(rp_hsa_executable executable, const char *options)
{
    rp_hsa_status status = rp_the_tool.hsa.hsa_executable_freeze(executable, options);

    if (status == RP_HSA_SUCCESS && rp_tool_active(&rp_the_tool))
        record_executable(&rp_the_tool, executable);
    return status;
}

void rp_code_hook(const struct rp_hsa_tables *tables)
{
    RP_TOOL_REPLACE(tables->core, hsa_executable_freeze, hook_executable_freeze);
}
