#include "runtime.h"

#include <dlfcn.h>
#include <stddef.h>

/* Of a library that is loaded; it is not among those that come next if it was loaded by dlopen().
 */
static void *function_of(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void *found = loaded ? dlsym(loaded, name) : NULL;
    if (loaded)
        dlclose(loaded); /* the program's own reference keeps it */
    return found;
}

void *rp_runtime_function(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : function_of("libhsa-runtime64.so.1", name);
}

void *rp_hip_function(const char *name)
{
    static const char *const libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                            "libamdhip64.so"};
    void *found = dlsym(RTLD_NEXT, name);
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries && !found; i++)
        found = function_of(libraries[i], name);
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
