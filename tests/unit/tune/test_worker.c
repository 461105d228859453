/* Requests and answers between a pool and its workers. */
#include "tune/worker_pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "unit/cmocka_all.h"

#include "tune/worker_pool.c"

enum { MEGABYTE = 1 << 20 };

static char *hostile[] = {(char[]){"'; $(touch x) `touch x` \"\\ %s%n\n\t\r"},
                          (char[]){"\xff\xfe\x80 not UTF-8"},
                          (char[]){""},
                          (char[]){"{output} {\"a\": 1}"},
                          (char[]){"\xed\xa0\x80"},
                          (char[]){"\x01\x7f"},
                          (char[]){"\xf0\x9f\x98\x80"},
                          NULL,
                          NULL};

static int fill_megabyte(void **state)
{
    char *text = malloc(MEGABYTE + 1);

    (void)state;
    for (size_t i = 0; i < MEGABYTE; i++)
        text[i] = (char)(i % 255 + 1); /* all bytes but zeros */
    text[MEGABYTE] = 0;
    hostile[7] = text;
    return 0;
}

static int free_megabyte(void **state)
{
    (void)state;
    free(hostile[7]);
    return 0;
}

static struct rp_evaluation_request parse_request(const char *line)
{
    struct rp_evaluation_request request;
    struct rp_err err = RP_ERR_INIT;

    if (rp_evaluation_request_parse(line, strlen(line), &request, &err) < 0)
        fail_msg("%s", err.text);
    return request;
}

static void check_words(char *const *got, char *const *wanted)
{
    for (; *wanted; wanted++, got++) {
        assert_non_null(*got);
        assert_string_equal(*got, *wanted);
    }
    assert_null(*got);
}

static void requests_come_back(void **state)
{
    struct rp_env_change env[] = {{.name = "A", .value = hostile[0]},
                                  {.name = hostile[1], .value = hostile[7]},
                                  {.name = "GONE"},
                                  {0}};
    char input[] = "/in put";
    const struct rp_evaluation_request r = {.id = INT64_MAX,
                                            .command = {hostile, env},
                                            .build = {hostile, env},
                                            .build_output = (char[]){"/a\xff/program"},
                                            .build_timeout_ns = 5,
                                            .objective = RP_OBJECTIVE_OUTPUT,
                                            .pattern = hostile[1],
                                            .unit_ns = 0.1,
                                            .check = hostile[0],
                                            .timeout_ns = INT64_MAX,
                                            .warmup_timeout_ns = 7,
                                            .memory_bytes = 1,
                                            .input = input,
                                            .warmups = 2,
                                            .samples = 3};
    struct rp_evaluation_request got;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf line = {0};

    (void)state;
    assert_int_equal(rp_evaluation_request_write(&r, &line, &err), 0);
    assert_ptr_equal(strchr(line.data, '\n'), line.data + line.len - 1);
    got = parse_request(line.data);
    assert_string_equal(got.input, "/in put");
    assert_true(got.id == r.id && got.timeout_ns == r.timeout_ns && got.memory_bytes == 1);
    assert_true(got.warmup_timeout_ns == 7);
    assert_true(got.warmups == 2 && got.samples == 3 && got.build_timeout_ns == 5);
    assert_true(got.objective == RP_OBJECTIVE_OUTPUT && got.unit_ns == 0.1);
    check_words(got.command.argv, hostile);
    check_words(got.build.argv, hostile);
    assert_string_equal(got.build_output, r.build_output);
    assert_string_equal(got.pattern, hostile[1]);
    assert_string_equal(got.check, hostile[0]);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(got.command.env[i].name, env[i].name);
    assert_string_equal(got.command.env[1].value, hostile[7]);
    assert_null(got.command.env[2].value);
    assert_null(got.command.env[3].name);
    rp_evaluation_request_free(&got);
}

