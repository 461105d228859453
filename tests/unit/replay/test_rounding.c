/* Sums in another order: by hand, and sums of the host in both orders. */
#include <math.h>

#include "unit/cmocka_all.h"

#include "replay/argument_types.h"
#include "replay/rounding_bound.c"

enum { TERMS = 100, SUMS = RP_PAGE_BYTES / 4 };

static uint32_t as_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void inputs_are_doubled_or_made_positive(void **state)
{
    (void)state;
    assert_int_equal(changed_number(RP_F32, true, as_bits(-1.5F)), as_bits(-3.0F));
    assert_int_equal(changed_number(RP_F32, true, as_bits(0.0F)), as_bits(0.0F));
    assert_int_equal(changed_number(RP_F32, true, as_bits(INFINITY)), as_bits(INFINITY));
    assert_int_equal(changed_number(RP_F32, false, as_bits(-1.5F)), as_bits(1.5F));
    assert_int_equal(changed_number(RP_F16, false, 0xbc00), 0x3c00);
    assert_int_equal(changed_number(RP_F64, true, 0x3ff0000000000000), 0x4000000000000000);
}

static int degree_of(const double (*pairs)[2], size_t count)
{
    struct look look = {.degree = -1};

    for (size_t i = 0; i < count; i++)
        note_degree(&look, pairs[i][0], pairs[i][1]);
    return look.odd ? -2 : look.degree;
}

static void only_sums_of_products_have_a_degree(void **state)
{
    static const double products[][2] = {{0, 0}, {3, 12}, {-5, -20}}, norms[][2] = {{0.5, 0.5}},
                        mixed[][2] = {{3, 12}, {1, 2}}, others[][2] = {{3, 5}},
                        from_0[][2] = {{1, 2}, {0, 1}};

    (void)state;
    assert_int_equal(degree_of(products, 3), 2);
    assert_int_equal(degree_of(norms, 1), 0);
    assert_int_equal(degree_of(mixed, 2), -2);
    assert_int_equal(degree_of(others, 1), -2);
    assert_int_equal(degree_of(from_0, 2), -2);
}

/* Terms of both signs, of which little is left. */
static float term(unsigned sum, unsigned i)
{
    const float value = (float)((sum * 7919 + i * 104729) % 1000003) / 1000.0F;

    return i % 2 ? -value : value;
}

struct sums {
    float one[SUMS], two[SUMS], half[SUMS], sizes[SUMS];
};

static void add_up(struct sums *s)
{
    for (unsigned sum = 0; sum < SUMS; sum++) {
        volatile float even = 0, odd = 0;

        s->one[sum] = s->half[sum] = s->sizes[sum] = 0;
        for (unsigned i = 0; i < TERMS; i++) {
            const uint32_t rounded = as_bits(term(sum, i)) & 0xffff0000;
            float coarse;

            memcpy(&coarse, &rounded, sizeof coarse);
            s->one[sum] += term(sum, i);
            s->half[sum] += coarse;
            s->sizes[sum] += fabsf(term(sum, i));
            if (i % 2)
                odd += term(sum, i);
            else
                even += term(sum, i);
        }
        s->two[sum] = even + odd;
    }
}

static size_t bad_of(struct rp_rounding_bound *bound, const float *got, const float *expected)
{
    uint64_t bad[RP_PAGE_MASKS];
    size_t count = 0;

    rp_compare_words(&rp_exact, (const uint8_t *)got, (const uint8_t *)expected, RP_PAGE_BYTES,
                     bad);
    rp_rounding_bound_allow(bound, RP_BOUND_CAPTURED, (struct rp_page_key){3, 5},
                            (const uint8_t *)got, (const uint8_t *)expected, bad);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        count += (size_t)__builtin_popcountll(bad[i]);
    return count;
}

