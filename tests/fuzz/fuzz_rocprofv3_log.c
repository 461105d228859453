/* What rocprofv3 and the program wrote on standard error: any bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/rocprofv3_messages.h"

#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages verdict = {0};
    rp_autofree char *text = malloc(size + 1);

    if (!text)
        return 0;
    for (size_t i = 0; i < size; i++)
        text[i] = data[i] ? (char)data[i] : ' ';
    text[size] = '\0';
    rp_rocprofv3_read_messages(text, size & 1, NULL, &verdict);
    must(!verdict.remedy || verdict.fatal);
    must(!verdict.too_much || verdict.fatal);
    rp_rocprofv3_hides_line((const char *)data, size);
    return 0;
}
