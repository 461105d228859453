#include "replay/bundle.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

/* Clang documentation, "Offload bundler", binary layout: the magic, the number of entries, and for
 * each offset, size, and length of its name, which follows. Little endian. */
static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
static const char packed_magic[] = "CCOB";
enum { MAGIC_BYTES = sizeof magic - 1, ENTRY_BYTES = 24 };

/* "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" is for gfx942. */
static bool is_for(const char *name, uint64_t bytes, const char *gpu)
{
    const size_t length = strlen(gpu);

    for (uint64_t i = 0; i + length + 1 <= bytes; i++)
        if (name[i] == '-' && memcmp(name + i + 1, gpu, length) == 0 &&
            (i + 1 + length == bytes || name[i + 1 + length] == ':'))
            return true;
    return false;
}

int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err)
{
    uint64_t count, at = MAGIC_BYTES + sizeof count;

    if (bytes >= 4 && memcmp(file, packed_magic, 4) == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "it is a compressed bundle: make it with --no-offload-compress");
    if (bytes < at || memcmp(file, magic, MAGIC_BYTES) != 0) {
        *ret = file;
        *ret_bytes = bytes;
        return 0;
    }
    memcpy(&count, file + MAGIC_BYTES, sizeof count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry[3];

        if (bytes - at < ENTRY_BYTES)
            break;
        memcpy(entry, file + at, ENTRY_BYTES);
        at += ENTRY_BYTES;
        if (entry[2] > bytes - at || entry[0] > bytes || entry[1] > bytes - entry[0])
            break;
        if (entry[1] && is_for((const char *)file + at, entry[2], gpu)) {
            *ret = file + entry[0];
            *ret_bytes = entry[1];
            return 0;
        }
        at += entry[2];
        if (i + 1 == count)
            return rp_fail(err, RP_VERDICT, "it has no code for %s", gpu);
    }
    return rp_fail(err, RP_BAD_INPUT, "it is a damaged bundle of code objects");
}
