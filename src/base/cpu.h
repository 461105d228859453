/**
 * @file cpu.h
 * @brief What the CPU of this process can do. __builtin_cpu_supports is no answer: it does not know
 * all parts of the levels under every compiler, and says no to all of them where zig links it.
 */
#ifndef RP_BASE_CPU_H
#define RP_BASE_CPU_H

#include <stdbool.h>

/** Says whether the CPU and the kernel have all of the levels x86-64-v3 and -v4 of the x86-64
 * psABI. CPUID is slow under a hypervisor: ask once. */
bool rp_cpu_has_v3(void);
bool rp_cpu_has_v4(void);

#endif
