#include "base/schema_version.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"

int rp_schema_version_check(const char *version, const char *path, struct rp_err *err)
{
    size_t digits;

    if (!version)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s has no schema_version: it is no result of rocm-perf, or was changed; "
                       "make it again",
                       path);
    digits = strncmp(version, "1.", 2) == 0 ? strspn(version + 2, "0123456789") : 0;
    if (digits && !version[2 + digits])
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "%s is of schema_version %.20s, and this rocm-perf reads 1.x: use the one that "
                   "wrote it, or make the result again",
                   path, version);
}
