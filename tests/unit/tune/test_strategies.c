/* Every strategy on spaces made here: nothing is run twice, what fails is lived with, a seed says
 * everything; and the default one needs far fewer evaluations than chance. */
#include "tune/strategy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tune/space.h"
#include "tune/surrogate.h"
#include "unit/tune/made_space.h"

#include "compared_strategies.h"

/** What a configuration takes; below 0 it fails. */
typedef double (*clock_of)(const struct rp_space *space, size_t config);

static double always_fails(const struct rp_space *space, size_t config)
{
    (void)space;
    (void)config;
    return -1;
}

static double always_the_same(const struct rp_space *space, size_t config)
{
    (void)space;
    (void)config;
    return 2.5;
}

static double number(const struct rp_space *space, size_t config, size_t parameter)
{
    double number = 0;
    const struct rp_value *value = rp_space_value(space, config, parameter);

    return value && rp_value_number(value, &number) ? number : 0;
}

/**
 * Like a tiled kernel: work per workgroup has a best size, rows should fill wavefronts, unrolling
 * helps wide vectors, and there is a second way to do it that is best in a corner. More than 1024
 * threads fail.
 */
static double like_a_kernel(const struct rp_space *space, size_t config)
{
    const double x = number(space, config, 0), y = number(space, config, 1);
    const double tile = number(space, config, 2) * number(space, config, 3);
    const double unroll = number(space, config, 4), staged = number(space, config, 5);
    const double threads = x * y, off = log2(threads * tile / 1024);
    double ms = 1 + 0.15 * off * off + 0.3 * fabs(log2(threads / 256));

    if (threads > 1024)
        return -1;
    ms *= fmod(x, 64) == 0 ? 1 : 1.5 + 10 / x;
    ms *= 1 + 0.08 * fabs(log2(unroll) - log2(number(space, config, 2)) - 1);
    ms *= staged == 0 ? 1.2 : staged == 1 ? 1 : y == 1 ? 0.8 : 1.6;
    return ms;
}

static struct rp_space *kernel_space(void)
{
    static const int x[] = {16, 32, 48, 64, 96, 128, 192, 256, 512}, y[] = {1, 2, 4, 8, 16};
    static const int tiles[] = {1, 2, 4, 8}, unroll[] = {1, 2, 4, 8}, staged[] = {0, 1, 2};
    struct rp_space *space = rp_space_new();

    made_parameter(space, "x", x, 9);
    made_parameter(space, "y", y, 5);
    made_parameter(space, "tile_x", tiles, 4);
    made_parameter(space, "tile_y", tiles, 4);
    made_parameter(space, "unroll", unroll, 4);
    made_parameter(space, "staged", staged, 3);
    made_product(space);
    return space;
}

static struct rp_space *small_space(size_t count)
{
    int numbers[64];
    struct rp_space *space = rp_space_new();

    for (size_t i = 0; i < count; i++)
        numbers[i] = (int)i;
    made_parameter(space, "a", numbers, count);
    made_product(space);
    return space;
}

/** A flag, and a size that counts only when the flag is set. */
static struct rp_space *conditional_space(void)
{
    static const int flags[] = {0, 1}, sizes[] = {1, 2, 4, 8, 16, 32};
    struct rp_space *space = rp_space_new();

    made_parameter(space, "flag", flags, 2);
    made_parameter(space, "size", sizes, 6);
    made_parameter(space, "other", sizes, 6);
    for (uint16_t i = 0; i < 6; i++) {
        made_row(space, (uint16_t[]){0, RP_NO_VALUE, i});
        for (uint16_t j = 0; j < 6; j++)
            made_row(space, (uint16_t[]){1, j, i});
    }
    return space;
}

static double by_condition(const struct rp_space *space, size_t config)
{
    if (!rp_space_value(space, config, 1))
        return 3 + number(space, config, 2);
    return number(space, config, 1) == 8 ? 1 : -1;
}

/* --- one search ---------------------------------------------------------------------------- */

static void *open_strategy(const struct rp_strategy *strategy, const struct rp_space *space,
                           uint64_t seed, size_t most, unsigned workers)
{
    void *state = strategy->open(
        space,
        &(struct rp_strategy_options){.seed = seed, .most_evaluations = most, .workers = workers});

    assert_non_null(state);
    return state;
}

static void tell(const struct rp_strategy *strategy, void *state, const struct rp_space *space,
                 size_t config, clock_of ms)
{
    const double took = ms(space, config);

    if (took < 0)
        strategy->tell(state, config, RP_REPORTED_FAILED, 0);
    else if (took > 100)
        strategy->tell(state, config, RP_REPORTED_CENSORED, 100);
    else
        strategy->tell(state, config, RP_REPORTED_OK, took);
}

/** Until nothing is left, with that many out at a time. @return a hash of the order */
static uint64_t search_all(const struct rp_strategy *strategy, const struct rp_space *space,
                           clock_of ms, uint64_t seed, unsigned workers, size_t *ret_asked)
{
    uint8_t *seen = calloc(space->count, 1);
    void *state = open_strategy(strategy, space, seed, space->count, workers);
    int64_t out[8], next = 0;
    unsigned count = 0;
    uint64_t hash = 0;

    for (*ret_asked = 0;;) {
        while (count < workers && (next = strategy->ask(state)) >= 0) {
            assert_true((size_t)next < space->count && !seen[next]);
            assert_true(strcmp(strategy->phase(state), "seed") == 0 ||
                        strcmp(strategy->phase(state), "predict") == 0);
            seen[next] = 1;
            ++*ret_asked;
            hash = hash * 0x100000001b3 + (uint64_t)next + 1;
            out[count++] = next;
        }
        if (count == 0)
            break;
        tell(strategy, state, space, (size_t)out[0], ms);
        memmove(out, out + 1, --count * sizeof *out);
    }
    assert_int_equal(next, RP_ASK_NONE_LEFT);
    strategy->close(state);
    free(seen);
    return hash;
}

