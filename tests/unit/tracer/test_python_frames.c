/**
 * @file test_python_frames.c
 * @brief Lines of Python code from CPython's tables; and that what is no table has none.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/cmocka_all.h"

#include "tracer/python_frames.c"

/* Up to which code unit a line goes; 0: code without one. */
struct span {
    uint64_t end;
    uint32_t line;
};

/* Of two functions, as co_linetable and co_lines() of 3.10.13 and 3.13.0 have them: one has lines
 * that are far from each other, the other one goes back and forth. */
static const uint8_t far_pairs_table[] = {8, 1, 0, 127, 8, 74, 4, 41, 12, 1, 4, 255};
static const struct span far_pairs[] = {{4, 2}, {8, 203}, {10, 244}, {16, 245}, {18, 244}};
static const uint8_t near_pairs_table[] = {6, 1,   4,  2, 6, 1, 4, 2,   2, 1, 2, 255,
                                           6, 254, 14, 4, 2, 1, 6, 255, 2, 3, 2, 255};
static const struct span near_pairs[] = {{3, 2},  {5, 4},  {8, 5},   {10, 7}, {11, 8},  {12, 7},
                                         {15, 5}, {22, 9}, {23, 10}, {26, 9}, {27, 12}, {28, 11}};
static const uint8_t far_entries_table[] = {128, 0,   216, 4,   5, 135, 71,  129, 71,  132, 73,
                                            240, 82,  6,   0,   5, 6,   135, 72,  129, 72,  132,
                                            74,  246, 82,  1,   0, 8,   9,   216, 8,   9,   143,
                                            7,   137, 7,   141, 9, 240, 3,   0,   8,   9};
static const struct span far_entries[] = {{1, 1},    {17, 2},   {33, 203},
                                          {40, 244}, {57, 245}, {58, 244}};
static const uint8_t near_entries_table[] = {
    128, 0,   216, 8,   9,  143, 3,   137, 3,   128, 65,  230, 7,  8,   241, 6,   0,   17,
    18,  144, 33,  216, 18, 19,  244, 3,   1,   17,  21,  243, 5,  3,   16,  22,  241, 4,
    1,   17,  21,  240, 3,  0,   21,  22,  243, 3,   0,   17,  18, 241, 4,   1,   17,  21,
    241, 5,   3,   16,  22, 240, 0,   3,   9,   22,  244, 8,   0,  14,  19,  144, 51,  142,
    90,  136, 1,   216, 6,  7,   241, 3,   1,   31,  8,   154, 17, 137, 90,  240, 6,   0,
    9,   10,  240, 3,   1,  5,   11,  249, 242, 13,  3,   16,  22};
static const struct span near_entries[] = {
    {1, 1},  {13, 2}, {20, 4}, {23, 7},  {24, 8}, {29, 7},  {33, 5},  {35, 7}, {36, 6}, {40, 5},
    {42, 7}, {45, 5}, {59, 9}, {60, 10}, {67, 9}, {68, 12}, {69, 11}, {71, 0}, {74, 5}};

typedef uint32_t line_fn(const uint8_t *table, size_t bytes, uint32_t line, uint64_t unit);

static void check(line_fn *line, const uint8_t *table, size_t bytes, const struct span *spans,
                  size_t count)
{
    uint64_t unit = 0;

    for (size_t i = 0; i < count; i++)
        for (; unit < spans[i].end; unit++)
            assert_int_equal(line(table, bytes, 1, unit), spans[i].line);
    assert_int_equal(line(table, bytes, 1, unit), 0);
    for (size_t cut = 0; cut < bytes; cut++) { /* as exact copies: ASan watches their ends */
        uint8_t *copy = malloc(cut + !cut);

        memcpy(copy, table, cut);
        line(copy, cut, 1, unit);
        free(copy);
    }
}

#define CHECK(line, name)                                                                          \
    check(line, name##_table, sizeof(name##_table), name, sizeof(name) / sizeof(*(name)))

static void lines_of_3_10(void **state)
{
    (void)state;
    CHECK(find_in_pairs, far_pairs);
    CHECK(find_in_pairs, near_pairs);
}

static void lines_from_3_11_on(void **state)
{
    (void)state;
    CHECK(find_in_entries, far_entries);
    CHECK(find_in_entries, near_entries);
}

/* This program has no Python, and an address where nothing is does no harm. */
static void nothing_is_found_where_nothing_is(void **state)
{
    const struct rp_python_frame frame = {.code = 0x1000, .instruction = 0x2000};
    struct rp_python_frame frames[RP_PYTHON_FRAMES];
    struct rp_python_place place;
    struct rp_python python = {0};

    (void)state;
    rp_python_find(&python);
    assert_null(python.layout);
    assert_int_equal(rp_python_walk(&python, frames), 0);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
        python.layout = &layouts[i];
        python.bytes_type = python.text_type = 0x3000;
        assert_false(rp_python_describe(&python, &frame, &place));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_3_10),
        cmocka_unit_test(lines_from_3_11_on),
        cmocka_unit_test(nothing_is_found_where_nothing_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
