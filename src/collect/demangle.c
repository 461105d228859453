/**
 * @file demangle.c
 * @brief Kernel symbol -> name for people.
 *
 * libstdc++ is loaded rather than linked: C programs need no C++ runtime for anything else, and
 * every Debian has it (apt is written in C++).
 */
#include "collect/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

typedef char *(*cxa_demangle)(const char *mangled, char *buffer, size_t *length, int *ret_status);

/* The library stays loaded: dlopen counts, and the demangler keeps no state. */
static cxa_demangle find_demangler(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    return library ? (cxa_demangle)dlsym(library, "__cxa_demangle") : NULL;
}

char *rp_demangle_kernel(const char *symbol)
{
    size_t length = strlen(symbol);
    rp_autofree char *name = NULL;
    cxa_demangle demangle;
    char *plain;
    int status = -1;

    if (length > 3 && strcmp(symbol + length - 3, ".kd") == 0)
        length -= 3;
    name = strndup(symbol, length);
    if (!name || strncmp(name, "_Z", 2) != 0)
        return rp_steal(name);
    demangle = find_demangler();
    plain = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return status == 0 && plain ? plain : rp_steal(name);
}
