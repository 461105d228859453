/**
 * @file test_atomics.c
 * @brief What may change of what atomics do, and what may not.
 */
#include "replay/atomic_changes.h"
#include "unit/cmocka_all.h"

enum { AT = 0x1000 };

/** Compares what two kernels did at one address, or more. @return why the other is wrong, or NULL
 */
static const char *change_of(struct rp_check_update *a, size_t a_count, struct rp_check_update *b,
                             size_t b_count)
{
    struct rp_updates base = {.at = a, .count = a_count};
    struct rp_updates other = {.at = b, .count = b_count};
    struct rp_update_change change;

    rp_updates_compare(&base, &other, &change);
    assert_int_equal(change.addresses != 0, change.why != NULL);
    return change.why;
}

static struct rp_check_update adds(uint64_t sum, uint64_t count)
{
    return (struct rp_check_update){
        .address = AT, .what = RP_CHECK_ADDS, .count = count, .sum = sum, .narrow = true};
}

static void test_sums(void **state)
{
    struct rp_check_update a = adds(24, 24), merged = adds(24, 3), less = adds(23, 23);
    struct rp_check_update exchange = {
        .address = AT, .what = RP_CHECK_REPLACES, .count = 30, .draws = 30, .narrow = true};

    (void)state;
    assert_null(change_of(&a, 1, &merged, 1));
    assert_non_null(change_of(&a, 1, &less, 1));
    /* One owner for each place needs none; several without any are a race. */
    assert_null(change_of(&a, 1, NULL, 0));
    a.narrow = false;
    assert_non_null(change_of(&a, 1, NULL, 0));
    a.narrow = true;
    assert_null(change_of(&a, 1, &exchange, 1));
    assert_null(change_of(NULL, 0, &a, 1));
    /* A ticket may be drawn several at a time, but not by a load and a store. */
    a.draws = less.draws = 24;
    assert_null(change_of(&a, 1, &less, 1));
    assert_non_null(change_of(&a, 1, NULL, 0));
}

static void test_floats(void **state)
{
    struct rp_check_update a = {
        .address = AT, .what = RP_CHECK_ADDS_FLOATS, .count = 9, .total = 1, .size = 100};
    struct rp_check_update near = a, far = a;

    (void)state;
    near.total = 1.9;
    far.total = 2.1;
    assert_null(change_of(&a, 1, &near, 1));
    assert_non_null(change_of(&a, 1, &far, 1));
}

static void test_scope_and_order(void **state)
{
    struct rp_check_update a = adds(4, 4), b = adds(4, 4);

    (void)state;
    a.narrow = false;
    assert_non_null(change_of(&a, 1, &b, 1));
    assert_null(change_of(&b, 1, &a, 1));
    a = b;
    a.ordered = b.unordered = true;
    assert_non_null(change_of(&a, 1, &b, 1));
    a.unordered = true; /* Not all of the base's were, so that nobody relies on it. */
    assert_null(change_of(&a, 1, &b, 1));
}

static void test_addresses(void **state)
{
    struct rp_check_update a[3] = {adds(1, 1), adds(2, 1), adds(3, 1)}, b[2];
    struct rp_updates base = {.at = a, .count = 3}, other = {.at = b, .count = 2};
    struct rp_update_change change;

    (void)state;
    a[1].address += 4;
    a[1].draws = 1;
    a[2].address += 8;
    b[0] = a[0];
    b[1] = a[2];
    b[1].sum = 4;
    rp_updates_compare(&base, &other, &change);
    assert_int_equal(change.addresses, 2);
    assert_int_equal(change.address, AT + 4);
}

/** What is a variable of a code object has another address in each. */
static void test_variables(void **state)
{
    struct rp_check_update a = adds(3, 3), b = a;
    struct rp_updates base = {.at = &a, .count = 1}, other = {.at = &b, .count = 1};
    struct rp_update_change change;

    (void)state;
    a.draws = b.draws = 3;
    b.address = 0x9000;
    rp_updates_compare(&base, &other, &change);
    assert_int_equal(change.addresses, 1);
    rp_updates_move(&other, 0x9001, 8, AT);
    assert_int_equal(b.address, 0x9000);
    rp_updates_move(&other, 0x8ff8, 16, AT - 8);
    rp_updates_compare(&base, &other, &change);
    assert_int_equal(change.addresses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_scope_and_order),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_variables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