static void another_order_is_near_and_fewer_digits_are_not(void **state)
{
    static struct sums sums;
    struct rp_rounding_bound bound = {.wanted = true, .inputs = RP_BOUND_CAPTURED};
    struct rp_bound_page *page = rp_vec_add(&bound.pages);

    (void)state;
    add_up(&sums);
    page->key = (struct rp_page_key){3, 5};
    page->type = RP_F32;
    memcpy(page->sizes, sums.sizes, RP_PAGE_BYTES);
    assert_memory_not_equal(sums.one, sums.two, RP_PAGE_BYTES);
    assert_int_equal(bad_of(&bound, sums.two, sums.one), 0);
    assert_true(bound.words > 0 && bound.largest > 0 && bound.largest <= bound.allowed);
    assert_true(bad_of(&bound, sums.half, sums.one) > SUMS / 2);
    sums.two[9] = NAN;
    assert_int_equal(bad_of(&bound, sums.two, sums.one), 1);
    bound.inputs = 0; /* of other inputs */
    assert_true(bad_of(&bound, sums.two, sums.one) > 1);
    rp_vec_free(&bound.pages);
}

/* Results that are all off to one side have lost digits, and were not added up in another order. */
static void digits_that_are_dropped_are_wrong(void **state)
{
    static struct sums sums;
    struct rp_rounding_bound bound = {.wanted = true, .inputs = RP_VARY_NUMBERS};
    struct rp_bound_page *page = rp_vec_add(&bound.pages);
    uint64_t bad[RP_PAGE_MASKS];
    size_t count = 0;

    (void)state;
    add_up(&sums);
    page->key = (struct rp_page_key){3, 5};
    page->type = RP_F32;
    memcpy(page->sizes, sums.sizes, RP_PAGE_BYTES);
    for (unsigned way = 0; way < 2; way++) {
        const float *got = way ? sums.half : sums.two;

        for (unsigned sum = 0; way && sum < SUMS; sum++) {
            const uint32_t bits = as_bits(sums.one[sum]) & ~1u;

            memcpy(&sums.half[sum], &bits, sizeof bits);
        }
        rp_compare_words(&rp_exact, (const uint8_t *)got, (const uint8_t *)sums.one, RP_PAGE_BYTES,
                         bad);
        rp_rounding_bound_allow(&bound, RP_VARY_NUMBERS, page->key, (const uint8_t *)got,
                                (const uint8_t *)sums.one, bad);
        count = 0;
        for (size_t i = 0; i < RP_PAGE_MASKS; i++)
            count += (size_t)__builtin_popcountll(bad[i]);
        assert_true(way ? count > SUMS / 4 : count == 0);
    }
    rp_vec_free(&bound.pages);
}

/* What a kernel gives for inputs that are moved by some units, at each level. */
static struct rp_rounding_noise noise_of(float (*kernel)(const float *inputs, unsigned i))
{
    static float inputs[SUMS], moved[SUMS], results[SUMS], others[SUMS];
    uint64_t words[RP_PAGE_MASKS];
    struct rp_rounding_noise noise;

    memset(words, 0xff, sizeof words);
    for (unsigned i = 0; i < SUMS; i++)
        inputs[i] = 1 + (float)(rp_mix64(i) % 1000003) / 1000003;
    for (unsigned i = 0; i < SUMS; i++)
        results[i] = kernel(inputs, i);
    for (unsigned level = 0; level < RP_NOISE_LEVELS; level++) {
        memcpy(moved, inputs, sizeof moved);
        assert_int_equal(rp_noise_move(RP_F32, level, 9, sizeof moved, (uint8_t *)moved), SUMS);
        for (unsigned i = 0; i < SUMS; i++)
            others[i] = kernel(moved, i);
        rp_noise_note(RP_F32, level, words, (const uint8_t *)others, (const uint8_t *)results,
                      &noise);
    }
    return noise;
}

