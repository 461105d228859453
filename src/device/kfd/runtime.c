#include "runtime.h"

#include <dlfcn.h>
#include <stddef.h>

void *rp_runtime_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found)
        return found;
    void *runtime = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!runtime)
        return NULL;
    found = dlsym(runtime, name);
    dlclose(runtime); /* the program's own reference keeps it */
    return found;
}

enum { SYSTEM_INFO_TIMESTAMP_FREQUENCY = 3 }; /* of hsa_system_get_info, hsa.h */

uint64_t rp_runtime_hz(void)
{
    static uint64_t known;
    uint64_t hz = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (hz)
        return hz;
    union {
        void *data;
        int (*call)(int attribute, void *value);
    } get = {.data = rp_runtime_function("hsa_system_get_info")};
    if (!get.data || get.call(SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz) != 0)
        return 0;
    __atomic_store_n(&known, hz, __ATOMIC_RELAXED);
    return hz;
}
