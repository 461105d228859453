/**
 * @file code_metadata.h
 * @brief What a code object says about one of its kernels: the AMDGPU metadata note (LLVM's AMDGPU
 * user guide, code object V3 and later).
 */
#ifndef RP_CAPTURE_CODE_METADATA_H
#define RP_CAPTURE_CODE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

/** Text in the code object, without an end of its own. */
struct rp_code_text {
    const char *at;
    uint32_t bytes;
};

struct rp_code_arg {
    uint64_t offset, bytes;
    struct rp_code_text kind;  /**< "by_value", "global_buffer", "hidden_block_count_x", ... */
    struct rp_code_text space; /**< "global", ...; no bytes: none is named */
};

struct rp_code_kernel {
    struct rp_code_text target; /**< "amdgcn-amd-amdhsa--gfx942:xnack-"; no bytes: not said */
    uint64_t kernarg_bytes, group_bytes, private_bytes;
    uint64_t wave_size, max_workgroup;
    uint64_t vgprs; /**< accumulation VGPRs included where the file is one: with 100 and 64 LLVM
                         writes 164 for gfx90a and gfx942, and 100 for gfx908 */
    uint64_t agprs, sgprs;
    uint64_t required_workgroup[3]; /**< all 0: any */
    bool uniform_workgroups;        /**< no partial ones */
    bool dynamic_stack;
    struct rp_code_arg *args;
    size_t arg_count;
};

bool rp_code_text_is(struct rp_code_text text, const char *other);
bool rp_code_text_same(struct rp_code_text a, struct rp_code_text b);
/** Arguments that the runtime adds. */
bool rp_code_arg_is_hidden(const struct rp_code_arg *arg);

/**
 * Finds a kernel in a code object, whose bytes must outlive the result.
 * @param symbol  with .kd
 * @return 0; RP_BAD_INPUT: no metadata, damaged, or there is no such kernel (ret_missing, may be
 *         NULL, says that it is that)
 */
int rp_code_kernel_read(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                        struct rp_code_kernel *ret, bool *ret_missing, struct rp_err *err);

/** Accepts a zeroed one. */
void rp_code_kernel_free(struct rp_code_kernel *kernel);

#endif