static float normalised(const float *inputs, unsigned i)
{
    float squares = 0;

    for (unsigned k = 0; k < SUMS; k++)
        squares += inputs[k] * inputs[k];
    return inputs[i] / sqrtf(squares / SUMS + 1e-5F);
}

static float exponential(const float *inputs, unsigned i)
{
    return expf(30 * inputs[i]);
}

static float rounded(const float *inputs, unsigned i)
{
    return rintf(10000 * inputs[i]);
}

static float counted(const float *inputs, unsigned i)
{
    return inputs[i] > 1.5F ? 1 : 2;
}

/* Rows with a mask, and elements of which nothing is left. */
static float masked(const float *inputs, unsigned i)
{
    return i % 4 == 3 ? -1e9F : tanhf(inputs[i]);
}

/* Rounding of inputs is what norms and exponentials may be off by; what takes steps has to be
 * equal, but for its own last digits. */
static void noise_is_what_the_last_digits_of_inputs_make(void **state)
{
    struct rp_rounding_noise noise = noise_of(normalised);
    const double unit = ldexp(1, -23);

    (void)state;
    assert_true(noise.moved > 0);
    assert_true(rp_noise_allowed(RP_F32, &noise, 1) > 4 * unit);
    assert_true(rp_noise_allowed(RP_F32, &noise, 1) < 32 * unit);
    noise = noise_of(exponential); /* 30 to 60 units for one */
    assert_true(noise.moved > 0);
    assert_true(rp_noise_allowed(RP_F32, &noise, 1e26) > 100 * unit * 1e26);
    assert_true(rp_noise_allowed(RP_F32, &noise, 1e26) < 2000 * unit * 1e26);
    noise = noise_of(rounded); /* in steps of 1, which the largest move makes many of */
    assert_true(rp_noise_allowed(RP_F32, &noise, 15000) < 0.1);
    noise = noise_of(counted);
    assert_true(noise.moved == 0);
    assert_true(rp_noise_allowed(RP_F32, &noise, 2) < 1e-4);
    noise = noise_of(masked); /* A mask says nothing about the results beside it. */
    assert_true(noise.moved > 0);
    assert_true(rp_noise_allowed(RP_F32, &noise, 0.8) < 64 * unit);
    assert_true(rp_noise_allowed(RP_F32, &noise, 1e9) < 16 * unit * 1e9);
}

/* Doubles beyond all classes have their own unit, and nothing beside them has more for it. */
static void large_doubles_are_off_by_their_own_units(void **state)
{
    double expected[RP_PAGE_BYTES / 8], moved[RP_PAGE_BYTES / 8];
    uint64_t words[RP_PAGE_MASKS];
    struct rp_rounding_noise noise;
    const double unit = ldexp(1, -52);

    (void)state;
    memset(words, 0xff, sizeof words);
    for (unsigned level = 0; level < RP_NOISE_LEVELS; level++) {
        for (unsigned i = 0; i < RP_PAGE_BYTES / 8; i++) {
            expected[i] = i % 2 ? 1e300 : 1 + i / 1000.0;
            moved[i] = expected[i] * (1 + ldexp(16 * unit, (int)(4 * level)));
        }
        rp_noise_note(RP_F64, level, words, (const uint8_t *)moved, (const uint8_t *)expected,
                      &noise);
    }
    assert_true(noise.moved > 1 && noise.moved < 2);
    assert_true(rp_noise_allowed(RP_F64, &noise, 1) < 64 * unit);
    assert_true(rp_noise_allowed(RP_F64, &noise, 1e300) < 16 * unit * 1e300);
}

static void zeros_and_what_is_not_finite_are_not_moved(void **state)
{
    float page[4] = {0, INFINITY, NAN, 1e-40F};

    (void)state;
    assert_int_equal(rp_noise_move(RP_F32, 0, 9, sizeof page, (uint8_t *)page), 0);
    assert_true(page[0] == 0 && isinf(page[1]) && isnan(page[2]) && page[3] == 1e-40F);
}

