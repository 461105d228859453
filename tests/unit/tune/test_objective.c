/* Objectives and limits: what users may write, what is compared, and how several become one. */
#include "tune/objective.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"

#include "cmocka_all.h"

static void words(void **state)
{
    struct rp_objectives o = {0};
    struct rp_err err = RP_ERR_INIT;
    char *text;

    (void)state;
    assert_int_equal(rp_objectives_add(&o, "time", &err), 0);
    assert_int_equal(rp_objectives_add(&o, "max:GFLOP/s", &err), 0);
    assert_int_equal(rp_objectives_add(&o, "min:error=err = ([0-9.]+)", &err), 0);
    assert_int_equal(rp_objectives_limit(&o, "vgprs<=128", &err), 0);
    assert_int_equal(rp_objectives_limit(&o, "vgprs >= 2", &err), 0);
    assert_int_equal(rp_objectives_limit(&o, "error<=0.5", &err), 0);
    assert_true(o.count == 4 && o.goals == 3);
    assert_true(o.numbers[0].source == RP_NUMBER_TIME && !o.numbers[0].maximise);
    assert_true(o.numbers[1].source == RP_NUMBER_PRINTED && o.numbers[1].maximise);
    assert_string_equal(o.numbers[2].name, "error");
    assert_string_equal(o.numbers[2].pattern, "err = ([0-9.]+)");
    assert_true(o.numbers[2].has_most && o.numbers[2].most == 0.5 && !o.numbers[2].has_least);
    assert_true(o.numbers[3].source == RP_NUMBER_VGPRS && o.numbers[3].least == 2);
    assert_int_equal(rp_objectives_time(&o), 0);
    assert_false(rp_objectives_exact(&o));
    text = rp_objectives_text(&o);
    assert_non_null(strstr(text, "min:time, max:GFLOP/s="));
    assert_non_null(strstr(text, ", vgprs >= 2 <= 128"));
    free(text);
    rp_objectives_free(&o);
    /* A limit alone leaves the time as what is minimised. */
    assert_int_equal(rp_objectives_limit(&o, "lds<=1024", &err), 0);
    assert_true(o.goals == 1 && o.numbers[0].source == RP_NUMBER_TIME && rp_objectives_exact(&o));
    rp_objectives_free(&o);
}

static void mistakes(void **state)
{
    static const struct {
        const char *word, *says;
        bool limit;
    } refused[] = {
        {"GFLOPS", "min:GFLOPS, or a large one, max:GFLOPS; without output there are time", false},
        {"vgprs=x", "min:vgprs", false},
        {"time", "time is one already", false},
        {"max:", "a name has 1 to 60 bytes", false},
        {"max:x=(", "no extended regular expression", false},
        {"vgprs<128", "use NAME<=NUMBER", true},
        {"vgprs", "use NAME<=NUMBER", true},
        {"vgprs<=many", "many is no number", true},
        {"vgprs<=1e999", "is no number", true},
        {"<=1", "a name has 1 to 60 bytes", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct rp_objectives o = {0};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_objectives_add(&o, "time", &err), 0);
        assert_int_equal(refused[i].limit ? rp_objectives_limit(&o, refused[i].word, &err)
                                          : rp_objectives_add(&o, refused[i].word, &err),
                         -RP_USAGE);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: %s", refused[i].word, err.text);
        assert_int_equal(o.count, 1);
        rp_objectives_free(&o);
    }
}

