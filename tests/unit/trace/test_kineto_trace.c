/* Traces of the PyTorch profiler: times to the nanosecond, what events become, what is refused. */
#include "kit.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE 1735632360000000000

static const char *put(const char *text)
{
    const char *path = kit_path("t.pt.trace.json");

    kit_write_file(path, text, strlen(text));
    return path;
}

static struct rp_store *open_text(const char *text)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *s = NULL;

    if (rp_store_open_kineto(put(text), &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static struct rp_store *open_events(const char *events)
{
    rp_autofree char *text = rp_format("{\"traceEvents\": [%s]}", events);

    return open_text(text);
}

static const struct rp_row_dispatch *dispatches(struct rp_store *s, size_t *count)
{
    const struct rp_row_dispatch *rows;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    struct rp_err err = RP_ERR_INIT;
    size_t n;

    assert_int_equal(rp_store_kernels(s, &kernels, &n, &err), 0);
    assert_int_equal(rp_store_agents(s, &agents, &n, &err), 0);
    assert_int_equal(rp_store_dispatches(s, &rows, count, &err), 0);
    return rows;
}

/* Neither a double nor a sum of two of them gives these. */
static void test_times(void **state)
{
    static const struct {
        const char *ts, *dur;
        int64_t start_ns, end_ns;
    } cases[] = {
        {"4203669603069.091", "0.001", 4203669603069091, 4203669603069092},
        {"1695835542513910", "7", 1695835542513910000, 1695835542513917000},
        {"1695835542513910.123", "0.9", 1695835542513910123, 1695835542513911023},
        {"5.0000000000001", "1.99949999", 5000, 6999},
        {"5.0005", "1e-3", 5001, 5002},
        {"1.5E3", "2.5e+1", 1500000, 1525000},
        {"2", "-0.5", 2000, 1500},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *event = rp_format(
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%s,"
            "\"dur\":%s,\"args\":{}}",
            cases[i].ts, cases[i].dur);
        struct rp_store *s = open_events(event);
        size_t count;
        const struct rp_row_dispatch *rows = dispatches(s, &count);
        assert_int_equal(count, 1);
        assert_int_equal(rows->start_ns, cases[i].start_ns);
        assert_int_equal(rows->end_ns, cases[i].end_ns);
        rp_store_close(s);
    }
}

/* The base may stand before the events or behind them; times from 0 on begin at 1. */
static void test_base(void **state)
{
#define EVENTS                                                                                     \
    "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"        \
    "\"ts\":1.5,\"dur\":2,\"args\":{}},{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"x\","       \
    "\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":1,\"args\":{}}]"
    static const struct {
        const char *text;
        int64_t kernel_ns, copy_ns;
    } cases[] = {
        {"{\"baseTimeNanoseconds\":1735632360000000000," EVENTS "}", BASE + 1500, BASE},
        {"{" EVENTS ",\"baseTimeNanoseconds\":1735632360000000000}", BASE + 1500, BASE},
        {"{" EVENTS "}", 1501, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_store *s = open_text(cases[i].text);
        const struct rp_row_copy *copies;
        struct rp_err err = RP_ERR_INIT;
        size_t count;
        assert_int_equal(dispatches(s, &count)->start_ns, cases[i].kernel_ns);
        assert_int_equal(rp_store_copies(s, &copies, &count, &err), 0);
        assert_int_equal(copies->start_ns, cases[i].copy_ns);
        assert_string_equal(copies->name, "x");
        rp_store_close(s);
    }
}

/* Names as Python, C and damaged files write them. */
static void test_names(void **state)
{
    static const struct {
        const char *json, *name;
    } cases[] = {
        {"a\\\"b\\\\c\\/d", "a\"b\\c/d"},
        {"\\u00e9\\ud83d\\ude00", "\xc3\xa9\xf0\x9f\x98\x80"},
        {"\xce\xbb", "\xce\xbb"},
        {"\\ud83d\\ud83d x", "\xef\xbf\xbd\xef\xbf\xbd x"},
        {"a\\u0000b", "a\xef\xbf\xbd"
                      "b"},
        {"tab\\tline\\n", "tab\tline\n"},
        {"raw\ttab\x01", "raw\ttab\x01"},
        {"bad\xff", "bad\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *event = rp_format(
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":1,"
            "\"dur\":1,\"args\":{}}",
            cases[i].json);
        struct rp_store *s = open_events(event);
        size_t count;
        const struct rp_row_dispatch *rows = dispatches(s, &count);
        assert_string_equal(rp_store_find_kernel(s, 0, rows->kernel_id)->display_name,
                            cases[i].name);
        rp_store_close(s);
    }
}

/* Two GPUs have a stream 7 each, which the graph must not take for one. */
static void test_streams_of_gpus(void **state)
{
    struct rp_store *s = open_events(
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":2,\"dur\":1,"
        "\"args\":{\"device\":1,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":3,\"dur\":1,"
        "\"args\":{\"device\":1,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":4}");
    size_t count;
    const struct rp_row_dispatch *rows = dispatches(s, &count);

    (void)state;
    assert_int_equal(count, 4);
    assert_int_equal(rows[0].stream_id, 7);
    assert_int_not_equal(rows[1].stream_id, 7);
    assert_int_equal(rows[2].stream_id, rows[1].stream_id);
    assert_int_equal(rows[3].stream_id, rows[1].stream_id);
    assert_int_equal(rows[3].end_ns, rows[3].start_ns);
    assert_int_equal(rows[0].agent_id, 1);
    assert_int_equal(rows[1].agent_id, 2);
    rp_store_close(s);
}

/* HIP's calls say the geometry, in blocks or in work-items, and CUDA's kernels do. */
static void test_geometry(void **state)
{
    struct rp_store *s = open_events(
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,"
        "\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":9,\"tid\":9,"
        "\"ts\":0.5,\"dur\":1,\"args\":{\"correlation\":1,\"grid\":[4,2,1],\"block\":[64,2,1]}},"
        "{\"ph\":\"X\",\"cat\":\"hip_runtime\",\"name\":\"hipExtModuleLaunchKernel\",\"pid\":9,"
        "\"tid\":9,\"ts\":0.6,\"dur\":1,\"args\":{\"correlation\":2,\"grid\":[512,1,1],"
        "\"block\":[64,1,1],\"shared memory\":128}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1,"
        "\"args\":{\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
        "\"args\":{\"correlation\":3,\"grid\":[3,1,1],\"block\":[32,1,1]}}");
    size_t count;
    const struct rp_row_dispatch *rows = dispatches(s, &count);

    (void)state;
    assert_int_equal(rows[0].grid[0], 256);
    assert_int_equal(rows[0].grid[1], 4);
    assert_int_equal(rows[0].workgroup[1], 2);
    assert_int_equal(rows[1].grid[0], 512);
    assert_int_equal(rows[1].group_bytes, 128);
    assert_int_equal(rows[2].grid[0], 96);
    rp_store_close(s);
}

static void test_gpu_names(void **state)
{
    static const struct {
        const char *device, *name, *product, *vendor;
    } cases[] = {
        {"\"name\":\"AMD Instinct MI300X\",\"computeMajor\":9,\"computeMinor\":4", "gfx942",
         "AMD Instinct MI300X", "AMD"},
        {"\"name\":\"\",\"computeMajor\":9,\"computeMinor\":5,\"warpSize\":64", "gfx950", "",
         "AMD"},
        {"\"name\":\"AMD Instinct MI210\",\"computeMajor\":9,\"computeMinor\":0,\"numSms\":104",
         "gfx90a", "AMD Instinct MI210", "AMD"},
        {"\"name\":\"AMD Radeon RX 7900 XTX\",\"computeMajor\":11,\"computeMinor\":0,\"numSms\":48",
         "gfx1100", "AMD Radeon RX 7900 XTX", "AMD"},
        {"\"name\":\"AMD Radeon RX 7600\",\"computeMajor\":11,\"computeMinor\":0,\"numSms\":16",
         "gfx1102", "AMD Radeon RX 7600", "AMD"},
        {"\"name\":\"AMD Radeon RX 7800 XT\",\"computeMajor\":11,\"computeMinor\":0,\"numSms\":30",
         "gfx1101", "AMD Radeon RX 7800 XT", "AMD"},
        {"\"name\":\"Radeon 8060S Graphics\",\"computeMajor\":11,\"computeMinor\":5,\"numSms\":20",
         "gfx1151", "Radeon 8060S Graphics", "AMD"},
        {"\"name\":\"AMD Radeon RX 9070 XT\",\"computeMajor\":12,\"computeMinor\":0,\"numSms\":32",
         "gfx1201", "AMD Radeon RX 9070 XT", "AMD"},
        {"\"name\":\"AMD Radeon RX 9060\",\"computeMajor\":12,\"computeMinor\":0,\"numSms\":14",
         "gfx1200", "AMD Radeon RX 9060", "AMD"},
        /* A gfx1151 and a gfx1150 have as many. */
        {"\"name\":\"AMD Radeon 890M "
         "Graphics\",\"computeMajor\":11,\"computeMinor\":5,\"numSms\":8",
         "", "AMD Radeon 890M Graphics", "AMD"},
        /* There is a gfx1250 and a gfx1251. */
        {"\"name\":\"AMD Instinct MI455X\",\"computeMajor\":12,\"computeMinor\":5,\"numSms\":256",
         "", "AMD Instinct MI455X", "AMD"},
        {"\"name\":\"Tesla V100\",\"computeMajor\":7,\"computeMinor\":0,\"warpSize\":32", "sm_70",
         "NVIDIA Tesla V100", "NVIDIA"},
        {"\"name\":\"NVIDIA H100\",\"computeMajor\":9,\"computeMinor\":0,\"warpSize\":32", "sm_90",
         "NVIDIA H100", "NVIDIA"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *text = rp_format(
            "{\"deviceProperties\":[{\"id\":0,%s}],\"traceEvents\":[{\"ph\":\"X\",\"cat\":"
            "\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":0,\"ts\":1,\"dur\":1,\"args\":{}}]}",
            cases[i].device);
        struct rp_store *s = open_text(text);
        const struct rp_row_agent *agent;
        size_t count;
        dispatches(s, &count);
        agent = rp_store_find_agent(s, 0, 1);
        assert_string_equal(agent->name, cases[i].name);
        assert_string_equal(agent->product_name, cases[i].product);
        assert_string_equal(agent->vendor_name, cases[i].vendor);
        rp_store_close(s);
    }
}

struct site {
    char line_info[128];
};

static int take_site(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_call_site *site = row;
    struct site *sites = ctx;

    (void)err;
    if (site->correlation_id > 0 && site->correlation_id < 8)
        snprintf(sites[site->correlation_id].line_info, sizeof sites->line_info, "%s",
                 site->line_info);
    return 0;
}

/* A call gets the innermost function of the program around it, of its own thread. */
static void test_python(void **state)
{
#define FRAME(name, tid, ts, dur)                                                                  \
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"" name "\",\"pid\":9,\"tid\":" #tid      \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{}},"
#define LAUNCH(tid, ts, call)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"hipLaunchKernel\",\"pid\":9,\"tid\":" #tid  \
    ",\"ts\":" #ts ",\"dur\":1,\"args\":{\"correlation\":" #call "}},"
    struct rp_store *s = open_events(
        FRAME("train.py(5): <module>", 9, 1, 100) FRAME("a (b)/m.py(17): step", 9, 10, 20)
            FRAME("torch/nn/functional.py(9): relu", 9, 12, 5) FRAME("weakref.py(4): get", 9, 12, 5)
                FRAME("<built-in function x>", 9, 13, 1) FRAME("other.py(3): run", 8, 1, 15)
                    LAUNCH(9, 13, 1) LAUNCH(9, 30, 2) LAUNCH(9, 102, 3) LAUNCH(8, 13, 4)
                        LAUNCH(7, 13, 5) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\","
                                         "\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":1}");
    static const char *const wanted[] = {
        "",
        "{\"file\":\"a (b)/m.py\",\"line\":17,\"function\":\"step\"}",
        "{\"file\":\"train.py\",\"line\":5,\"function\":\"<module>\"}",
        "{}",
        "{\"file\":\"other.py\",\"line\":3,\"function\":\"run\"}",
        "{}",
    };
    struct site sites[8] = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_store_each_call_site(s, take_site, sites, &err), 0);
    for (size_t i = 1; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(wanted[i], "{}") != 0 || *sites[i].line_info)
            assert_string_equal(sites[i].line_info, wanted[i]);
    rp_store_close(s);
}

static void test_refused(void **state)
{
#define KERNEL "\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\""
#define CALL   "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"c\",\"ts\":1,\"tid\":1,\"pid\":"
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"traceEvents\":[]}", "no kernel, copy, call or operator"},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"tid\":1,"
         "\"pid\":1}]}",
         "no GPU events, only 1 operators and annotations and 0 calls"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0}]}", "traceEvents[0]: its ts"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":\"x\"}]}", "traceEvents[0]: its ts"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":1,\"dur\":[]}]}", "its dur"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":1e30}]}", "its ts"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":9223372036854775.807,\"dur\":1}]}",
         "too large"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":-7,\"ts\":1}]}", "its device"},
        {"{\"traceEvents\":[" CALL "1}," CALL "2}]}", "process 2, and others are of process 1"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":1", "it ends after"},
        {"{\"traceEvents\":[{" KERNEL ",\"pid\":0,\"ts\":01}]}", "is not JSON"},
        {"{\"traceEvents\":7}", "should be '['"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_store *s = NULL;
        assert_int_equal(rp_store_open_kineto(put(cases[i].text), &s, &err), -(int)RP_BAD_INPUT);
        if (!strstr(err.text, cases[i].words))
            fail_msg("%s: %s", cases[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),    cmocka_unit_test(test_base),
        cmocka_unit_test(test_names),    cmocka_unit_test(test_streams_of_gpus),
        cmocka_unit_test(test_geometry), cmocka_unit_test(test_gpu_names),
        cmocka_unit_test(test_python),   cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests_name("kineto_trace", tests, kit_setup, kit_teardown);
}
