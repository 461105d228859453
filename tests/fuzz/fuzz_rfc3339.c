/**
 * @file fuzz_rfc3339.c
 * @brief Any bytes as a time of day: refused with a reason, or one that reads back as itself.
 */
#include <stdint.h>
#include <string.h>

#include "analyze/history.h"
#include "base/buf.h"
#include "base/err.h"
#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char first[RP_RFC3339_BYTES], again[RP_RFC3339_BYTES];
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};

    rp_buf_add(&text, data, size);
    if (rp_rfc3339(rp_buf_text(&text), first, &err) < 0) {
        must(err.code == RP_USAGE && strstr(err.text, "use a time"));
        return 0;
    }
    must(strlen(first) == RP_RFC3339_BYTES - 1);
    must(rp_rfc3339(first, again, &err) == 0 && strcmp(first, again) == 0);
    return 0;
}