static void numbers_come_back(void **state)
{
    char *argv[] = {(char[]){"./k"}, NULL};
    struct rp_evaluation_request r = {
        .command = {.argv = argv},
        .timeout_ns = 1,
        .samples = 1,
        .numbers = {{RP_NUMBER_VGPRS, NULL}, {RP_NUMBER_PRINTED, (char[]){"x=([0-9]+)"}}},
        .number_count = 2};
    double times[] = {1, 2}, numbers[] = {64, -3, 64, 0};
    const struct rp_evaluation e = {
        .runtimes_ns = times, .count = 2, .numbers = numbers, .number_count = 2};
    struct rp_evaluation_request got;
    struct rp_evaluation answer;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf line = {0}, refused = {0}, answered = {0};

    (void)state;
    assert_int_equal(rp_evaluation_request_write(&r, &line, &err), 0);
    got = parse_request(line.data);
    assert_int_equal(got.number_count, 2);
    assert_true(got.numbers[0].source == RP_NUMBER_VGPRS && !got.numbers[0].pattern);
    assert_string_equal(got.numbers[1].pattern, "x=([0-9]+)");
    rp_evaluation_request_free(&got);
    /* Registers are in the records, which a run that is timed by the clock has not. */
    r.objective = RP_OBJECTIVE_WALL;
    assert_int_equal(rp_evaluation_request_write(&r, &refused, &err), 0);
    assert_int_equal(rp_evaluation_request_parse(refused.data, refused.len, &got, &err),
                     -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "the run is not recorded"));
    assert_int_equal(rp_evaluation_write(&e, &answered, &err), 0);
    assert_int_equal(rp_evaluation_parse(answered.data, answered.len, &answer, &err), 0);
    assert_true(answer.count == 2 && answer.number_count == 2);
    assert_memory_equal(answer.numbers, numbers, sizeof numbers);
    rp_evaluation_free(&answer);
}

static void small_requests_come_back(void **state)
{
    char *argv[] = {(char[]){"./k"}, NULL};
    const struct rp_evaluation_request r = {
        .command = {.argv = argv}, .timeout_ns = 1, .samples = 1};
    struct rp_evaluation_request got;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf line = {0};

    (void)state;
    assert_int_equal(rp_evaluation_request_write(&r, &line, &err), 0);
    got = parse_request(line.data);
    assert_true(got.objective == RP_OBJECTIVE_DISPATCH && !got.build.argv && !got.check);
    rp_evaluation_request_free(&got);
}

/* One member of a request that is right is changed. */
static void what_is_no_request(void **state)
{
    static const char *const good = "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"wall\", "
                                    "\"timeout_ns\": 1, \"memory_bytes\": 0, \"warmups\": 0, "
                                    "\"samples\": 1%s%s}";
    static const char *const bad[] = {
        "\"check\": 7",
        "\"check\": {\"base16\": \"6\"}",
        "\"check\": {\"base16\": \"6g\"}",
        "\"check\": {\"base16\": \"6100\"}",
        "\"environment\": 1",
        "\"environment\": [[\"A\"]]",
        "\"environment\": [[\"A\", 1]]",
        "\"environment\": [[\"\", \"x\"]]",
        "\"environment\": [[\"A=B\", \"x\"]]",
        "\"build\": []",
        "\"build\": [\"cc\"]",
        "\"build\": [\"cc\"], \"build_output\": \"relative\", \"build_timeout_ns\": 1",
        "\"build\": [\"cc\"], \"build_output\": \"/x\", \"build_timeout_ns\": 0",
        "\"id\": 2",
        "\"warmup_timeout_ns\": -1",
    };
    static const char *const whole[] = {
        "",
        "[]",
        "7",
        "{",
        "{}",
        "null",
        "{\"id\": -1}",
        "{\"id\": 1, \"command\": [], \"objective\": \"wall\"}",
        "{\"id\": 1, \"command\": [\"a\\u0000b\"], \"objective\": \"wall\"}",
        "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"speed\"}",
        "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"output\", \"pattern\": \"x\"}",
        "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"output\", \"unit_ns\": 1}",
        "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"wall\", \"timeout_ns\": 0}",
        "{\"id\": 1, \"command\": [\"k\"], \"objective\": \"wall\", \"timeout_ns\": 1, "
        "\"memory_bytes\": 0, \"samples\": 10000, \"warmups\": 1}",
    };
    struct rp_evaluation_request request;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rp_autobuf line = {0};

        rp_buf_printf(&line, good, "", "");
        request = parse_request(line.data);
        rp_evaluation_request_free(&request);
        rp_buf_free(&line);
        line = (struct rp_buf){0};
        rp_buf_printf(&line, good, ", ", bad[i]);
        if (rp_evaluation_request_parse(line.data, line.len, &request, &err) != -RP_BAD_INPUT)
            fail_msg("%s", line.data);
        assert_true(err.text[0]);
    }
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (rp_evaluation_request_parse(whole[i], strlen(whole[i]), &request, &err) !=
            -RP_BAD_INPUT)
            fail_msg("%s", whole[i]);
}