/* Rows that are scaled by one number are off to one side; digits that are dropped leave a last bit
 * of 0 in all of them. */
static void digits_that_are_dropped_are_no_noise(void **state)
{
    static float got[SUMS], expected[SUMS];
    struct rp_rounding_bound bound = {.wanted = true, .noise = true, .inputs = RP_VARY_NUMBERS};
    struct rp_bound_page *page = rp_vec_add(&bound.pages);
    uint64_t bad[RP_PAGE_MASKS];

    (void)state;
    *page = (struct rp_bound_page){.key = {3, 5}, .type = RP_F32};
    page->noise = noise_of(normalised);
    for (unsigned way = 0; way < 3; way++) {
        size_t count = 0;

        for (unsigned i = 0; i < SUMS; i++) {
            const uint32_t bits = as_bits(1 + (float)(rp_mix64(i) % 1000003) / 1000003);
            const uint32_t off = way == 0 ? bits + 1 : way == 1 ? bits & ~3u : bits + 64;

            memcpy(&expected[i], &bits, sizeof bits);
            memcpy(&got[i], &off, sizeof off);
        }
        rp_compare_words(&rp_exact, (const uint8_t *)got, (const uint8_t *)expected, RP_PAGE_BYTES,
                         bad);
        rp_rounding_bound_allow(&bound, RP_VARY_NUMBERS, page->key, (const uint8_t *)got,
                                (const uint8_t *)expected, bad);
        for (size_t i = 0; i < RP_PAGE_MASKS; i++)
            count += (size_t)__builtin_popcountll(bad[i]);
        assert_true(way == 0 ? count == 0 : count > SUMS / 2);
    }
    rp_vec_free(&bound.pages);
}

/* A demangled name says of what type the numbers are that a pointer leads to. */
static void types_come_from_the_signature(void **state)
{
    const char *name = "void ns::scale<4, (anonymous namespace)::Op<int, 2>>(__half const*, float, "
                       "__hip_bfloat16*, std::pair<int, __half*>, _Float16 const* __restrict__, "
                       "__half, float*, __half**, HIP_vector_type<double, 2u> const*)";
    static const enum rp_number_type types[] = {RP_F16,   RP_EXACT, RP_BF16,  RP_EXACT, RP_F16,
                                                RP_EXACT, RP_F32,   RP_EXACT, RP_F64,   RP_EXACT};

    (void)state;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(rp_argument_type(name, i), types[i]);
    assert_int_equal(rp_argument_type("scale", 0), RP_EXACT);
    assert_int_equal(rp_argument_type("scale)", 0), RP_EXACT);
    assert_int_equal(rp_argument_type("scale(__half*", 0), RP_EXACT);
    assert_int_equal(rp_argument_type("()", 0), RP_EXACT);
    assert_int_equal(rp_argument_type("", 3), RP_EXACT);
}

/* Of numbers of 16 bits few are off when what is computed in 32 bits is rounded once. */
static void many_short_results_that_are_off_are_wrong(void **state)
{
    struct rp_rounding_bound bound = {.wanted = true, .noise = true, .inputs = RP_BOUND_CAPTURED};
    struct rp_bound_page *page = rp_vec_add(&bound.pages);
    uint16_t got[RP_PAGE_BYTES / 2], expected[RP_PAGE_BYTES / 2];
    uint64_t bad[RP_PAGE_MASKS];

    (void)state;
    *page = (struct rp_bound_page){.key = {3, 5}, .type = RP_F16};
    page->noise = (struct rp_rounding_noise){.count = RP_PAGE_BYTES / 2};
    for (unsigned each = 2; each <= 64; each *= 32) {
        size_t count = 0;

        for (unsigned i = 0; i < RP_PAGE_BYTES / 2; i++) {
            expected[i] = 0x3c00 + i % 1024;
            got[i] = (uint16_t)(expected[i] + (i % each == 0));
        }
        rp_compare_words(&rp_exact, (const uint8_t *)got, (const uint8_t *)expected, RP_PAGE_BYTES,
                         bad);
        rp_rounding_bound_allow(&bound, RP_BOUND_CAPTURED, page->key, (const uint8_t *)got,
                                (const uint8_t *)expected, bad);
        for (size_t i = 0; i < RP_PAGE_MASKS; i++)
            count += (size_t)__builtin_popcountll(bad[i]);
        assert_int_equal(count, each == 2 ? RP_PAGE_WORDS : 0);
    }
    rp_vec_free(&bound.pages);
}

