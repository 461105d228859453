/**
 * @file fuzz_triton_configs.c
 * @brief Any bytes as a Python file with triton.Config: refused with a reason, or a list that can
 * be written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/bridge.h"
#include "tune/space.h"

#include "fuzz/must.h"

#include "tune/space_file.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What is written of a configuration is read as that configuration. */
static void check_again(const struct rp_space *space, size_t config)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    json_t *list;
    size_t values = 0;

    rp_triton_put(space, config, &text);
    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        values += value != NULL;
        if (value && value->kind == RP_VALUE_TEXT && strpbrk(value->text, "\t\r\n\v\f"))
            return; /* Python reads such escapes, and we do not. */
        for (const char *c = value && value->kind == RP_VALUE_TEXT ? value->text : ""; *c; c++)
            if ((unsigned char)*c < ' ')
                return;
    }
    must(rp_triton_parse(rp_buf_text(&text), text.len, 0, &list, &err) == 0);
    must(json_array_size(list) == 1 && json_object_size(json_array_get(list, 0)) == values);
    json_decref(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned long at = size ? data[0] % 8 : 0;
    struct rp_err err = RP_ERR_INIT;
    struct rp_space *space = rp_space_new();
    json_t *list;

    if (size && rp_triton_parse((const char *)data + 1, size - 1, at, &list, &err) == 0) {
        must(json_array_size(list) > 0);
        if (read_list(list, space, &err) == 0)
            check_again(space, 0);
        json_decref(list);
    } else {
        must(!size || (err.code == RP_BAD_INPUT && err.text[0]));
    }
    rp_space_free(space);
    return 0;
}
