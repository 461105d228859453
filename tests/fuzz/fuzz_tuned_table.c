/**
 * @file fuzz_tuned_table.c
 * @brief Any bytes as a table of tuned kernels: refused with a reason, or a table that, with its
 * new row, is a table again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/space.h"

#include "fuzz/must.h"

#include "tune/tuned_table.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char shape[] = "gfx=gfx942,cu_num=304,M=16,N=4096,K=512";

static struct rp_space *kernels(void)
{
    static const struct rp_value ids[] = {{.kind = RP_VALUE_INTEGER, .integer = 3},
                                          {.kind = RP_VALUE_INTEGER, .integer = 7}};
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    must(rp_space_add_parameter(space, "kernelId", ids, 2, &err) == 0);
    must(rp_space_add(space, (uint16_t[]){0}, &err) == 0);
    must(rp_space_add(space, (uint16_t[]){1}, &err) == 0);
    return space;
}

static bool parse(struct rp_tuned_table *table, const char *text, size_t bytes,
                  const struct rp_space *space)
{
    struct rp_err err = RP_ERR_INIT;
    int rc;

    table->path = rp_strdup("table.csv");
    rp_buf_add(&table->text, text, bytes);
    rc = tuned_table_parse(table, shape, space, &err);
    must(rc == 0 || err.text[0]);
    return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_space *space = kernels();
    struct rp_tuned_table table = {0}, again = {0};
    rp_autobuf text = {0};

    if (parse(&table, (const char *)data, size, space)) {
        if (table.row)
            take_first(&table, space);
        put_table(&table, space, 1, 2, &text);
        must(parse(&again, rp_buf_text(&text), text.len, space));
        must(again.row && strtod(again.row[find_column(&again, "us")], NULL) == 2);
        take_first(&again, space);
        must(again.first_count == 1 && again.first[0] == 1);
    }
    rp_tuned_table_free(&table);
    rp_tuned_table_free(&again);
    rp_space_free(space);
    return 0;
}
