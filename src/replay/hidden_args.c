#include "replay/hidden_args.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "trace/code_object.h"

enum what { NUMBER, MEMORY, HOST };

/* LLVM's AMDGPU user guide, code object V5, kernel argument metadata. A number means the same in
 * any process; the bases of LDS and scratch are the device's. */
static const struct {
    const char *kind;
    enum what what;
    const char *why;
} hidden[] = {
    {"hidden_none", NUMBER, NULL},
    {"hidden_global_offset_x", NUMBER, NULL},
    {"hidden_global_offset_y", NUMBER, NULL},
    {"hidden_global_offset_z", NUMBER, NULL},
    {"hidden_block_count_x", NUMBER, NULL},
    {"hidden_block_count_y", NUMBER, NULL},
    {"hidden_block_count_z", NUMBER, NULL},
    {"hidden_group_size_x", NUMBER, NULL},
    {"hidden_group_size_y", NUMBER, NULL},
    {"hidden_group_size_z", NUMBER, NULL},
    {"hidden_remainder_x", NUMBER, NULL},
    {"hidden_remainder_y", NUMBER, NULL},
    {"hidden_remainder_z", NUMBER, NULL},
    {"hidden_grid_dims", NUMBER, NULL},
    {"hidden_dynamic_lds_size", NUMBER, NULL},
    {"hidden_private_base", NUMBER, NULL},
    {"hidden_shared_base", NUMBER, NULL},
    {"hidden_heap_v1", MEMORY, NULL},
    {"hidden_multigrid_sync_arg", MEMORY, NULL},
    {"hidden_hostcall_buffer", HOST, "it calls the host (printf, malloc or assert)"},
    {"hidden_printf_buffer", HOST, "it prints through the host"},
    {"hidden_default_queue", HOST, "it launches kernels itself"},
    {"hidden_completion_action", HOST, "it launches kernels itself"},
    {"hidden_queue_ptr", HOST, "it uses its queue"},
};

/* One that calls through pointers takes all that any function could want. */
static const char *why(const struct rp_code_kernel *kernel, size_t i)
{
    return kernel->dynamic_stack
               ? "it calls functions that are not known when it is compiled (through pointers, "
                 "virtual ones, or itself), so that it may call the host or use its queue"
               : hidden[i].why;
}

static int check_set(const struct rp_code_kernel *kernel, const struct rp_code_arg *arg,
                     uint64_t value, const struct rp_kernarg *kernarg, struct rp_err *err)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        if (!rp_code_text_is(arg->kind, hidden[i].kind))
            continue;
        if (hidden[i].what == HOST)
            return rp_fail(err, RP_VERDICT,
                           "the kernel cannot be replayed: %s, which nobody answers here (%s)",
                           why(kernel, i), hidden[i].kind);
        if (hidden[i].what == MEMORY && !kernarg->is_captured(kernarg->data, value))
            return rp_fail(err, RP_VERDICT,
                           "the kernel cannot be replayed: its %s points to 0x%" PRIx64
                           ", which is not in the capture",
                           hidden[i].kind, value);
        return 0;
    }
    return rp_fail(err, RP_VERDICT,
                   "the kernel cannot be replayed: what its %.*s means in another process is not "
                   "known",
                   (int)arg->kind.bytes, arg->kind.at);
}

int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel,
                                const struct rp_kernarg *kernarg, struct rp_err *err)
{
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];
        uint64_t value = 0;
        int rc;

        if (!rp_code_arg_is_hidden(arg))
            continue;
        if (arg->offset > kernarg->size || arg->bytes > kernarg->size - arg->offset)
            return rp_fail(err, RP_BAD_INPUT,
                           "the metadata of the code object is damaged: %.*s lies behind the end "
                           "of the arguments",
                           (int)arg->kind.bytes, arg->kind.at);
        memcpy(&value, kernarg->bytes + arg->offset,
               arg->bytes < sizeof value ? arg->bytes : sizeof value);
        rc = value ? check_set(kernel, arg, value, kernarg, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}
