/**
 * @file test_call_sites.c
 * @brief Places of calls are numbered; when there are too many with Python frames, those without
 *        are still known.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/cmocka_all.h"

#include "tracer/call_sites.c"

static struct rp_tool tool;

/* A stack without native frames to look up, which are not what is tested here. */
static struct stack stack_of(uintptr_t native, uint64_t python)
{
    return (struct stack){.frames = {.native = {native}, .python = python}};
}

static uint32_t find(uintptr_t native, uint64_t python)
{
    const struct stack stack = stack_of(native, python);

    return find_some(&tool, &stack);
}

static int begin(void **state)
{
    (void)state;
    free(tool.hip.sites.list);
    memset(&tool, 0, sizeof tool);
    tool.trace.discards = true;
    return 0;
}

static void places_keep_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(find(1, 0), 1);
    assert_int_equal(find(1, 7), 2);
    assert_int_equal(find(2, 7), 3);
    assert_int_equal(find(1, 7), 2);
    assert_int_equal(find(1, 0), 1);
}

static void native_places_outlast_those_with_python_frames(void **state)
{
    uint32_t native;

    (void)state;
    for (uint64_t i = 1; i <= MOST_PYTHON_SITES; i++)
        assert_int_equal(find(1, i), i);
    native = find(1, MOST_PYTHON_SITES + 1);
    assert_int_equal(native, MOST_PYTHON_SITES + 1);
    assert_int_equal(find(1, MOST_PYTHON_SITES + 2), native);
    assert_int_equal(find(2, MOST_PYTHON_SITES + 2), native + 1);
    assert_int_equal(find(1, 0), native);
    assert_int_equal(find(1, 5), 5); /* Those that are known stay known. */
    for (uintptr_t i = 3; tool.hip.sites.count < MOST_SITES; i++)
        assert_int_not_equal(find(i, i), 0);
    assert_int_equal(find(1 << 20, 0), 0);
    assert_int_equal(find(1 << 20, 1 << 20), 0);
    assert_int_equal(find(2, 1 << 20), native + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(places_keep_their_numbers, begin, begin),
        cmocka_unit_test_setup_teardown(native_places_outlast_those_with_python_frames, begin,
                                        begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