static void answers_come_back(void **state)
{
    double runtimes[] = {0.1, 123456789.25, 1e300};
    static const char *const words[] = {"ok", "failed", "timeout", "wrong", "not built", "no time"};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        const struct rp_evaluation e = {.id = i,
                                        .outcome = (enum rp_evaluation_outcome)i,
                                        .reason = i ? hostile[i] : NULL,
                                        .runtimes_ns = runtimes,
                                        .count = i ? i % 3 : 3,
                                        .signaled = i == 1,
                                        .status = 255,
                                        .cap_ns = 7,
                                        .built = i == 2,
                                        .build_ns = 8,
                                        .bench_ns = INT64_MAX};
        struct rp_evaluation got;
        rp_autobuf line = {0};

        assert_string_equal(rp_evaluation_outcome_word(e.outcome), words[i]);
        assert_int_equal(rp_evaluation_write(&e, &line, &err), 0);
        assert_int_equal(rp_evaluation_parse(line.data, line.len, &got, &err), 0);
        assert_true(got.id == e.id && got.outcome == e.outcome && got.count == e.count);
        for (size_t j = 0; j < e.count; j++)
            assert_true(got.runtimes_ns[j] == e.runtimes_ns[j]);
        assert_true(got.signaled == e.signaled && got.status == 255 && got.cap_ns == 7);
        assert_true(got.built == e.built && got.build_ns == 8 && got.bench_ns == INT64_MAX);
        if (i)
            assert_string_equal(got.reason, hostile[i]);
        else
            assert_null(got.reason);
        rp_evaluation_free(&got);
    }
}

static void what_is_no_answer(void **state)
{
    static const char *const lines[] = {
        "{\"id\": 1, \"outcome\": \"ok\", \"runtimes_ns\": [], \"signaled\": false, \"status\": 0, "
        "\"cap_ns\": 0, \"built\": false, \"build_ns\": 0, \"bench_ns\": 0}",
        "{\"id\": 1, \"outcome\": \"ok\", \"runtimes_ns\": [0], \"signaled\": false, \"status\": "
        "0, \"cap_ns\": 0, \"built\": false, \"build_ns\": 0, \"bench_ns\": 0}",
        "{\"id\": 1, \"outcome\": \"failed\", \"runtimes_ns\": [], \"signaled\": false, "
        "\"status\": 0, \"cap_ns\": 0, \"built\": false, \"build_ns\": 0, \"bench_ns\": 0}",
        "{\"id\": 1, \"outcome\": \"OK\"}",
        "{\"fatal\": \"x\"}",
    };
    struct rp_evaluation e;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(rp_evaluation_parse(lines[i], strlen(lines[i]), &e, &err), -RP_BAD_INPUT);
}

static struct rp_worker_hello some_hello(void)
{
    static char version[] = "1", host[] = "h\xff", gfx[] = "gfx942", gpu[] = "AMD Instinct MI300X",
                visible[] = "", rocm[] = "7.2.4", timing[] = "fast";

    return (struct rp_worker_hello){.protocol = 1,
                                    .version = version,
                                    .host = host,
                                    .pid = 7,
                                    .on = {.software = true,
                                           .gfx = gfx,
                                           .gpu = gpu,
                                           .compute_units = 304,
                                           .node = -1,
                                           .rocm = rocm,
                                           .timing = timing,
                                           .timing_version = 2},
                                    .visible = visible};
}

