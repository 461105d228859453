/* What the model sees of a configuration, and which configurations are next to each other. */
#include "tune/config_features.h"

#include <stdio.h>

#include "base/err.h"
#include "tune/space.h"
#include "unit/tune/made_space.h"

#include "tune/config_features.c"

static const int test_sizes[] = {8, 2, 4}, others[] = {1, 6}, flags[] = {0, 1}, one[] = {5};

static const struct rp_config_feature *find(const struct rp_space_features *features,
                                            enum rp_feature_kind kind, size_t a, size_t b,
                                            size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < features->count; ++*ret_at) {
        const struct rp_config_feature *feature = &features->feature[*ret_at];

        if (feature->kind == kind && feature->a == a && feature->b == b)
            return feature;
    }
    return NULL;
}

static uint16_t test_code(const struct rp_space_features *features, enum rp_feature_kind kind,
                          size_t a, size_t b, size_t config)
{
    uint16_t codes[RP_MAX_FEATURES];
    size_t at;

    assert_non_null(find(features, kind, a, b, &at));
    rp_features_of(features, config, codes);
    assert_true(codes[at] < features->feature[at].levels);
    return codes[at];
}

static void numbers_are_ordered_by_size(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    struct rp_space_features features;
    size_t at;

    (void)state;
    made_parameter(space, "a", test_sizes, 3);
    made_parameter(space, "b", others, 2);
    made_parameter(space, "flag", flags, 2);
    made_parameter(space, "one", one, 1);
    made_product(space); /* a is counted up first: 8 1, 2 1, 4 1, 8 6, 2 6, 4 6, then the flag */
    assert_int_equal(rp_features_new(space, &features, &err), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 0, 0, 0), 3);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 0, 0, 1), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 2, 2, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 2, 2, 6), 2);
    /* products 2 4 8 12 24 48, quotients 1/3 2/3 4/3 2 4 8 */
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 0), 3);
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 3), 6);
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 4), 4);
    assert_int_equal(test_code(&features, RP_FEATURE_QUOTIENT, 0, 1, 4), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_QUOTIENT, 0, 1, 0), 6);
    /* counted from 1: 8 has 3 twos, 6 has one; together with the constant's none */
    assert_int_equal(test_code(&features, RP_FEATURE_TWOS, 0, 0, 0), 4);
    assert_int_equal(test_code(&features, RP_FEATURE_TWOS, 1, 1, 3), 2);
    assert_int_equal(test_code(&features, RP_FEATURE_ALL_TWOS, 0, 0, 3), 6);
    /* a flag has no products, a constant is nothing */
    assert_null(find(&features, RP_FEATURE_PRODUCT, 0, 2, &at));
    assert_null(find(&features, RP_FEATURE_VALUE, 3, 3, &at));
    rp_features_free(&features);
    rp_space_free(space);
}

static void texts_and_conditions_are_questions(void **state)
{
    const struct rp_value texts[] = {{.kind = RP_VALUE_TEXT, .text = "x"},
                                     {.kind = RP_VALUE_TEXT, .text = "y"},
                                     {.kind = RP_VALUE_TEXT, .text = "z"}};
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    struct rp_space_features features;

    (void)state;
    assert_int_equal(rp_space_add_parameter(space, "text", texts, 3, &err), 0);
    made_parameter(space, "size", test_sizes, 3);
    made_row(space, (uint16_t[]){0, 0});
    made_row(space, (uint16_t[]){2, RP_NO_VALUE});
    assert_int_equal(rp_features_new(space, &features, &err), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 0, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 0, 1), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 2, 1), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_PRESENT, 1, 3, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_PRESENT, 1, 3, 1), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 1, 1, 1), 0);
    rp_features_free(&features);
    rp_space_free(space);
}

static void nothing_to_see(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    struct rp_space_features features;

    (void)state;
    made_parameter(space, "one", one, 1);
    made_product(space);
    assert_int_equal(rp_features_new(space, &features, &err), 0);
    assert_int_equal(features.count, 0);
    rp_features_of(&features, 0, NULL);
    rp_features_free(&features);
    rp_space_free(space);
}

static void many_parameters_have_as_many_features_as_there_is_room_for(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    struct rp_space_features features;
    uint16_t codes[RP_MAX_FEATURES], row[RP_MAX_PARAMETERS] = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < RP_MAX_PARAMETERS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        made_parameter(space, name, test_sizes, 3);
    }
    for (uint16_t i = 0; i < 3; i++) {
        row[255] = i;
        made_row(space, row);
    }
    assert_int_equal(rp_features_new(space, &features, &err), 0);
    assert_true(features.count <= RP_MAX_FEATURES && features.count > 500);
    rp_features_of(&features, 2, codes);
    rp_features_free(&features);
    rp_space_free(space);
}

static void neighbours_differ_in_one_parameter(void **state)
{
    struct rp_neighbours neighbours = {0};
    struct rp_space *space = rp_space_new();

    (void)state;
    made_parameter(space, "a", test_sizes, 3);
    made_parameter(space, "b", others, 2);
    made_row(space, (uint16_t[]){0, 0});
    made_row(space, (uint16_t[]){1, 0});
    made_row(space, (uint16_t[]){2, 0});
    made_row(space, (uint16_t[]){1, 1});
    rp_neighbours_of(space, 0, &neighbours);
    assert_int_equal(neighbours.count, 2);
    assert_int_equal(neighbours.configs[0], 1);
    assert_int_equal(neighbours.configs[1], 2);
    rp_neighbours_of(space, 1, &neighbours);
    assert_int_equal(neighbours.count, 3);
    rp_neighbours_of(space, 3, &neighbours);
    assert_int_equal(neighbours.count, 1);
    rp_neighbours_free(&neighbours);
    rp_space_free(space);
}

/** b has a value only where the flag is set: the flag's neighbours are those with any b. */
static void conditions_follow_their_neighbours(void **state)
{
    struct rp_neighbours neighbours = {0};
    struct rp_space *space = rp_space_new();

    (void)state;
    made_parameter(space, "flag", flags, 2);
    made_parameter(space, "b", test_sizes, 3);
    made_row(space, (uint16_t[]){0, RP_NO_VALUE});
    made_row(space, (uint16_t[]){1, 0});
    made_row(space, (uint16_t[]){1, 1});
    made_row(space, (uint16_t[]){1, 2});
    rp_neighbours_of(space, 0, &neighbours);
    assert_int_equal(neighbours.count, 3);
    rp_neighbours_of(space, 2, &neighbours);
    assert_int_equal(neighbours.count, 3);
    rp_neighbours_free(&neighbours);
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_ordered_by_size),
        cmocka_unit_test(texts_and_conditions_are_questions),
        cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(many_parameters_have_as_many_features_as_there_is_room_for),
        cmocka_unit_test(neighbours_differ_in_one_parameter),
        cmocka_unit_test(conditions_follow_their_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
