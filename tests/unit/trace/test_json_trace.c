/* JSON traces: cutting at any place, handles of 64 bits, what is no JSON, what is missing. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/path.h"
#include "trace/csv_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.c"

static const char *put(const char *name, const char *text)
{
    const char *path = kit_path(name);

    kit_write_file(path, text, strlen(text));
    return path;
}

/* --- cutting ------------------------------------------------------------------------------- */

/* The first value of the file as it is handed over; NULL: refused, with the reason in err. */
static char *first_value(const char *text, struct rp_err *err)
{
    struct rp_json_stream *cut = calloc(1, sizeof *cut);
    const struct rp_buf *value;
    char *ret = NULL;

    cut->fd = -1;
    assert_int_equal(rp_json_stream_open(cut, put("value.json", text), 0, err), 0);
    if (rp_json_stream_value(cut, &value, err) == 0)
        ret = strdup(rp_buf_text(value));
    rp_json_stream_close(cut);
    free(cut);
    return ret;
}

static void test_values(void **state)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"{}", "{}"},
        {" \n\t[1, {\"a\": [2]}] 3", "[1, {\"a\": [2]}]"},
        {"12,", "12"},
        {"true]", "true"},
        {"\"a\\\"]}\\\\\" x", "\"a\\\"]}\\\\\""},
        {"[9223372036854775807]", "[9223372036854775807]"},
        {"[9223372036854775808,1]", "[\"9223372036854775808\",1]"},
        {"{\"handle\":18446744073709551615}", "{\"handle\":\"18446744073709551615\"}"},
        {"[18446744073709551616]", "[18446744073709551616]"}, /* jansson refuses it */
        {"[\"18446744073709551615\"]", "[\"18446744073709551615\"]"},
        {"[18446744073709551615.0]", "[18446744073709551615.0]"},
        {"[NaN,-Infinity,\"NaN\",Infinity,-1]", "[null,null,\"NaN\",null,-1]"},
        {"[\"\x8d\",18446744073709551614]", "[\"\xef\xbf\xbd\",\"18446744073709551614\"]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rp_err err = RP_ERR_INIT;
        rp_autofree char *value = first_value(cases[i].text, &err);
        assert_non_null(value);
        assert_string_equal(value, cases[i].value);
    }
}

static void test_no_values(void **state)
{
    static const char *const texts[] = {"", " ", "]", ",1", "{\"a\": [1, 2}", "[\"a]", "\"a\\\""};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rp_err err = RP_ERR_INIT;
        assert_null(first_value(texts[i], &err));
        assert_int_equal(err.code, RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "byte"));
    }
}

/* --- traces -------------------------------------------------------------------------------- */

#define TIMES(start, end)                                                                          \
    "\"start_timestamp\":" #start ",\"end_timestamp\":" #end ",\"thread_id\":7"
#define AGENT "{\"handle\":17446744073709551615}"

static const char trace[] =
    "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":5,\"command\":[\"./a\",\"b c\"]},"
    "\"buffer_records\":{\"kernel_dispatch\":[{\"correlation_id\":{\"internal\":3},"
    "\"dispatch_info\":{\"agent_id\":" AGENT ",\"queue_id\":{\"handle\":18446744073709551614},"
    "\"kernel_id\":2,\"dispatch_id\":1,\"workgroup_size\":{\"x\":64,\"y\":1,\"z\":1},"
    "\"grid_size\":{\"x\":640,\"y\":1,\"z\":1}}," TIMES(
        100, 200) "}],"
                  "\"hip_api\":[{\"kind\":0,\"operation\":1," TIMES(
                      90,
                      95) ","
                          "\"correlation_id\":{\"internal\":3,\"ancestor\":0},"
                          "\"args\":[{\"type\":\"int\",\"name\":\"stream\",\"value\":\"0x10\"}]}]},"
                          "\"kernel_symbols\":[{\"kernel_id\":2,\"code_object_id\":1,\"kernel_"
                          "name\":\"k\x8d.kd\","
                          "\"formatted_kernel_name\":\"k\"}],"
                          "\"callback_records\":{\"counter_collection\":[{\"thread_id\":7,"
                          "\"dispatch_data\":"
                          "{\"dispatch_info\":{\"dispatch_id\":1}},\"records\":[{\"counter_id\":{"
                          "\"handle\":9},"
                          "\"value\":1},{\"counter_id\":{\"handle\":9},\"value\":3.0},"
                          "{\"counter_id\":{\"handle\":8},\"value\":NaN}]}]},"
                          "\"counters\":[{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"},"
                          "{\"id\":{\"handle\":9},\"name\":\"SQ_WAVES\"},{\"id\":{\"handle\":8},"
                          "\"name\":\"Ratio\"}],"
                          "\"strings\":{\"buffer_records\":[{\"kind\":\"HIP\",\"operations\":["
                          "\"a\",\"hipLaunchKernel\"]}]},"
                          "\"agents\":[{\"id\":" AGENT
                          ",\"node_id\":4,\"type\":2,\"name\":\"gfx942\"}]}]}";

