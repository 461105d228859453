#include "base/cpu.h"

#include <cpuid.h>
#include <stdint.h>

/* The bits of XCR0 say which registers the kernel saves. */
enum { XCR0_AVX = 0x6, XCR0_AVX512 = 0xe6 };

static bool saves(uint32_t registers)
{
    uint32_t eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return false;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & registers) == registers;
}

bool rp_cpu_has_v3(void)
{
    const uint32_t of_1 = bit_AVX | bit_F16C | bit_FMA | bit_MOVBE,
                   of_7 = bit_AVX2 | bit_BMI | bit_BMI2;
    uint32_t eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & of_1) != of_1)
        return false;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (ebx & of_7) != of_7)
        return false;
    return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & bit_LZCNT) && saves(XCR0_AVX);
}

bool rp_cpu_has_v4(void)
{
    const uint32_t of_7 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    uint32_t eax, ebx, ecx, edx;

    return rp_cpu_has_v3() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (ebx & of_7) == of_7 && saves(XCR0_AVX512);
}
