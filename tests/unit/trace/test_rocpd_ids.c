/* The small parts: id sets, bounded text. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/intern.h"

#include <stdio.h>
#include <string.h>

#include "trace/rocpd_write.c"

static void test_idset(void **state)
{
    struct rp_idset set = {0};
    rp_autofree int64_t *missing = NULL;
    size_t count;

    (void)state;
    assert_false(rp_idset_has(&set, 5));
    for (int64_t i = 0; i < 500; i++)
        assert_true(rp_idset_refer(&set, i * 0x100000001));
    for (int64_t i = 0; i < 500; i++)
        if (i % 100 != 7)
            assert_true(rp_idset_put(&set, i * 0x100000001));
    assert_true(rp_idset_put(&set, INT64_MAX));
    assert_true(rp_idset_has(&set, INT64_MAX));
    assert_false(rp_idset_has(&set, 7 * 0x100000001));
    missing = rp_idset_missing(&set, &count);
    assert_int_equal(count, 5);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(missing[i], (100 * i + 7) * 0x100000001);
    rp_idset_free(&set);
}

static void test_text(void **state)
{
    struct rp_string_pool text = {.limit_bytes = 1 << 20};
    rp_autofree char *big = calloc(1, 300000);
    const char *first;

    (void)state;
    first = rp_string_pool_add(&text, "one", 3);
    assert_string_equal(rp_string_pool_add(&text, "cut\0off", 7), "cut");
    assert_string_equal(rp_string_pool_add(&text, "x\xff", 2), "x\xef\xbf\xbd");
    memset(big, 'a', 300000);
    for (int i = 0; i < 3; i++) {
        big[0] = (char)('b' + i);
        assert_non_null(rp_string_pool_add(&text, big, 300000));
    }
    big[0] = 'e';
    assert_null(rp_string_pool_add(&text, big, 300000));
    assert_ptr_equal(rp_string_pool_add(&text, "one", 3), first); /* once is enough */
    assert_string_equal(first, "one");
    rp_string_pool_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idset),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests_name("store text", tests, NULL, NULL);
}