static void check_trace(struct rp_store *s)
{
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_counter *counters;
    const struct rp_row_region *regions;
    const struct rp_row_process *processes;
    const struct rp_row_kernel *kernels;
    const struct rp_row_arg *args;
    const struct rp_row_agent *agents;
    struct rp_err err = RP_ERR_INIT;
    size_t count;

    assert_int_equal(rp_store_dispatches(s, &dispatches, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(dispatches[0].agent_id, 4);
    assert_int_equal(dispatches[0].queue_id, -2);
    assert_int_equal(dispatches[0].stream_id, 0); /* not said: as in CSV */
    assert_int_equal(dispatches[0].correlation_id, 3);
    assert_int_equal(dispatches[0].start_ns, 100);
    assert_int_equal(dispatches[0].grid[0], 640);
    assert_int_equal(rp_store_counters(s, &counters, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(counters[0].name, "SQ_WAVES");
    assert_true(counters[0].value > 3.99 && counters[0].value < 4.01);
    assert_int_equal(rp_store_regions(s, &regions, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(regions[0].name, "hipLaunchKernel");
    assert_int_equal(rp_store_args(s, &args, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(args[0].value, "0x10");
    assert_int_equal(rp_store_processes(s, &processes, &count, &err), 0);
    assert_int_equal(processes[0].pid, 5);
    assert_string_equal(processes[0].command, "./a b c");
    assert_int_equal(rp_store_agents(s, &agents, &count, &err), 0);
    assert_true(count == 1 && agents[0].is_gpu);
    assert_int_equal(rp_store_kernels(s, &kernels, &count, &err), 0);
    assert_string_equal(kernels[0].kernel_name, "k\xef\xbf\xbd.kd");
}

/* Parts in an unusual order, and every value at the seam of two blocks once. */
static void test_seams(void **state)
{
    enum { BLOCK = sizeof((struct rp_json_stream *)NULL)->block };

    (void)state;
    for (size_t at = 0; at <= sizeof trace; at += 2) {
        rp_autobuf text = {0};
        struct rp_err err = RP_ERR_INIT;
        struct rp_store *s;
        const char *path;
        for (size_t i = 0; i < BLOCK - at; i++)
            rp_buf_add(&text, " ", 1);
        rp_buf_puts(&text, trace);
        path = put("seam.json", rp_buf_text(&text));
        assert_true(rp_store_is_json(path, true));
        assert_int_equal(rp_store_open_json(path, 0, &s, &err), 0);
        if (at % 64 == 0)
            check_trace(s);
        rp_store_close(s);
        assert_int_equal(rp_store_open_json(path, 1, &s, &err), 0);
        assert_null(s);
    }
}

static void test_what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *there, *instead, *says;
    } cases[] = {
        {"\"end_timestamp\":200", "\"end\":200",
         "buffer_records.kernel_dispatch[0]: it has no end_timestamp"},
        {"\"end_timestamp\":95", "\"end_timestamp\":\"x\"",
         "buffer_records.hip_api[0]: its end_timestamp is no whole number"},
        {"\"operation\":1", "\"operation\":7", "no name for kind 0, operation 7"},
        {"\"node_id\":4", "\"node\":4", "agents[0]: it has no node_id"},
        {"\"id\":" AGENT ",\"node_id\"", "\"id\":{\"handle\":5},\"node_id\"",
         "its dispatch_info.agent_id 17446744073709551615 is not among the agents"},
        {"\"name\":\"gfx942\"}]}]}", "\"name\":\"gfx942\"", "in the middle of a value"},
        {"\"kernel_id\":2,\"dispatch_id\"", "\"kernel_id\":2.5,\"dispatch_id\"",
         "dispatch_info.kernel_id is no whole number"},
        {"\"value\":1}", "\"value\":true}", "counter_collection[0]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(trace, cases[i].there);
        rp_autofree char *text = NULL;
        struct rp_err err = RP_ERR_INIT;
        struct rp_store *s;
        assert_non_null(at);
        text = rp_format("%.*s%s%s", (int)(at - trace), trace, cases[i].instead,
                         at + strlen(cases[i].there));
        assert_int_equal(rp_store_open_json(put("wrong.json", text), 0, &s, &err), -RP_BAD_INPUT);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "wrong.json"))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
    }
}

/* Plain records are parsed without jansson: what is taken for plain must be what jansson makes of
 * it, and is left as it is otherwise. */

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The first value of the text, as everything but plain records is read; NULL: it is not JSON. */
static json_t *by_jansson(const char *text)
{
    struct rp_json_stream *cut = calloc(1, sizeof *cut);
    struct rp_err err = RP_ERR_INIT;
    const char *path = kit_path("value.json");
    const struct rp_buf *value;
    json_t *ret = NULL;

    cut->fd = -1;
    kit_write_file(path, text, strlen(text));
    assert_int_equal(rp_json_stream_open(cut, path, 0, &err), 0);
    if (rp_json_stream_value(cut, &value, &err) == 0)
        ret = rp_json_parse(value, &err);
    rp_json_stream_close(cut);
    free(cut);
    return ret;
}

static const struct rp_json_value *last_member(const struct rp_json_value *of, const char *key)
{
    const struct rp_json_value *found = NULL;

    for (const struct rp_json_value *v = rp_json_first(of); v; v = rp_json_next(of, v))
        if (v->key_len == strlen(key) && memcmp(v->key, key, v->key_len) == 0)
            found = v;
    return found;
}

static void same(const struct rp_json_value *v, json_t *wanted)
{
    const char *key;
    json_t *below;
    size_t i = 0;

    assert_non_null(v);
    switch (v->type) {
    case RP_JSON_OBJECT:
        assert_true(json_is_object(wanted));
        json_object_foreach(wanted, key, below)
        {
            same(last_member(v, key), below);
        }
        for (const struct rp_json_value *m = rp_json_first(v); m; m = rp_json_next(v, m))
            assert_non_null(json_object_getn(wanted, m->key, m->key_len));
        break;
    case RP_JSON_ARRAY:
        assert_true(json_is_array(wanted));
        for (const struct rp_json_value *m = rp_json_first(v); m; m = rp_json_next(v, m))
            same(m, json_array_get(wanted, i++));
        assert_int_equal(i, json_array_size(wanted));
        break;
    case RP_JSON_TEXT:
        assert_string_equal(v->text, json_string_value(wanted));
        assert_int_equal(v->text_len, json_string_length(wanted));
        break;
    case RP_JSON_INTEGER:
        assert_true(json_is_integer(wanted));
        assert_true(v->integer == json_integer_value(wanted));
        break;
    case RP_JSON_BOOLEAN:
        assert_true(json_is_boolean(wanted));
        assert_int_equal(v->integer, json_is_true(wanted));
        break;
    case RP_JSON_NULL:
        assert_true(json_is_null(wanted));
        break;
    case RP_JSON_DECIMAL:
        assert_true(json_is_real(wanted));
        assert_true(strtod(v->text, NULL) == json_real_value(wanted));
        break;
    case RP_JSON_REAL:
        fail_msg("a fraction stays as it is written");
    }
}

/* @return whether it was taken for plain */
static bool check(const char *text)
{
    struct rp_json_record record = {0};
    char *mine = strdup(text);
    size_t len = json_parse_plain(&record, mine, strlen(text), false);
    json_t *wanted = NULL;

    if (len == 0) {
        assert_string_equal(mine, text);
    } else {
        wanted = by_jansson(text);
        assert_non_null(wanted);
        same(record.values, wanted);
        assert_int_equal(text[len - 1], '}');
    }
    json_decref(wanted);
    free(mine);
    rp_json_record_free(&record);
    return len > 0;
}

/* Says whether the text has a zero byte or half a pair, which are replaced here. */
static bool has_replaced(const char *text)
{
    return strstr(text, "\\u0000") || strstr(text, "\\ud8") || strstr(text, "\\uD8");
}

/* What jansson takes is an object of any kind here, and the same. @return whether it was taken */
static bool check_any(const char *text)
{
    struct rp_json_stream *cut = calloc(1, sizeof *cut);
    struct rp_json_record record = {0};
    struct rp_err err = RP_ERR_INIT;
    json_t *wanted = by_jansson(text);
    bool taken;

    cut->fd = -1;
    assert_int_equal(rp_json_stream_open(cut, put("any.json", text), 0, &err), 0);
    taken = rp_json_stream_object(cut, &record, &err) == 0;
    if (json_is_object(wanted)) {
        if (!taken)
            fail_msg("%s: %s", text, err.text);
        if (!has_replaced(text))
            same(record.values, wanted);
    }
    json_decref(wanted);
    rp_json_stream_close(cut);
    rp_json_record_free(&record);
    free(cut);
    return taken;
}

static const char record_text[] =
    "{\"size\":64, \"kind\": 3,\"operation\" "
    ":1,\"correlation_id\":{\"internal\":24001,\"external\":0}"
    ",\n\"start_timestamp\": 1000289468464,\"handle\": {\"handle\": 18446744073709547520},\"n\":-7,"
    "\"args\":[{\"type\":\"void*\",\"name\":\"ptr\",\"value\":\"0x7f00\"},{},[],null,true,false,0],"
    "\"big\":9223372036854775807,\"more\":9223372036854775808,\"size\":[[1,2],3],\"\":\"\"}";

static void test_what_is_plain(void **state)
{
    static const char *const plain[] = {
        "{\"a\":1.5,\"b\":[1e3,-0.25E-2]}", record_text, "{}", " {\"a\" : { } } tail", "{\"a\":-0}",
        "{\"a\":1,\"a\":{\"b\":2}}",
    };
    static const char *const odd[] = {
        "",
        "[1]",
        "1",
        "{",
        "{\"a\":1",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":1e999}",
        "{\"a\":1.5.2}",
        "{\"a\":-}",
        "{\"a\":NaN}",
        "{\"a\":nul}",
        "{\"a\":truex}",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":\"\\n\"}",
        "{\"a\":\"\xc3\xa9\"}",
        "{\"a\":\"\x01\"}",
        "{\"a\" 1}",
        "{\"a\":1]",
        "{\"a\":18446744073709551616}",
        "{\"a\":-9223372036854775809}",
        "{\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(check(plain[i]));
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_false(check(odd[i]));
}

static void test_objects_of_any_kind(void **state)
{
    static const char *const taken[] = {
        "{\"a\":\"\\n\\t\\\"\\\\\\/\\b\\f\\r\"}",
        "{\"a\":\"\xc3\xa9 \\u00e9 \\u20ac \\ud83d\\ude00\"}",
        "{\"a\":\"\x01\"}", /* control bytes, which jansson refuses */
        "{\"a\":\"\\ud83d \\ude00 \\ud83dx\"}",
        "{\"\\u0061\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}",
        "{\"a\":NaN,\"b\":-Infinity,\"c\":18446744073709551615}",
    };
    static const char *const refused[] = {
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":tru}",
        "[1]",
        "{\"a\":1e999}",
        "{\"a\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_true(check_any(taken[i]));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(check_any(refused[i]));
}

static void test_changed_records(void **state)
{
    static const char bytes[] = "{}[]\",:\\ 0189-+.eEntfu\n\x80";
    uint64_t seed = 0x9e3779b97f4a7c15u;
    size_t taken = 0;
    char text[sizeof record_text];

    (void)state;
    for (int n = 0; n < 4000; n++) {
        memcpy(text, record_text, sizeof text);
        for (uint64_t k = draw(&seed) % 3 + 1; k; k--)
            text[draw(&seed) % (sizeof text - 1)] = bytes[draw(&seed) % (sizeof bytes - 1)];
        taken += check(text);
        if (n % 16 == 0) /* Each is a file. */
            check_any(text);
    }
    assert_in_range(taken, 400, 3600); /* both ways were taken */
}

/* The end of a block may be anywhere. */
static void test_beginnings(void **state)
{
    struct rp_json_record record = {0};

    (void)state;
    for (size_t len = 0; len < sizeof record_text - 1; len++) {
        char *part = malloc(len + 1); /* what is behind it must not be read */
        memcpy(part, record_text, len);
        part = realloc(part, len ? len : 1);
        assert_int_equal(json_parse_plain(&record, part, len, false), 0);
        free(part);
    }
    rp_json_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_no_values),
        cmocka_unit_test(test_seams),         cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_what_is_plain), cmocka_unit_test(test_changed_records),
        cmocka_unit_test(test_beginnings),    cmocka_unit_test(test_objects_of_any_kind),
    };

    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