static void hellos_come_back_and_are_compared(void **state)
{
    static const char old[] =
        "{\"protocol\": 1, \"version\": \"1\", \"host\": \"h\", \"pid\": 7, \"device\": "
        "\"software\", \"gfx\": \"gfx942\", \"gpu\": \"AMD Instinct MI300X\", \"compute_units\": "
        "304, "
        "\"node\": -1, \"visible\": \"\", \"rocm\": \"7.2.4\", \"timing\": \"fast\"}";
    const struct rp_worker_hello h = some_hello();
    struct rp_worker_hello got, other;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf line = {0};
    char *why;

    static char counts[] = "counts";

    (void)state;
    assert_int_equal(rp_worker_hello_write(&h, &line, &err), 0);
    assert_int_equal(rp_worker_hello_parse(line.data, line.len, &got, &err), 0);
    assert_string_equal(got.host, h.host);
    assert_true(got.on.software && got.on.compute_units == 304 && got.pid == 7);
    assert_null(hello_differs(&h, &got));
    free(got.host); /* another machine is no other GPU */
    got.host = strdup("other");
    assert_null(hello_differs(&h, &got));
    rp_worker_hello_free(&got);
    for (int i = 0; i < 7; i++) {
        static char gpu[] = "AMD Instinct MI210", gfx[] = "gfx90a", rocm[] = "7.1",
                    timing[] = "detailed";

        other = some_hello();
        other.on.gpu = i == 0 ? gpu : other.on.gpu;
        other.on.gfx = i == 1 ? gfx : other.on.gfx;
        other.on.rocm = i == 2 ? rocm : other.on.rocm;
        other.on.timing = i == 3 ? timing : other.on.timing;
        other.on.compute_units = i == 4 ? 228 : other.on.compute_units;
        other.on.software = i != 5;
        other.on.timing_version = i == 6 ? 3 : other.on.timing_version;
        why = hello_differs(&other, &h);
        assert_non_null(why);
        free(why);
    }
    other = some_hello();
    other.on.timing = counts; /* which some_hello() calls by its old name */
    assert_null(hello_differs(&other, &h));
    other = some_hello();
    assert_false(hello_shares(&h, &other)); /* the software device is one for each */
    for (int i = 0; i < 3; i++) {
        static char elsewhere[] = "elsewhere";
        struct rp_worker_hello one = some_hello();

        other = some_hello();
        one.on.software = other.on.software = false;
        one.on.node = 2;
        other.on.node = i == 1 ? 3 : 2;
        other.host = i == 2 ? elsewhere : other.host;
        assert_int_equal(hello_shares(&one, &other), i == 0);
    }
    /* One of before there were versions is another one, in words. */
    assert_int_equal(rp_worker_hello_parse(old, strlen(old), &got, &err), 0);
    other = some_hello();
    why = hello_differs(&got, &other);
    assert_string_equal(why, "has the model of time counts (version 0), not counts (version 2)");
    free(why);
    rp_worker_hello_free(&got);
    assert_int_equal(rp_worker_hello_parse("{\"protocol\": 1}", 15, &got, &err), -RP_BAD_INPUT);
}

/* Lines in pieces of any size. */
static void lines_from_a_pipe(void **state)
{
    static const char text[] = "one\n\ntwo three\nno end";
    static const char *const wanted[] = {"one", "", "two three"};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct rp_line_reader reader = {0};
        size_t lines = 0, bytes;
        const char *line;
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            const size_t left = sizeof text - 1 - at;

            assert_true(write(ends[1], text + at, left < piece ? left : piece) > 0);
            assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), 0);
            while ((line = rp_line_reader_next(&reader, &bytes))) {
                assert_int_equal(bytes, strlen(wanted[lines]));
                assert_memory_equal(line, wanted[lines++], bytes);
            }
        }
        close(ends[1]);
        assert_false(reader.ended);
        assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), 0);
        assert_true(reader.ended && lines == 3);
        close(ends[0]);
        rp_line_reader_free(&reader);
    }
}

/* One that is too long is passed over, and what comes behind it is read. */
static void too_long_a_line(void **state)
{
    struct rp_line_reader reader = {.most_bytes = 4};
    struct rp_err err = RP_ERR_INIT;
    const char *line;
    size_t bytes;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abcdef", 6), 6);
    assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), 0);
    assert_null(rp_line_reader_next(&reader, &bytes));
    assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), -RP_BAD_INPUT);
    rp_line_reader_skip(&reader);
    assert_int_equal(write(ends[1], "gh", 2), 2);
    assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), 0);
    assert_null(rp_line_reader_next(&reader, &bytes));
    assert_int_equal(write(ends[1], "i\nxy\n", 5), 5);
    assert_int_equal(rp_line_reader_fill(&reader, ends[0], &err), 0);
    line = rp_line_reader_next(&reader, &bytes);
    assert_int_equal(bytes, 2);
    assert_memory_equal(line, "xy", 2);
    close(ends[0]);
    close(ends[1]);
    rp_line_reader_free(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_come_back),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(small_requests_come_back),
        cmocka_unit_test(what_is_no_request),
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(what_is_no_answer),
        cmocka_unit_test(hellos_come_back_and_are_compared),
        cmocka_unit_test(lines_from_a_pipe),
        cmocka_unit_test(too_long_a_line),
    };

    return cmocka_run_group_tests(tests, fill_megabyte, free_megabyte);
}
