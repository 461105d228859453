#include "analyze/source_texts.h"

#include "analyze/thread_trace.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8 };

/* A trace whose folder has snapshots.json and copies. */
struct fixture {
    char folder[64];
    struct rp_att_instruction instructions[MOST];
    struct rp_thread_trace trace;
    struct rp_thread_traces set;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
    rp_autofree char *path = rp_path_join(f->folder, name);
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_write_file(path, text, strlen(text), &err), 0);
}

/* Writes twenty lines: "line 1" and so on. */
static void put_lines(const struct fixture *f, const char *name)
{
    rp_autobuf text = {0};

    for (int i = 1; i <= 20; i++)
        rp_buf_printf(&text, "line %d\r\n", i);
    put(f, name, rp_buf_text(&text));
}

static int begin(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;

    memset(f, 0, sizeof *f);
    strcpy(f->folder, "/tmp/rp-source-texts-XXXXXX");
    *state = f;
    if (!mkdtemp(f->folder))
        return -1;
    f->trace = (struct rp_thread_trace){.path = f->folder, .instructions = f->instructions};
    f->set = (struct rp_thread_traces){.traces = &f->trace, .count = 1};
    return 0;
}

static int end(void **state)
{
    rp_remove_tree(((struct fixture *)*state)->folder);
    return 0;
}

static void executed(struct fixture *f, const char *source)
{
    struct rp_att_instruction *in = &f->instructions[f->trace.instruction_count++];

    in->source = (char *)source;
    in->isa = (char *)"s_nop 0";
    in->kind = RP_ATT_OTHER;
    in->sums = (struct rp_att_sums){.executed = 1, .latency_cycles = 100, .idle_cycles = 10};
}

static void found(struct fixture *f, struct rp_source_texts *ret)
{
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_source_texts_read(&f->set, ret, &err), 0);
}

static void lines_around_executed_ones_are_kept(void **state)
{
    rp_cleanup(rp_source_texts_free) struct rp_source_texts texts = {0};
    struct fixture *f = *state;

    put(f, "snapshots.json", "{\"/\": {\"src\": {\"k.hip\": \"source_0_k.hip\"}}}");
    put_lines(f, "source_0_k.hip");
    executed(f, "/src/k.hip:15");
    executed(f, "/opt/rocm/include/hip/x.h:3 -> /src/k.hip:2");
    executed(f, "/src/k.hip:15");
    executed(f, "/src/k.hip:0");
    executed(f, "");
    found(f, &texts);
    assert_int_equal(texts.trace_count, 1);
    assert_true(texts.traces[0].cycles == 5 * 110);
    assert_int_equal(texts.traces[0].line_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct rp_source_hot *hot = &texts.traces[0].lines[i];

        assert_int_equal(hot->file, 0);
        assert_true(hot->cycles == (hot->line == 15 ? 220 : 110));
        assert_true(hot->executed == (hot->line == 15 ? 2 : 1));
    }
    assert_int_equal(texts.file_count, 1);
    assert_string_equal(texts.files[0].path, "/src/k.hip");
    assert_int_equal(texts.files[0].line_count, 5 + 7);
    assert_int_equal(texts.files[0].lines[0].line, 1);
    assert_int_equal(texts.files[0].lines[4].line, 5);
    assert_int_equal(texts.files[0].lines[5].line, 12);
    assert_string_equal(texts.files[0].lines[11].text, "line 18");
}

static void what_was_not_executed_has_no_text(void **state)
{
    rp_cleanup(rp_source_texts_free) struct rp_source_texts texts = {0};
    struct fixture *f = *state;

    put(f, "snapshots.json", "{\"/\": {\"src\": {\"k.hip\": \"source_0_k.hip\"}}}");
    put_lines(f, "source_0_k.hip");
    executed(f, "/src/k.hip:15");
    f->instructions[0].sums = (struct rp_att_sums){0};
    found(f, &texts);
    assert_int_equal(texts.file_count, 0);
    assert_int_equal(texts.traces[0].line_count, 0);
}

/* A page may be shown to others: nothing outside of the folder gets into it. */
static void only_copies_in_the_folder_are_read(void **state)
{
    static const char *const trees[] = {
        "{\"/\": {\"etc\": {\"passwd\": \"/etc/passwd\"}}}",
        "{\"/\": {\"etc\": {\"passwd\": \"../../etc/passwd\"}}}",
        "{\"/\": {\"etc\": {\"passwd\": \"source_0/../../../etc/passwd\"}}}",
        "{\"/\": {\"etc\": {\"passwd\": \"source_0_link\"}}}",
        "{\"/\": {\"etc\": {\"passwd\": \"code.json\"}}}",
        "{\"/\": {\"etc\": {}}}",
        "{\"/\": {\"etc\": {\"passwd\": {}}}}",
        "{\"/\": []}",
        "[",
    };
    struct fixture *f = *state;
    rp_autofree char *link = rp_path_join(f->folder, "source_0_link");

    put_lines(f, "code.json");
    assert_int_equal(symlink("/etc/passwd", link), 0);
    executed(f, "/etc/passwd:1");
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        rp_cleanup(rp_source_texts_free) struct rp_source_texts texts = {0};

        put(f, "snapshots.json", trees[i]);
        found(f, &texts);
        assert_int_equal(texts.file_count, 1);
        assert_int_equal(texts.files[0].line_count, 0);
    }
}

static void without_copies_there_is_nothing(void **state)
{
    static const char *const sources[] = {
        "", "k.hip", ":1", "k.hip:x", "k.hip:1x", "k.hip:99999999999", "/no/such.hip:1"};
    rp_cleanup(rp_source_texts_free) struct rp_source_texts texts = {0};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        executed(f, sources[i]);
    found(f, &texts);
    assert_int_equal(texts.file_count, 1);
    assert_string_equal(texts.files[0].path, "/no/such.hip");
    assert_int_equal(texts.files[0].line_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_around_executed_ones_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(what_was_not_executed_has_no_text, begin, end),
        cmocka_unit_test_setup_teardown(only_copies_in_the_folder_are_read, begin, end),
        cmocka_unit_test_setup_teardown(without_copies_there_is_nothing, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
