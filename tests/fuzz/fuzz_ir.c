/**
 * @file fuzz_ir.c
 * @brief Any bytes as LLVM's text: read, and each part of each function judged, or refused.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "optimize/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rp_ir_range parts[] = {{1, 1, 1, 1}, {1, 1, UINT32_MAX, UINT32_MAX}};
    struct rp_err err = RP_ERR_INIT;
    struct rp_ir *ir;

    if (rp_ir_read((const char *)data, size, &ir, &err) < 0)
        return 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *why = NULL;

        if (rp_ir_obstacle(ir, "_Z1kv", 2, &parts[i], &why, &err) == 0)
            free(why);
    }
    rp_ir_free(ir);
    return 0;
}
