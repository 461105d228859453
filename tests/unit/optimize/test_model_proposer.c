/* The parts of the model client that need no server: addresses, settings, events, answers. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "optimize/model_exchange.h"
#include "optimize/source_text.h"
#include "unit/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "optimize/model_proposer.c"

static const char test_key[] = "sk-secret-0123456789";

static void addresses(void **state)
{
    static const struct {
        const char *url;
        bool good, encrypted, loopback;
    } rows[] = {
        {"https://api.example.com/v1", true, true, false},
        {"http://127.0.0.1:8080/v1", true, false, true},
        {"http://127.9.9.9/v1", true, false, true},
        {"http://localhost/v1/", true, false, true},
        {"http://LOCALHOST:1/v1", true, false, true},
        {"http://[::1]:8080/v1", true, false, true},
        {"http://2130706433/v1", true, false,
         false}, /* 127.0.0.1 as one number: no libcurl is asked */
        {"HTTPS://example.com:443", true, true, false},
        {"https://example.com:65536/v1", false, false, false},
        {"https://example.com:80:80/v1", false, false, false},
        {"https://example.com\\@127.0.0.1/v1", false, false, false},
        {"http://127.0.0.1\\.example.com/v1", false, false, false},
        {"http://127.0.0.1%2eexample.com/v1", false, false, false},
        {"http://[::1/v1", false, false, false},
        {"http://[::1].example.com/v1", false, false, false},
        {"http:///v1", false, false, false},
        {"http://10.0.0.1/v1", true, false, false},
        {"http://localhost.example.com/v1", true, false, false},
        {"http://127.0.0.1.example.com/v1", true, false, false},
        {"http://[::2]/v1", true, false, false},
        {"http://user:word@127.0.0.1/v1", false, false, false},
        {"http://127.0.0.1@example.com/v1", false, false, false},
        {"https://example.com/v1?key=1", false, false, false},
        {"https://example.com/v1#a", false, false, false},
        {"file:///etc/passwd", false, false, false},
        {"ftp://example.com/", false, false, false},
        {"example.com/v1", false, false, false},
        {"http://", false, false, false},
        {"", false, false, false},
        {"https://exa mple.com/", false, false, false},
        {"https://example.com/\r\nX: y", false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_err err = RP_ERR_INIT;
        bool encrypted, loopback;
        int rc = llm_url_check(rows[i].url, &encrypted, &loopback, &err);

        if (rc != (rows[i].good ? 0 : -RP_USAGE))
            fail_msg("%s: %d %s", rows[i].url, rc, err.text);
        if (rc == 0 && (encrypted != rows[i].encrypted || loopback != rows[i].loopback))
            fail_msg("%s: encrypted %d, loopback %d", rows[i].url, encrypted, loopback);
    }
}

