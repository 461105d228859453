/**
 * @file test_options.c
 * @brief What rocm-perf asks of rocm-perf-replay arrives, and what is wrong is refused.
 */
#include <string.h>

#include "base/err.h"
#include "replay/replay_protocol.h"
#include "unit/cmocka_all.h"

static void equal(const struct rp_replay_options *a, const struct rp_replay_options *b)
{
    assert_int_equal(a->action, b->action);
#define SAME_TEXT(x, y)                                                                            \
    if (x)                                                                                         \
        assert_string_equal(x, y);                                                                 \
    else                                                                                           \
        assert_null(y)
#define SAME_NUMBER(x, y)                       assert_int_equal(x, y)
#define SAME_FD(x, y)                           assert_int_equal(x, y)
#define SAME_WORD(x, y)                         assert_int_equal(x, y)
#define SAME_FLAG(x, y)                         assert_int_equal(x, y)
#define SAME_SET(x, y)                          assert_int_equal(x, y)
#define SAME_REAL(x, y)                         assert_true((x) >= (y) && (x) <= (y))
#define RP_REPLAY_OPTION(kind, field, name, of) SAME_##kind(a->field, b->field);
#include "replay/replay_options.def"
#undef RP_REPLAY_OPTION
}

static void there_and_back(const struct rp_replay_options *o, size_t arguments)
{
    struct rp_replay_options back;
    struct rp_err err = RP_ERR_INIT;
    struct rp_replay_args args;
    size_t count = 0;

    rp_replay_options_print(o, &args);
    while (args.argv[count])
        count++;
    assert_int_equal(count, arguments);
    if (rp_replay_options_parse(args.argv, &back, &err) < 0)
        fail_msg("%s", err.text);
    equal(o, &back);
    rp_replay_args_free(&args);
}

static void test_least(void **state)
{
    (void)state;
    there_and_back(&(struct rp_replay_options){.action = RP_REPLAY_RESERVE_CHECK,
                                               .capture_dir = "c",
                                               .hsa_library = "l",
                                               .step_fd = -1},
                   3);
}

static void test_all(void **state)
{
    (void)state;
    there_and_back(&(struct rp_replay_options){.action = RP_REPLAY_COMPARE,
                                               .capture_dir = "a folder=with, --signs",
                                               .hsa_library = "/lib/libhsa-runtime64.so.1",
                                               .rocm_version = "7.1",
                                               .iterations = 1000000,
                                               .warmup = 7,
                                               .no_recopy = true,
                                               .verify = true,
                                               .hsaco = "a.hsaco",
                                               .other = "b.hsaco",
                                               .compare = "f32,rel=1e-5",
                                               .inputs = "auto",
                                               .cache = RP_CACHE_COLD,
                                               .margin = 0.1,
                                               .gate = RP_GATE_NOT_SLOWER,
                                               .verbose = true,
                                               .kernel = "sum",
                                               .json = true,
                                               .timing = "detailed",
                                               .may_retry = true,
                                               .probe = true,
                                               .no_poison = true,
                                               .changes_left_out = 1 | 1 << (RP_STEP_CHANGES - 1),
                                               .inputs_left_out = 1 << (RP_STEP_VARIATIONS - 1),
                                               .step_fd = 3},
                   25);
}

/* An open file may be number 0: one that was started without a standard input has it. */
static void test_file_0(void **state)
{
    (void)state;
    there_and_back(
        &(struct rp_replay_options){
            .action = RP_REPLAY_SELF_CHECK, .capture_dir = "c", .hsa_library = "l", .step_fd = 0},
        4);
}

static void test_wrong(void **state)
{
    static const struct {
        const char *option, *says;
    } cases[] = {
        {"--iteration=3", "--iteration=3: no such option"},
        {"-j", "-j: no such option"},
        {"word", "word: no such option"},
        {"--json=1", "--json takes no value"},
        {"--hsaco", "--hsaco needs a value"},
        {"--hsaco=", "--hsaco=: no such value"},
        {"--iterations=", "--iterations=: no such value"},
        {"--iterations=3x", "--iterations=3x: no such value"},
        {"--iterations=-1", "--iterations=-1: no such value"},
        {"--iterations=1000001", "--iterations=1000001: no such value"},
        {"--iterations=99999999999999999999", "99999999999999999999: no such value"},
        {"--cache=lukewarm", "--cache=lukewarm: no such value"},
        {"--gate=", "--gate=: no such value"},
        {"--margin=101", "--margin=101: no such value"},
        {"--margin=nan", "--margin=nan: no such value"},
        {"--margin=1%", "--margin=1%: no such value"},
        {"--changes-left-out=9", "--changes-left-out=9: no such value"},
        {"--changes-left-out=1,", "--changes-left-out=1,: no such value"},
        {"--changes-left-out=1;2", "--changes-left-out=1;2: no such value"},
        {"--inputs-left-out=99", "--inputs-left-out=99: no such value"},
        {"--step-fd=2147483648", "--step-fd=2147483648: no such value"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char option[64];
        char *argv[] = {(char[]){"full-vm"}, (char[]){"--capture-dir=c"},
                        (char[]){"--hsa-library=l"}, option, NULL};
        struct rp_replay_options untouched = {.warmup = 77};
        struct rp_err err = RP_ERR_INIT;

        strcpy(option, cases[i].option);
        assert_int_equal(rp_replay_options_parse(argv, &untouched, &err), -RP_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", option, err.text);
        assert_int_equal(untouched.warmup, 77);
    }
}

static void test_missing(void **state)
{
    char *const none[] = {NULL}, *const no_action[] = {(char[]){"replay"}, NULL};
    char *const no_folder[] = {(char[]){"full-vm"}, (char[]){"--hsa-library=l"}, NULL};
    char *const no_library[] = {(char[]){"full-vm"}, (char[]){"--capture-dir=c"}, NULL};
    char *const no_other[] = {(char[]){"compare"}, (char[]){"--capture-dir=c"},
                              (char[]){"--hsa-library=l"}, (char[]){"--hsaco=a"}, NULL};
    const struct {
        char *const *argv;
        const char *says;
    } cases[] = {{none, "(none): no such action"},
                 {no_action, "replay: no such action"},
                 {no_folder, "--capture-dir is missing"},
                 {no_library, "--hsa-library is missing"},
                 {no_other, "compare needs --hsaco and --other"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_replay_options o;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_replay_options_parse(cases[i].argv, &o, &err), -RP_USAGE);
        assert_string_equal(err.text, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_least), cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_file_0), cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_missing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
