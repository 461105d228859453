#include "replay/hidden_args.h"

#include <string.h>

#include "base/err.h"
#include "replay/code_metadata.h"

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

int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel, const uint8_t *kernarg,
                                size_t kernarg_bytes, struct rp_err *err)
{
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];
        uint64_t value;

        if (arg->offset > kernarg_bytes || kernarg_bytes - arg->offset < sizeof value)
            continue;
        memcpy(&value, kernarg + arg->offset, sizeof value);
        for (size_t j = 0; value && j < sizeof needs_host / sizeof *needs_host; j++)
            if (rp_code_text_is(arg->kind, needs_host[j].kind))
                return rp_fail(err, RP_VERDICT,
                               "the kernel cannot be replayed: %s, which nobody answers here (%s)",
                               needs_host[j].why, needs_host[j].kind);
    }
    return 0;
}