static void no_variables(void)
{
    static const char *const names[] = {
        "ROCM_PERF_LLM_BASE_URL", "ROCM_PERF_LLM_MODEL", "ROCM_PERF_LLM_API_KEY", "OPENAI_BASE_URL",
        "OPENAI_MODEL",           "OPENAI_API_KEY",      "XDG_CONFIG_HOME"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("HOME", "/nonexistent", 1);
}

/* A file of this text and mode; what reading it says. */
static void read_settings(const char *text, mode_t mode, int wanted, const char *said)
{
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings s = {0};
    struct rp_err err = RP_ERR_INIT;
    char path[] = "/tmp/rp-llm-XXXXXX";
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    rc = rp_llm_settings_read(path, &s, &err);
    unlink(path);
    if (rc != -wanted || !strstr(err.text, said) || strstr(err.text, "sk-secret"))
        fail_msg("%s\ngives %d: %s", text, rc, err.text);
}

static void files(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *said;
    } rows[] = {
        {"{\"base_url\":\"https://h/v1\",\"model\":\"m\",\"api_key\":\"sk-secret-0123456789\"}", 0,
         ""},
        {"{\"base_url\":\"http://h/v1\",\"model\":\"m\",\"api_key\":\"sk-secret-0123456789\"}",
         RP_USAGE, "use an https address"},
        {"{\"base_url\":\"http://h/v1\",\"model\":\"m\",\"api_key\":\"\"}", 0, ""},
        {"{\"base_url\":\"http://127.0.0.1/v1\",\"model\":\"m\",\"api_key\":\"sk-secret\"}", 0, ""},
        {"{\"base_url\":\"https://h/v1\",\"model\":\"m\",\"api_key\":\"sk-secret\\n\"}", RP_USAGE,
         "line feed"},
        {"{\"base_url\":\"https://h/v1\"}", RP_USAGE, "no model is named"},
        {"{\"model\":\"m\"}", RP_BAD_INPUT, "\"base_url\" is missing"},
        {"{\"base_url\":1}", RP_BAD_INPUT, "\"base_url\" must be a text"},
        {"{\"base_url\":\"https://h\",\"apikey\":\"sk-secret\"}", RP_BAD_INPUT,
         "unknown member \"apikey\""},
        {"{\"api_key\":\"sk-secret-0123456789}", RP_BAD_INPUT, "not JSON: line 1"},
        {"[]", RP_BAD_INPUT, "not a JSON object"},
        {"{\"stream\":1}", RP_BAD_INPUT, "\"stream\" must be true or false"},
        {"{\"temperature\":3}", RP_BAD_INPUT, "\"temperature\" must be a number from 0 to 2"},
        {"{\"max_attempts\":0}", RP_BAD_INPUT, "a whole number from 1 to 20"},
        {"{\"max_attempts\":1.5}", RP_BAD_INPUT, "a whole number from 1 to 20"},
        {"{\"total_timeout_s\":-1}", RP_BAD_INPUT, "from 0.01 to 86400"},
    };
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings s = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    no_variables();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        read_settings(rows[i].text, 0600, rows[i].code, rows[i].said);
    read_settings(rows[0].text, 0400, 0, "");
    read_settings(rows[0].text, 0640, RP_USAGE, "chmod 600");
    read_settings(rows[0].text, 0604, RP_USAGE, "chmod 600");
    read_settings(rows[0].text, 0700, RP_USAGE, "chmod 600");
    assert_int_equal(rp_llm_settings_read("/dev/null", &s, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(rp_llm_settings_read("/no/such", &s, &err), -RP_USAGE);
}

/* All test_members arrive where they belong. */
static void test_members(void **state)
{
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings s = {0};
    struct rp_err err = RP_ERR_INIT;
    char path[] = "/tmp/rp-llm-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    no_variables();
    dprintf(fd,
            "{\"base_url\":\"https://h/v1//\",\"model\":\"m\",\"api_key\":\"%s\",\"stream\":false,"
            "\"temperature\":0.25,\"max_attempts\":7,\"connect_timeout_s\":1.5,"
            "\"idle_timeout_s\":2,\"total_timeout_s\":3,\"retry_delay_s\":4,"
            "\"max_retry_after_s\":5,\"prompt_tokens\":600,\"answer_tokens\":17,"
            "\"budget_tokens\":18,\"ca_file\":\"/c\"}",
            test_key);
    close(fd);
    assert_int_equal(rp_llm_settings_read(path, &s, &err), 0);
    unlink(path);
    assert_string_equal(s.base_url, "https://h/v1");
    assert_string_equal(s.model, "m");
    assert_string_equal(s.api_key, test_key);
    assert_string_equal(s.ca_file, "/c");
    assert_string_equal(s.origin, path);
    assert_true(!s.stream && s.has_temperature && s.temperature == 0.25 && !s.loopback);
    assert_int_equal(s.max_attempts, 7);
    assert_int_equal(s.connect_timeout_ns, 1500000000);
    assert_int_equal(s.idle_timeout_ns, 2000000000);
    assert_int_equal(s.total_timeout_ns, 3000000000);
    assert_int_equal(s.retry_delay_ns, 4000000000);
    assert_int_equal(s.max_retry_after_ns, 5000000000);
    assert_int_equal(s.prompt_tokens, 600);
    assert_int_equal(s.answer_tokens, 17);
    assert_int_equal(s.budget_tokens, 18);
}

static void test_variables(void **state)
{
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings s = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    no_variables();
    assert_int_equal(rp_llm_settings_read(NULL, &s, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "set ROCM_PERF_LLM_BASE_URL"));
    setenv("OPENAI_API_KEY", test_key, 1);
    setenv("OPENAI_MODEL", "m", 1);
    assert_int_equal(rp_llm_settings_read(NULL, &s, &err), 0);
    assert_string_equal(s.base_url, "https://api.openai.com/v1");
    assert_string_equal(s.api_key, test_key);
    rp_llm_settings_free(&s);
    setenv("ROCM_PERF_LLM_API_KEY", "other", 1);
    assert_int_equal(rp_llm_settings_read(NULL, &s, &err), -RP_USAGE);
    setenv("ROCM_PERF_LLM_BASE_URL", "https://h", 1);
    setenv("ROCM_PERF_LLM_MODEL", "n", 1);
    assert_int_equal(rp_llm_settings_read(NULL, &s, &err), 0);
    assert_string_equal(s.api_key, "other");
    assert_string_equal(s.model, "n");
    no_variables();
}

static int collect(void *context, const char *data, size_t bytes, struct rp_err *err)
{
    (void)err;
    assert_int_equal(strlen(data), bytes);
    rp_buf_printf(context, "[%s]", data);
    return 0;
}

/* The examples of the standard, and other ends of lines, in all cuts into three pieces. */
static void event_cuts(void **state)
{
    static const struct {
        const char *stream, *events;
    } rows[] = {
        {"data: YHOO\ndata: +2\ndata: 10\n\n", "[YHOO\n+2\n10]"},
        {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
         "event\n\n",
         "[first event][second event][ third event]"},
        {"data\n\ndata\ndata\n\ndata:", "[][\n][]"},
        {"data:test\n\ndata: test\n\n", "[test][test]"},
        {"\xEF\xBB\xBF"
         "data: a\r\rdata: b\r\n\r\ndata: c\n\n",
         "[a][b][c]"},
        {"data: a\r\ndata: b\r\n\r\n", "[a\nb]"},
        {"event: x\ndatum: y\ndat: z\n data: v\ndatax: w\n\n", ""},
        {"data: a:b: c\n\n", "[a:b: c]"},
        {"\n\n\r\n\r", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bytes = strlen(rows[i].stream);

        for (size_t a = 0; a <= bytes; a++) {
            for (size_t b = a; b <= bytes; b++) {
                rp_autobuf got = {0};
                struct rp_err err = RP_ERR_INIT;
                struct rp_sse sse = {.event = collect, .context = &got};

                assert_int_equal(rp_sse_feed(&sse, rows[i].stream, a, &err), 0);
                assert_int_equal(rp_sse_feed(&sse, rows[i].stream + a, b - a, &err), 0);
                assert_int_equal(rp_sse_feed(&sse, rows[i].stream + b, bytes - b, &err), 0);
                assert_int_equal(rp_sse_end(&sse, &err), 0);
                assert_string_equal(rp_buf_text(&got), rows[i].events);
                rp_sse_free(&sse);
            }
        }
    }
}

static void answer_is(const char *text, enum rp_finish finish, int wanted, const char *expected)
{
    struct rp_completion c = {.finish = finish};
    rp_autofree char *kernel = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t bytes = 0;
    int rc;

    rp_buf_puts(&c.text, text);
    rc = rp_llm_answer_kernel(&c, &kernel, &bytes, &err);
    rp_completion_free(&c);
    if (rc != -wanted || (rc < 0 && !strstr(err.text, expected)))
        fail_msg("%s\ngives %d: %s", text, rc, err.text);
    if (rc == 0) {
        assert_string_equal(kernel, expected);
        assert_int_equal(strlen(kernel), bytes);
    }
}

static void kernels(void **state)
{
    (void)state;
    answer_is("```\nk\n```", RP_FINISH_STOP, 0, "k");
    answer_is("```\nk\n```", RP_FINISH_NONE, 0, "k");
    answer_is("a\n  ~~~ hip x\nk\nl\n\n  ~~~~  \nb", RP_FINISH_STOP, 0, "k\nl\n");
    answer_is("````\n```\nk\n```\n````\n", RP_FINISH_STOP, 0, "```\nk\n```");
    answer_is("```\nk\n~~~\nl\n```", RP_FINISH_STOP, 0, "k\n~~~\nl");
    answer_is("```c\nk ``` l\n```", RP_FINISH_STOP, 0, "k ``` l");
    answer_is("use ```x``` so\n```x```\n```\nk\n```", RP_FINISH_STOP, 0, "k");
    answer_is("```\nk\n    ```\n```", RP_FINISH_STOP, 0, "k\n    ```");
    answer_is("```\nk\n```c\n", RP_FINISH_STOP, RP_VERDICT, "has no end");
    answer_is("```\nk", RP_FINISH_STOP, RP_VERDICT, "has no end");
    answer_is("```", RP_FINISH_STOP, RP_VERDICT, "has no end");
    answer_is("```\n```", RP_FINISH_STOP, RP_VERDICT, "block of the answer is empty");
    answer_is("```\n \t\r\n```", RP_FINISH_STOP, RP_VERDICT, "block of the answer is empty");
    answer_is("k", RP_FINISH_STOP, RP_VERDICT, "no fenced block");
    answer_is(" \n", RP_FINISH_STOP, RP_VERDICT, "the answer is empty");
    answer_is("```\nk\n```\n```\nk\n```", RP_FINISH_STOP, RP_VERDICT, "more than one");
    answer_is("```\nk\n```\n```\nk", RP_FINISH_STOP, RP_VERDICT, "more than one");
    answer_is("```\nk\n```", RP_FINISH_LENGTH, RP_VERDICT, "cut at the limit");
    answer_is("```\nk\xC0\xAF\n```", RP_FINISH_STOP, RP_VERDICT, "not UTF-8 at byte 5");
}

static void characters(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"a", 1},        {"\xC3\xA9", 2},     {"\xE2\x82\xAC", 3},     {"\xF0\x9F\x98\x80", 4},
        {"\xC0\xAF", 0}, {"\xE0\x80\x80", 0}, {"\xED\xA0\x80", 0},     {"\xF4\x90\x80\x80", 0},
        {"\x80", 0},     {"\xE2\x82", 0},     {"\xF0\x80\x80\x80", 0}, {"\xFF", 0}};
    rp_autobuf out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rp_utf8_length(rows[i].text, strlen(rows[i].text)), rows[i].length);
    /* CSI of one byte, and the direction of writing. */
    rp_buf_add_model_text(&out,
                          "\xC2\x9B"
                          "1m\xC2\xA0\xE2\x80\xAEz",
                          10);
    assert_string_equal(rp_buf_text(&out), "\xEF\xBF\xBD"
                                           "1m\xC2\xA0\xEF\xBF\xBD"
                                           "z");
    out.len = 0;
    rp_buf_add_model_text(&out, "a\r\nb\tc\x1B[1m\xFF\xC3\xA9\r\x7F", 15);
    assert_string_equal(rp_buf_text(&out), "a\nb\tc\xEF\xBF\xBD[1m\xEF\xBF\xBD\xC3\xA9"
                                           "\xEF\xBF\xBD\xEF\xBF\xBD");
}

static void redaction(void **state)
{
    char whole[] = "wrong key sk-secret-0123456789, not sk-secret-0123456789";
    char cut[] = "wrong key sk-secret-01";
    char other[] = "sk-sec sk sks";

    (void)state;
    llm_redact(whole, test_key);
    assert_string_equal(whole, "wrong key ********************, not ********************");
    llm_redact(cut, test_key);
    assert_string_equal(cut, "wrong key ************");
    llm_redact(other, test_key);
    assert_string_equal(other, "sk-sec sk sks");
    llm_redact(other, NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),    cmocka_unit_test(files),
        cmocka_unit_test(test_members), cmocka_unit_test(test_variables),
        cmocka_unit_test(event_cuts),   cmocka_unit_test(kernels),
        cmocka_unit_test(characters),   cmocka_unit_test(redaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