/** The regression may leave some out; all others go on to the end. */
static void check_all(struct rp_space *space, clock_of ms)
{
    const struct rp_strategy *strategy;

    for (size_t i = 0; (strategy = compared_strategy(i)); i++)
        for (unsigned workers = 1; workers <= 4; workers += 3) {
            size_t asked, again;
            const uint64_t hash = search_all(strategy, space, ms, 5, workers, &asked);

            assert_true(asked == space->count ||
                        (asked && strcmp(strategy->name, "regression") == 0));
            assert_true(hash == search_all(strategy, space, ms, 5, workers, &again));
        }
    rp_space_free(space);
}

static void spaces_of_few_configurations(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 12; count++)
        check_all(small_space(count), always_the_same);
}

static void everything_fails(void **state)
{
    (void)state;
    check_all(small_space(1), always_fails);
    check_all(small_space(40), always_fails);
    check_all(conditional_space(), always_fails);
}

static void all_times_are_equal(void **state)
{
    (void)state;
    check_all(small_space(40), always_the_same);
    check_all(conditional_space(), always_the_same);
}

static void conditions_and_failures(void **state)
{
    (void)state;
    check_all(conditional_space(), by_condition);
}

static double long_ones(const struct rp_space *space, size_t config)
{
    return 98 + number(space, config, 0) * 0.1;
}

static double all_too_long(const struct rp_space *space, size_t config)
{
    (void)space;
    return 101 + (double)config;
}

static void runs_that_were_stopped(void **state)
{
    (void)state;
    check_all(small_space(40), long_ones);
    check_all(small_space(40), all_too_long);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(rp_strategy_number(0)->name, "portfolio");
    assert_ptr_equal(rp_strategy_find("random"), rp_strategy_number(1));
    assert_null(rp_strategy_find("rando"));
    assert_null(rp_strategy_find("greedy-ils"));
    assert_null(rp_strategy_number(99));
}

/* --- how good ------------------------------------------------------------------------------ */

enum { SEARCHES = 9 };

static int compare_sizes(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;

    return (a > b) - (a < b);
}

static const struct rp_strategy *compared_of_name(const char *name)
{
    size_t i = 0;

    while (strcmp(compared_strategy(i)->name, name) != 0)
        i++;
    return compared_strategy(i);
}

/** Median of the evaluations until one is within five per cent of the optimum. */
static size_t median_evaluations(const char *name, const struct rp_space *space, unsigned workers)
{
    const struct rp_strategy *strategy = compared_of_name(name);
    double optimum = HUGE_VAL;
    size_t needed[SEARCHES];

    for (size_t i = 0; i < space->count; i++) {
        const double ms = like_a_kernel(space, i);

        optimum = ms > 0 && ms < optimum ? ms : optimum;
    }
    for (size_t i = 0; i < SEARCHES; i++) {
        void *state = open_strategy(strategy, space, i + 1, space->count / 5, workers);
        double best = HUGE_VAL;

        for (needed[i] = 0; best > 1.05 * optimum;) {
            int64_t out[8];

            for (unsigned j = 0; j < workers; j++)
                assert_true((out[j] = strategy->ask(state)) >= 0);
            for (unsigned j = 0; j < workers; j++, needed[i]++) {
                const double ms = like_a_kernel(space, (size_t)out[j]);

                tell(strategy, state, space, (size_t)out[j], like_a_kernel);
                best = ms > 0 && ms < best ? ms : best;
            }
        }
        strategy->close(state);
    }
    qsort(needed, SEARCHES, sizeof *needed, compare_sizes);
    return needed[SEARCHES / 2];
}

static void the_default_is_far_better_than_chance(void **state)
{
    struct rp_space *space = kernel_space();
    const size_t portfolio = median_evaluations("portfolio", space, 1);
    const size_t four = median_evaluations("portfolio", space, 4);
    const size_t chance = median_evaluations("random", space, 1);
    const size_t climbs = median_evaluations("greedy-ils", space, 1);

    (void)state;
    print_message("evaluations to 5 %%: portfolio %zu, with four workers %zu, random %zu, "
                  "greedy-ils %zu\n",
                  portfolio, four, chance, climbs);
    assert_true(4 * portfolio <= chance);
    assert_true(4 * four <= chance);
    assert_true(portfolio <= climbs);
    assert_true(portfolio < space->count / 50);
    rp_space_free(space);
}

/* --- configurations next to each other ------------------------------------------------------- */

static const int test_sizes[] = {8, 2, 4}, others[] = {1, 6}, flags[] = {0, 1};

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
    assert_int_equal(neighbours.items[0], 1);
    assert_int_equal(neighbours.items[1], 2);
    rp_neighbours_of(space, 1, &neighbours);
    assert_int_equal(neighbours.count, 3);
    rp_neighbours_of(space, 3, &neighbours);
    assert_int_equal(neighbours.count, 1);
    rp_vec_free(&neighbours);
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
    rp_vec_free(&neighbours);
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_of_few_configurations),
        cmocka_unit_test(everything_fails),
        cmocka_unit_test(all_times_are_equal),
        cmocka_unit_test(conditions_and_failures),
        cmocka_unit_test(runs_that_were_stopped),
        cmocka_unit_test(names),
        cmocka_unit_test(the_default_is_far_better_than_chance),
        cmocka_unit_test(neighbours_differ_in_one_parameter),
        cmocka_unit_test(conditions_follow_their_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
