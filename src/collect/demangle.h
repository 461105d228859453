/**
 * @file demangle.h
 * @brief Kernel symbol -> name for people.
 */
#ifndef RP_COLLECT_DEMANGLE_H
#define RP_COLLECT_DEMANGLE_H

/**
 * Drops ".kd" and demangles C++ names: "_Z3addPf.kd" -> "add(float*)". The demangler is the one of
 * the C++ runtime, loaded when first needed; without it, and for names it does not know, the
 * mangled name comes back.
 * @return owned by the caller (free); NULL when out of memory
 */
char *rp_demangle_kernel(const char *symbol);

#endif
