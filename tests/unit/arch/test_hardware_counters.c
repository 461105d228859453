/* The table of the software device's counters: what is found by which name, and its documentation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"

enum { PAGE_BYTES = 1 << 18 };

static char page[PAGE_BYTES];

static void read_page(void)
{
    FILE *file = fopen(RP_DOCS "/counters.md", "r");

    assert_non_null(file);
    const size_t bytes = fread(page, 1, PAGE_BYTES - 1, file);
    fclose(file);
    assert_true(bytes > 0 && bytes < PAGE_BYTES - 1);
    page[bytes] = '\0';
}

static const char *after(const char *from, const char *what)
{
    const char *at = strstr(from, what);
    return at ? at + strlen(what) : NULL;
}

/* How many rows of this kind the page has. */
static size_t rows_of_kind(const char *kind)
{
    char cell[32];
    size_t count = 0;

    snprintf(cell, sizeof cell, "` | %s | ", kind);
    for (const char *at = after(page, cell); at; at = after(at, cell))
        count++;
    return count;
}

static bool is_refused(const struct rp_device_counter_row *row)
{
    char wanted[512];

    snprintf(wanted, sizeof wanted, "\n| %s | ", row->text);
    const char *names = after(page, wanted), *end = names ? strchr(names, '\n') : NULL;
    snprintf(wanted, sizeof wanted, "`%s`", row->name);
    const char *name = names ? strstr(names, wanted) : NULL;
    return name && end && name < end;
}

/* Each counter once, with its kind and what it counts, and each refused one behind its reason. */
static void docs_have_every_counter(void **state)
{
    size_t count, of_kind[RP_COUNTER_WAVES + 1] = {0};
    const struct rp_device_counter_row *rows = rp_device_counter_rows(&count);
    char wanted[512];

    (void)state;
    read_page();
    for (size_t i = 0; i < count; i++) {
        of_kind[rows[i].kind]++;
        if (rows[i].kind == RP_COUNTER_NONE) {
            if (!is_refused(&rows[i]))
                fail_msg("docs/counters.md: %s is not refused there", rows[i].name);
            continue;
        }
        snprintf(wanted, sizeof wanted, "\n| `%s` | %s | %s |\n", rows[i].name,
                 rp_device_counter_kind_name(rows[i].kind), rows[i].text);
        if (!strstr(page, wanted))
            fail_msg("docs/counters.md lacks: %s", wanted + 1);
    }
    for (unsigned kind = RP_COUNTER_EXACT; kind <= RP_COUNTER_WAVES; kind++) /* nor others */
        assert_int_equal(rows_of_kind(rp_device_counter_kind_name(kind)), of_kind[kind]);
}

/* Two rows of one name would be one counter with two meanings. */
static void names_are_unique(void **state)
{
    size_t count;
    const struct rp_device_counter_row *rows = rp_device_counter_rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(rp_device_counter_find(rows[i].name), &rows[i]);
}

static void instances_add_up(void **state)
{
    (void)state;
    assert_ptr_equal(rp_device_counter_find("TA_TA_BUSY_sum"),
                     rp_device_counter_find("TA_TA_BUSY"));
    assert_ptr_equal(rp_device_counter_find("TCC_EA_RDREQ_LEVEL_sum"),
                     rp_device_counter_find("TCC_EA0_RDREQ_LEVEL"));
    assert_null(rp_device_counter_find("SPI_CSN_BUSY_sum")); /* rocprofv3 has no such name */
    assert_null(rp_device_counter_find("TCC_BUSY_avr"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docs_have_every_counter),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(instances_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
