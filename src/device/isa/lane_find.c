/**
 * @file lane_find.c
 * @brief From mnemonic and CPU level to lane kernel.
 */
#include <cpuid.h>
#include <string.h>

#include "lane.h"

/* Declarations of every kernel at every level. */
#define RP_ROW(shape, name, ...)                                                                   \
    rp_lane_fn rp_lane_base_##name, rp_lane_v3_##name, rp_lane_v4_##name;
#define RP_LANE_INT(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_F32(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_F64(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_H16(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_CMP(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_CVT(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_TRANS(...) RP_ROW(__VA_ARGS__)
#define RP_LANE_PK(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_BODY(...)  RP_ROW(__VA_ARGS__, )
#include "lane.def"
#undef RP_ROW

struct rp_lane_row {
    const char *mnemonic;
    rp_lane_fn *fn[RP_LANE_LEVELS];
};

static const struct rp_lane_row rp_lane_rows[] = {
#define RP_ROW(shape, name, ...)                                                                   \
    {#name, {rp_lane_base_##name, rp_lane_v3_##name, rp_lane_v4_##name}},
#define RP_LANE_INT(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_F32(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_F64(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_H16(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_CMP(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_CVT(...)   RP_ROW(__VA_ARGS__)
#define RP_LANE_TRANS(...) RP_ROW(__VA_ARGS__)
#define RP_LANE_PK(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_BODY(...)  RP_ROW(__VA_ARGS__, )
#include "lane.def"
#undef RP_ROW
};

/* The parts of x86-64-v3 that __builtin_cpu_supports does not know under every compiler. */
static int has_f16c_movbe_lzcnt(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_F16C) || !(ecx & bit_MOVBE))
        return 0;
    return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & bit_LZCNT);
}

static int level_supported(enum rp_lane_level level)
{
    switch (level) {
    case RP_LANE_BASE:
        return 1;
    case RP_LANE_V3:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               has_f16c_movbe_lzcnt();
    case RP_LANE_V4:
        return level_supported(RP_LANE_V3) && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case RP_LANE_LEVELS:
        break;
    }
    return 0;
}

rp_lane_fn *rp_lane_find_level(const char *mnemonic, enum rp_lane_level level)
{
    static const char cmp[] = "v_cmp_", cmpx[] = "v_cmpx_";
    if (!level_supported(level))
        return NULL;
    /* A v_cmpx differs from its v_cmp only in where the caller puts the mask. */
    const int is_cmpx = strncmp(mnemonic, cmpx, sizeof cmpx - 1) == 0;
    for (size_t i = 0; i < sizeof rp_lane_rows / sizeof rp_lane_rows[0]; i++) {
        const char *row = rp_lane_rows[i].mnemonic;
        if (is_cmpx ? strncmp(row, cmp, sizeof cmp - 1) == 0 &&
                          strcmp(row + sizeof cmp - 1, mnemonic + sizeof cmpx - 1) == 0
                    : strcmp(row, mnemonic) == 0)
            return rp_lane_rows[i].fn[level];
    }
    return NULL;
}

rp_lane_fn *rp_lane_find(const char *mnemonic)
{
    for (int level = RP_LANE_LEVELS - 1; level > RP_LANE_BASE; level--)
        if (level_supported((enum rp_lane_level)level))
            return rp_lane_find_level(mnemonic, (enum rp_lane_level)level);
    return rp_lane_find_level(mnemonic, RP_LANE_BASE);
}
