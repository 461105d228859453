/* Lane kernels of integer instructions under CLAMP: the result saturates. */
#include "valu.h"

#define SATURATE(name, type, wide, lo, hi, expr)                                                   \
    static void name(struct rp_lane_args *args)                                                    \
    {                                                                                              \
        for (unsigned lane = 0; lane < RP_LANES; lane++) {                                         \
            const wide a = (type)args->s0[lane], b = (type)args->s1[lane];                         \
            const wide r = (expr);                                                                 \
            args->d[lane] = (uint32_t)(type)(r < (lo) ? (lo) : r > (hi) ? (hi) : r);               \
        }                                                                                          \
    }
SATURATE(add_u32, uint32_t, int64_t, 0, UINT32_MAX, a + b)
SATURATE(sub_u32, uint32_t, int64_t, 0, UINT32_MAX, a - b)
SATURATE(subrev_u32, uint32_t, int64_t, 0, UINT32_MAX, b - a)
SATURATE(add_i32, int32_t, int64_t, INT32_MIN, INT32_MAX, a + b)
SATURATE(sub_i32, int32_t, int64_t, INT32_MIN, INT32_MAX, a - b)
SATURATE(add_u16, uint16_t, int32_t, 0, UINT16_MAX, a + b)
SATURATE(sub_u16, uint16_t, int32_t, 0, UINT16_MAX, a - b)
SATURATE(subrev_u16, uint16_t, int32_t, 0, UINT16_MAX, b - a)
SATURATE(add_i16, int16_t, int32_t, INT16_MIN, INT16_MAX, a + b)
SATURATE(sub_i16, int16_t, int32_t, INT16_MIN, INT16_MAX, a - b)

rp_lane_fn *rp_saturating_lane(unsigned op)
{
    switch (op) {
    case RP_OP_v_add_u32:
        return add_u32;
    case RP_OP_v_sub_u32:
        return sub_u32;
    case RP_OP_v_subrev_u32:
        return subrev_u32;
    case RP_OP_v_add_i32:
        return add_i32;
    case RP_OP_v_sub_i32:
        return sub_i32;
    case RP_OP_v_add_u16:
        return add_u16;
    case RP_OP_v_sub_u16:
        return sub_u16;
    case RP_OP_v_subrev_u16:
        return subrev_u16;
    case RP_OP_v_add_i16:
        return add_i16;
    case RP_OP_v_sub_i16:
        return sub_i16;
    default:
        return NULL;
    }
}