/** The place of the number behind a name, in lines as programs print them. */
static void names_in_output(void **state)
{
    static const struct {
        const char *name, *line, *number;
    } lines[] = {
        {"GFLOPS", "GFLOPS: 12.5", "12.5"},
        {"GFLOPS", "\"GFLOPS\": 1e3,", "1e3"},
        {"GFLOPS", "the GFLOPS = -.5 here", "-.5"},
        {"GFLOPS", "my GFLOPS 7", "7"},
        {"GFLOPS", "MGFLOPS: 3", NULL},
        {"bw", "bw2: 3", NULL},
        {"bw", "bw-1", NULL},
        {"bw", "bw\t4", "4"},
        {"GB/s", "GB/s=3.25", "3.25"},
        {"a.b", "axb: 3", NULL},
        {"x", "x: none", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char word[80] = "max:";
        struct rp_objectives o = {0};
        struct rp_err err = RP_ERR_INIT;
        regmatch_t match[2];
        regex_t regex;
        int rc;

        strcat(word, lines[i].name);
        assert_int_equal(rp_objectives_add(&o, word, &err), 0);
        assert_int_equal(regcomp(&regex, o.numbers[0].pattern, REG_EXTENDED), 0);
        rc = regexec(&regex, lines[i].line, 2, match, 0);
        assert_int_equal(rc == 0, lines[i].number != NULL);
        if (rc == 0) {
            assert_int_equal(match[1].rm_eo - match[1].rm_so, strlen(lines[i].number));
            assert_memory_equal(lines[i].line + match[1].rm_so, lines[i].number,
                                strlen(lines[i].number));
        }
        regfree(&regex);
        rp_objectives_free(&o);
    }
}

static struct rp_objectives two(void)
{
    struct rp_objectives o = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_objectives_add(&o, "max:GFLOPS", &err), 0);
    assert_int_equal(rp_objectives_add(&o, "vgprs", &err), 0);
    return o;
}

static void comparisons(void **state)
{
    static const double good[] = {10, 8}, equal[] = {10, 8}, less[] = {9, 8}, other[] = {9, 4};
    struct rp_objectives o = two();
    struct rp_err err = RP_ERR_INIT;
    char *why;

    (void)state;
    assert_true(rp_objectives_dominate(&o, good, less));
    assert_false(rp_objectives_dominate(&o, less, good));
    assert_false(rp_objectives_dominate(&o, good, equal));
    assert_false(rp_objectives_dominate(&o, good, other) ||
                 rp_objectives_dominate(&o, other, good));
    /* Costs order as the objectives do, and lead back. */
    assert_true(rp_cost_of(&o.numbers[0], 10) < rp_cost_of(&o.numbers[0], 9));
    assert_true(rp_cost_of(&o.numbers[0], 0) == 0 && rp_cost_of(&o.numbers[0], -1) == 0);
    assert_true(rp_cost_of(&o.numbers[1], 0) > 0);
    assert_true(rp_value_of_cost(&o.numbers[0], rp_cost_of(&o.numbers[0], 4)) == 4);
    assert_true(rp_value_of_cost(&o.numbers[1], rp_cost_of(&o.numbers[1], 0)) == 0);
    assert_int_equal(rp_objectives_limit(&o, "vgprs<=6", &err), 0);
    assert_null(rp_objectives_refuse(&o, other));
    why = rp_objectives_refuse(&o, good);
    assert_string_equal(why, "vgprs is 8, more than 6");
    free(why);
    rp_objectives_free(&o);
}

/** What is on the front is best for some weights, and never a configuration that is beaten. */
static void several_become_one(void **state)
{
    static const double all[4][2] = {{10, 100}, {1, 1}, {6, 20}, {5, 90}};
    struct rp_objectives o = two();
    struct rp_random random = rp_random_new(1);
    struct rp_scalarisation scale = {0};
    unsigned wins[4] = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        rp_scalarisation_see(&scale, &o, all[i]);
    for (size_t turn = 0; turn < 200; turn++) {
        size_t best = 0;

        rp_scalarisation_draw(&scale, &o, turn, &random);
        assert_true(fabs(scale.weights[0] + scale.weights[1] - 1) < 1e-12);
        for (size_t i = 1; i < 4; i++)
            if (rp_scalarisation_log(&scale, &o, all[i]) <
                rp_scalarisation_log(&scale, &o, all[best]))
                best = i;
        wins[best]++;
        if (turn < 2)
            assert_int_equal(best, turn);
    }
    assert_true(wins[0] && wins[1] && wins[2] && !wins[3]);
    rp_objectives_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(names_in_output),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(several_become_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
