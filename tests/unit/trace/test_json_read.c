/* Plain records are parsed without jansson: what is taken for plain must be what jansson makes of
 * it, and is left as it is otherwise. */
#include "kit.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "trace/foreign_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.c"

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
    case RP_JSON_REAL:
        fail_msg("a fraction is not plain");
    }
}

/* @return whether it was taken for plain */
static bool check(const char *text)
{
    struct rp_json_record record = {0};
    char *mine = strdup(text);
    size_t len = rp_json_parse_plain(&record, mine, strlen(text));
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

static const char record_text[] =
    "{\"size\":64, \"kind\": 3,\"operation\" "
    ":1,\"correlation_id\":{\"internal\":24001,\"external\":0}"
    ",\n\"start_timestamp\": 1000289468464,\"handle\": {\"handle\": 18446744073709547520},\"n\":-7,"
    "\"args\":[{\"type\":\"void*\",\"name\":\"ptr\",\"value\":\"0x7f00\"},{},[],null,true,false,0],"
    "\"big\":9223372036854775807,\"more\":9223372036854775808,\"size\":[[1,2],3],\"\":\"\"}";

static void test_what_is_plain(void **state)
{
    static const char *const plain[] = {
        record_text, "{}", " {\"a\" : { } } tail", "{\"a\":-0}", "{\"a\":1,\"a\":{\"b\":2}}",
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
        "{\"a\":1.5}",
        "{\"a\":1e3}",
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
        assert_int_equal(rp_json_parse_plain(&record, part, len), 0);
        free(part);
    }
    rp_json_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_plain),
        cmocka_unit_test(test_changed_records),
        cmocka_unit_test(test_beginnings),
    };

    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