/* The lower one of two bf16 or f16 is no fraction of a number of 32 bits. */
static void pairs_are_told_from_numbers(void **state)
{
    static uint8_t page[RP_PAGE_BYTES];

    (void)state;
    assert_false(may_be_pairs(page, sizeof page));
    for (unsigned type = 0; type < 3; type++) {
        for (unsigned i = 0; i < RP_PAGE_WORDS; i++) {
            const uint32_t bits = as_bits(term(i % SUMS, i) * 3.14159f);
            const uint32_t half = 0x3000 + (uint32_t)rp_mix64(i) % 0x1000, /* fp16: 0.125 to 0.25 */
                word = type == 0   ? bits
                       : type == 1 ? (bits & 0xffff0000) | bits >> 16
                                   : half << 16 | half;

            memcpy(page + 4 * (size_t)i, &word, sizeof word);
        }
        assert_int_equal(may_be_pairs(page, sizeof page), type != 0);
    }
}

/* A sum of 16-bit numbers is rounded once: its last digit may be another one, and no more. */
static void sums_of_16_bits_are_off_by_one_unit(void **state)
{
    (void)state;
    assert_float_equal(max_off(RP_BF16, 1, 1), 0x1p-7, 1e-5);
    assert_float_equal(max_off(RP_F16, 4, 4), 0x1p-8, 1e-5);
    assert_float_equal(max_off(RP_F32, 1, 2), 0x1p-18, 0);
}

static void copies_are_no_sums(void **state)
{
    struct look look = {.inputs_read = rp_alloc_zero(INPUT_BITS / 8, 1)};
    float inputs[64], sums_of[64];

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        inputs[i] = term(i % SUMS, i);
    for (unsigned i = 0; i < 64; i++)
        sums_of[i] = inputs[i] + 0.3f * inputs[63 - i];
    note_inputs(&look, RP_F32, sizeof inputs, (const uint8_t *)inputs);
    for (unsigned i = 0; i < 64; i++)
        note_result(&look, RP_F32, as_bits(-inputs[63 - i]));
    assert_true(copies(&look));
    look.results = look.copied = 0;
    for (unsigned i = 0; i < 64; i++)
        note_result(&look, RP_F32, as_bits(sums_of[i]));
    assert_false(copies(&look));
    free(look.inputs_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_doubled_or_made_positive),
        cmocka_unit_test(only_sums_of_products_have_a_degree),
        cmocka_unit_test(another_order_is_near_and_fewer_digits_are_not),
        cmocka_unit_test(digits_that_are_dropped_are_wrong),
        cmocka_unit_test(noise_is_what_the_last_digits_of_inputs_make),
        cmocka_unit_test(large_doubles_are_off_by_their_own_units),
        cmocka_unit_test(zeros_and_what_is_not_finite_are_not_moved),
        cmocka_unit_test(digits_that_are_dropped_are_no_noise),
        cmocka_unit_test(types_come_from_the_signature),
        cmocka_unit_test(many_short_results_that_are_off_are_wrong),
        cmocka_unit_test(pairs_are_told_from_numbers),
        cmocka_unit_test(sums_of_16_bits_are_off_by_one_unit),
        cmocka_unit_test(copies_are_no_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
