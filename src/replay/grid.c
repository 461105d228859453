#include "replay/grid.h"

#include <string.h>

#include "trace/code_object.h"

static uint32_t groups_of(uint32_t grid, uint16_t workgroup)
{
    const uint32_t size = workgroup ? workgroup : 1, items = grid ? grid : 1;

    return items / size + (items % size != 0);
}

uint64_t rp_grid_groups(const uint32_t grid[3], const uint16_t workgroup[3])
{
    uint64_t groups = 1;

    for (unsigned i = 0; i < 3; i++)
        groups *= groups_of(grid[i], workgroup[i]);
    return groups;
}

static uint32_t fewer(uint32_t groups, enum rp_grid_way way)
{
    const uint32_t most = groups - groups / 4; /* of three quarters */

    return groups < 2            ? groups
           : way == RP_GRID_HALF ? (groups + 1) / 2
           : way == RP_GRID_ODD  ? (most == groups ? 1 : most - (most % 2 == 0))
                                 : 1;
}

static void make(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                 uint32_t ret_grid[3])
{
    for (unsigned i = 0; i < 3; i++)
        ret_grid[i] =
            fewer(groups_of(grid[i], workgroup[i]), way) * (workgroup[i] ? workgroup[i] : 1u);
}

const char *rp_grid_fewer(const uint32_t grid[3], const uint16_t workgroup[3], enum rp_grid_way way,
                          uint32_t ret_grid[3])
{
    uint32_t before[3];

    if (rp_grid_groups(grid, workgroup) < 2)
        return "the captured dispatch has one workgroup only";
    make(grid, workgroup, way, ret_grid);
    for (unsigned i = 0; i < (unsigned)way; i++) {
        make(grid, workgroup, (enum rp_grid_way)i, before);
        if (memcmp(before, ret_grid, sizeof before) == 0)
            return "it is a grid that was tried already";
    }
    return NULL;
}

/* LLVM's AMDGPU user guide, code object V5: the count is of whole workgroups, the remainder is the
 * size of a partial one behind them. */
void rp_grid_find_args(const struct rp_code_kernel *kernel, size_t kernarg_bytes,
                       struct rp_grid_args *ret)
{
    static const char *const counts[] = {"hidden_block_count_x", "hidden_block_count_y",
                                         "hidden_block_count_z"};
    static const char *const remainders[] = {"hidden_remainder_x", "hidden_remainder_y",
                                             "hidden_remainder_z"};

    *ret = (struct rp_grid_args){0};
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (arg->offset > kernarg_bytes || arg->bytes > kernarg_bytes - arg->offset ||
            arg->bytes > sizeof(uint32_t))
            continue;
        for (unsigned axis = 0; axis < 3; axis++) {
            if (rp_code_text_is(arg->kind, counts[axis])) {
                ret->count[axis].offset = (uint32_t)arg->offset;
                ret->count[axis].bytes = (uint32_t)arg->bytes;
            } else if (rp_code_text_is(arg->kind, remainders[axis])) {
                ret->remainder[axis].offset = (uint32_t)arg->offset;
                ret->remainder[axis].bytes = (uint32_t)arg->bytes;
            }
        }
    }
}

void rp_grid_put_args(const struct rp_grid_args *args, const uint32_t grid[3],
                      const uint16_t workgroup[3], uint8_t *kernarg)
{
    for (unsigned axis = 0; axis < 3; axis++) {
        const uint32_t count = groups_of(grid[axis], workgroup[axis]);

        memcpy(kernarg + args->count[axis].offset, &count, args->count[axis].bytes);
        memset(kernarg + args->remainder[axis].offset, 0, args->remainder[axis].bytes);
    }
}
