/*
 * Thread traces of the software device, made by hand: files that are damaged in every way are
 * refused or understood, sums and states are those of a table, regular expressions find what
 * std::regex of libstdc++ finds (the tables: as that decided them).
 */
#include "unit/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"

#include "run/att_output.c"
#include "run/device_thread_trace.c"

enum { CODES = 3, WAVES = 2, ROWS = 5, WAITS = 1, EVENTS = 4, TEXT = 24 };

struct image {
    struct rp_threads_header header;
    struct rp_threads_code code[CODES];
    char text[TEXT];
    struct rp_threads_wave wave[WAVES];
    struct rp_threads_row row[ROWS];
    struct rp_threads_wait wait[WAITS];
    struct rp_threads_event event[EVENTS];
};

static struct image good(void)
{
    struct image i = {
        .header = {.magic = {'R', 'P', 'T', 'H', 'R', 'D', 'S', '1'},
                   .version = RP_THREADS_VERSION,
                   .header_bytes = sizeof(struct rp_threads_header),
                   .gfx_ip = 9,
                   .engine_mhz = 2100,
                   .timestamp_mhz = 100,
                   .entry_pc = 0x1000,
                   .groups = 1,
                   .group_count = 1,
                   .code_count = CODES,
                   .text_bytes = TEXT,
                   .wave_count = WAVES,
                   .row_count = ROWS,
                   .wait_count = WAITS,
                   .event_count = EVENTS},
        .code = {{.pc = 0x1000, .text = 0, .bytes = 4},
                 {.pc = 0x1004, .text = 6, .bytes = 4},
                 {.pc = 0x1008, .text = 12, .bytes = 4}},
        .text = "v_nop\0s_nop\0s_endpgm",
        .wave =
            {{.begin = 10, .end = 40, .row_count = 3, .wait_count = 1},
             {.begin = 12, .end = 20, .first_row = 3, .first_wait = 1, .row_count = 2, .simd = 1}},
        .row = {{14, 2, 6, 0, RP_THREADS_VALU, {0}},
                {20, 12, 16, 1, RP_THREADS_IMMEDIATE, {0}},
                {36, 0, 4, 2, RP_THREADS_MESSAGE, {0}},
                {12, 0, 4, 0, RP_THREADS_VALU, {0}},
                {16, 0, 4, 2, RP_THREADS_MESSAGE, {0}}},
        .wait = {{1, 0}},
        .event = {{10, 0, 0, 0, 0, 1},
                  {12, 0, 0, 1, 0, 1},
                  {20, 0, 0, 1, 0, 0},
                  {40, 0, 0, 0, 0, 0}},
    };
    return i;
}

static int parse(const void *bytes, size_t size, struct rp_device_trace_file *file)
{
    struct rp_err err = RP_ERR_INIT;
    int rc = device_trace_parse(bytes, size, file, &err);

    assert_true(rc == 0 || (rc == -RP_BAD_INPUT && err.text[0]));
    return rc;
}

static void files_are_read(void **state)
{
    const struct image i = good();
    struct rp_device_trace_file file;

    (void)state;
    assert_int_equal(parse(&i, sizeof i, &file), 0);
    assert_string_equal(rp_device_trace_text(&file, 2), "s_endpgm");
    assert_int_equal(file.event[3].clock, 40);
    for (size_t size = 0; size < sizeof i; size++)
        assert_int_equal(parse(&i, size, &file), -RP_BAD_INPUT);
}

/* Everything that the files' readers follow without looking. */
static uint64_t follow(const struct rp_device_trace_file *f)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < f->header->code_count; i++)
        sum += strlen(rp_device_trace_text(f, i));
    for (uint64_t w = 0; w < f->header->wave_count; w++) {
        for (uint32_t i = 0; i < f->wave[w].row_count; i++)
            sum += f->code[f->row[f->wave[w].first_row + i].code].bytes;
        for (uint32_t i = 0; i < f->wave[w].wait_count; i++)
            sum += f->code[f->wait[f->wave[w].first_wait + i].on].bytes;
    }
    return sum;
}

static void damage_is_refused_or_harmless(void **state)
{
    const struct image sound = good();
    unsigned refused = 0;

    (void)state;
    for (size_t at = 0; at < sizeof sound; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct image *copy =
                malloc(sizeof *copy); /* of its own, so that sanitizers see its end */
            struct rp_device_trace_file file;

            *copy = sound;
            ((uint8_t *)copy)[at] ^= (uint8_t)(1u << bit);
            if (parse(copy, sizeof *copy, &file) < 0)
                refused++;
            else
                assert_true(follow(&file) < UINT64_MAX);
            free(copy);
        }
    assert_true(refused > 8 * sizeof sound / 3); /* counts, indices, order: not just the magic */
}

static void impossible_waves_are_refused(void **state)
{
    struct rp_device_trace_file file;
    struct image i = good();

    (void)state;
    i.row[1].clock = 19; /* before the one before has ended */
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
    i = good();
    i.row[2].latency_clocks = 5; /* beyond the wave's end */
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
    i = good();
    i.row[0].stall_clocks = 7; /* longer than it takes */
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
    i = good();
    i.wave[1].slot = 8;
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
    i = good();
    i.code[1].pc = 0x1000; /* twice */
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
    i = good();
    i.text[TEXT - 1] = 'x'; /* no end */
    assert_int_equal(parse(&i, sizeof i, &file), -RP_BAD_INPUT);
}

static void sums_are_those_of_the_rows(void **state)
{
    static const uint64_t expected[CODES][4] = {{2, 10, 2, 4}, {1, 16, 12, 0}, {2, 8, 0, 0}};
    const struct image i = good();
    struct rp_code_listing listing;
    struct rp_device_trace_file file;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(parse(&i, sizeof i, &file), 0);
    assert_int_equal(code_listing_make(&file, NULL, 0, NULL, "unused", &listing, &err), 0);
    assert_int_equal(listing.count, CODES); /* no code object: no labels */
    for (size_t k = 0; k < CODES; k++) {
        const struct rp_code_line *l = &listing.at[k];
        const uint64_t got[] = {l->hits, l->latency, l->stall, l->idle};

        assert_memory_equal(got, expected[k], sizeof got);
        assert_int_equal(listing.line_of[k], k);
    }
    code_listing_free(&listing);
}

static void states_fill_the_life(void **state)
{
    const struct image i = good();
    struct rp_wave_states states = {0};
    rp_autobuf line = {0}, idle = {0}, exec = {0}, none = {0};

    (void)state;
    wave_states_add(&states, &i.wave[0], &i.row[0], &line);
    assert_string_equal(rp_buf_text(&line), "[[1,4],[4,2],[2,4],[3,12],[2,8]]");
    wave_states_add(&states, &i.wave[1], &i.row[3], &line);
    assert_string_equal(rp_buf_text(&line), "[[1,4],[4,2],[2,4],[3,12],[2,8]][[2,8]]");
    assert_true(wave_states_put(&states, RP_STATE_IDLE, "wstates1.json", &idle));
    assert_string_equal(rp_buf_text(&idle),
                        "{\"name\":\"wstates1.json\",\"state\":[1,0],\"time\":[10,14]}");
    assert_true(wave_states_put(&states, RP_STATE_EXEC, "x", &exec));
    assert_string_equal(rp_buf_text(&exec),
                        "{\"name\":\"x\",\"state\":[1,2,0,1,0],\"time\":[12,16,20,32,40]}");
    assert_false(wave_states_put(&states, RP_STATE_EMPTY, "x", &none));
    wave_states_free(&states);
}

static void expressions_find_what_they_find_elsewhere(void **state)
{
    static const struct {
        const char *regex, *name;
        int found;
    } cases[] = {
        {"saxpy", "void saxpy<float>(int)", 1},
        {"^saxpy", "void saxpy<float>(int)", 0},
        {"^void \\w+<float>\\(int\\)$", "void saxpy<float>(int)", 1},
        {"gemm(?:_\\d+)+$", "gemm_12_7", 1},
        {"gemm(?:_\\d+)+$", "gemm_12_x", 0},
        {"[^\\d]$", "k1", 0},
        {"[\\w:]+::k", "a::b::k", 1},
        {"a.*?b", "axxb", 1},
        {"a{2,3}?b", "aaab", 1},
        {"a\\??b", "a?b", 1},
        {"k[\\]x]", "k]", 1},
        {"k[x\\-z]", "k-", 1},
        {"k[x\\-z]", "ky", 0},
        {"k[\\^a]", "k^", 1},
        {"k[\\^a]", "kb", 0},
        {"\\bk\\b", "a k b", 1},
        {"\\bk\\b", "akb", 0},
        {"x|y", "y", 1},
        {"operator\\+\\+", "operator++", 1},
        {"[[:digit:]]+", "a7", 1},
        {"\\S\\s\\S", "a b", 1},
        {"\\D\\W", "1-", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        regex_t regex;

        if (rp_kernel_regex_compile("--kernel", cases[i].regex, &regex, &err) < 0)
            fail_msg("%s: %s", cases[i].regex, err.text);
        if ((regexec(&regex, cases[i].name, 0, NULL, 0) == 0) != cases[i].found)
            fail_msg("%s in %s", cases[i].regex, cases[i].name);
        regfree(&regex);
    }
}

static void what_cannot_be_said_is_refused(void **state)
{
    static const char *const bad[] = {"a(?=b)", "(a)\\1",    "(?!b)a", "\\x41", "\\cA", "[\\x41]",
                                      "[abc",   "[[:alpha:", "[[:a]",  "a\\",   "[\\",  "[a\\"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rp_err err = RP_ERR_INIT;
        regex_t regex;

        assert_int_equal(rp_kernel_regex_compile("--kernel", bad[i], &regex, &err), -RP_USAGE);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

/* The symbolizer is a script that keeps the file of its arguments. */
static void names_with_quotes_come_to_the_symbolizer(void **state)
{
    static const char script[] = "#!/bin/sh\ncp \"${1#@}\" \"$0.args\"\n";
    char dir[] = "/tmp/rp-symbolizer-XXXXXX";
    rp_autofree char *symbolizer = mkdtemp(dir) ? rp_path_join(dir, "symbolizer") : NULL;
    rp_autofree char *kept = rp_path_join(dir, "symbolizer.args");
    rp_autofree char *scratch = rp_path_join(dir, "scratch");
    rp_autofree char *line = NULL;
    rp_autofree char *args = NULL;
    const uint64_t address = 0x1234;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_write_file(symbolizer, script, strlen(script), &err), 0);
    assert_int_equal(chmod(symbolizer, 0700), 0);
    assert_int_equal(
        rp_source_lines(symbolizer, "/a \"b\"\\c/x.co", &address, 1, scratch, &line, &err), 0);
    args = rp_read_text(kept, 1000);
    rp_remove_tree(dir);
    assert_string_equal(args, "--inlines\n--functions=none\n"
                              "--obj=\"/a \\\"b\\\"\\\\c/x.co\"\n0x1234\n");
}

/* The first parameter may be lines below the kernel's head, but not beyond what stands above. */
static void a_kernel_begins_at_its_head(void **state)
{
    static const struct {
        const char *text;
        int line; /**< of the parameter: 4 */
    } rows[] = {
        {"\n__global__ void __launch_bounds__(256, 8)\n    react(const float *a,\n  int b)\n{\n}\n",
         2},
        {"__global__ void other()\n{\n}\nvoid react(int b)\n", 4},
        {"\n\n\n__global__ void react(int b)\n", 4},
        {"one line", 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char dir[] = "/tmp/rp-head-XXXXXX";
        rp_autofree char *path = mkdtemp(dir) ? rp_path_join(dir, "k.hip") : NULL;
        rp_autofree char *script =
            rp_format("#!/bin/sh\nprintf 'react\\nb\\n%s:4\\n?? 4 ??\\n'\n", path);
        rp_autofree char *wanted = rp_format("%s:%d", path, rows[i].line);
        rp_autofree char *symbolizer = rp_path_join(dir, "symbolizer"),
                         *scratch = rp_path_join(dir, "scratch");
        struct rp_source_variables found;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_write_file(path, rows[i].text, strlen(rows[i].text), &err), 0);
        assert_int_equal(rp_write_file(symbolizer, script, strlen(script), &err), 0);
        assert_int_equal(chmod(symbolizer, 0700), 0);
        assert_int_equal(rp_source_variables(symbolizer, "x.co", 4, scratch, &found, &err), 0);
        rp_remove_tree(dir);
        assert_string_equal(found.function_place, wanted);
        rp_source_variables_free(&found);
    }
}

/* What has no name, place or size is left out, and so is a group that is cut short. */
static void variables_have_a_name_a_place_and_a_size(void **state)
{
    static const char script[] =
        "#!/bin/sh\n"
        "printf 'k\\ntile\\n/a/k.hip:38\\n?? 61440 ??\\nk\\n??\\n/a/k.hip:39\\n?? 4 ??\\n'\n"
        "printf 'k\\nx\\n??:0\\n?? 4 ??\\nk\\ny\\n/a/k.hip:40\\n?? ?? ??\\n'\n"
        "printf 'g\\nz\\n/a/g.h:7\\n-16 8 ??\\nk\\nw\\n/a/k.hip:41\\n'\n";
    char dir[] = "/tmp/rp-symbolizer-XXXXXX";
    rp_autofree char *symbolizer = mkdtemp(dir) ? rp_path_join(dir, "symbolizer") : NULL;
    rp_autofree char *scratch = rp_path_join(dir, "scratch");
    struct rp_source_variables found;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_write_file(symbolizer, script, strlen(script), &err), 0);
    assert_int_equal(chmod(symbolizer, 0700), 0);
    assert_int_equal(rp_source_variables(symbolizer, "x.co", 0x1234, scratch, &found, &err), 0);
    rp_remove_tree(dir);
    assert_string_equal(found.function_place, "/a/k.hip:38"); /* There is no such file. */
    assert_int_equal(found.count, 2);
    assert_string_equal(found.at[0].function, "k");
    assert_string_equal(found.at[0].name, "tile");
    assert_string_equal(found.at[0].place, "/a/k.hip:38");
    assert_int_equal(found.at[0].bytes, 61440);
    assert_string_equal(found.at[1].name, "z");
    assert_int_equal(found.at[1].bytes, 8);
    rp_source_variables_free(&found);
}

struct source_row {
    const char *file, *text, *copy;
};

enum { MOST_ROWS = 4 };

/* rp_write_file has no room for its temporary name behind a long one. */
static void put_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Copies files with such names, and checks how they are named in the tree and as copies. */
static void check_copies(const struct source_row *rows, size_t count)
{
    char dir[] = "/tmp/rp-att-sources-XXXXXX";
    struct rp_code_line lines[MOST_ROWS] = {{0}};
    const struct rp_code_listing listing = {.at = lines, .count = count};
    struct rp_err err = RP_ERR_INIT;

    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(dir, rows[i].file);

        lines[i].source = rp_format("%s:%zu", path, i + 1);
        put_text(path, rows[i].file);
    }
    assert_int_equal(att_copy_sources(&listing, dir, &err), 0);

    rp_autofree char *name = rp_path_join(dir, "snapshots.json");
    json_t *tree = json_load_file(name, 0, NULL);
    json_t *folder = json_object_get(json_object_get(json_object_get(tree, "/"), "tmp"),
                                     dir + sizeof "/tmp/" - 1);
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(dir, rows[i].copy);
        rp_autofree char *copied = rp_read_text(path, 1000);
        rp_autobuf quoted = {0};

        assert_non_null(copied);
        free(lines[i].source);
        put_string(&quoted, rows[i].file);
        json_t *string = json_loads(quoted.data, JSON_DECODE_ANY, NULL);
        assert_string_equal(json_string_value(string), rows[i].text);
        json_decref(string);
        assert_string_equal(json_string_value(json_object_get(folder, rows[i].text)), rows[i].copy);
    }
    assert_int_equal(json_object_size(folder), count);
    json_decref(tree);
    rp_remove_tree(dir);
}

/* JSON cannot hold such names as they are: their odd bytes are written \\xNN. The backslash of a
 * name is written twice, so that none looks like another one. */
static void different_names_stay_different(void **state)
{
    static const struct source_row rows[] = {
        {"a\xff.hip", "a\\xff.hip", "source_2_a\\xff.hip"},
        {"a\xfe.hip", "a\\xfe.hip", "source_1_a\\xfe.hip"},
        {"a\\xff.hip", "a\\\\xff.hip", "source_0_a\\\\xff.hip"},
        {"\xc3\xa9.hip", "\xc3\xa9.hip", "source_3_\xc3\xa9.hip"}};

    (void)state;
    check_copies(rows, sizeof rows / sizeof *rows);
}

/* The number would make a name longer than file systems allow. What is cut begins with a whole
 * character. */
static void long_names_are_cut(void **state)
{
    char names[2][256], copies[2][256];
    struct source_row rows[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        memset(names[i], 'x', 250);
        memcpy(names[i] + 250 - 200 - 1, "\xc3\xa9", 2); /* the cut is in its middle */
        names[i][0] = (char)('a' + i);
        strcpy(names[i] + 246, ".hip");
        snprintf(copies[i], sizeof copies[i], "source_%d_%s", i, names[i] + 51);
        rows[i] = (struct source_row){names[i], names[i], copies[i]};
    }
    check_copies(rows, 2);
}

/* A name is longer where it is written: the last 200 bytes would begin within the form of its
 * odd byte (a cut before NN would leave a name that never was), or of its backslash. */
static void cuts_leave_forms_whole(void **state)
{
    char names[3][256], texts[3][256], copies[3][256], end[200];
    struct source_row rows[3];

    (void)state;
    memset(end, 'x', sizeof end - 1);
    strcpy(end + sizeof end - 5, ".hip");
    for (int i = 0; i < 3; i++) { /* 199, 198 and 197 bytes behind it, each with its number */
        const char *kept = end + i, *const odd[] = {"\\", "\xff", "\xff"};
        const char *const written[] = {"\\\\", "\\xff", "\\xff"};

        snprintf(names[i], sizeof names[i], "%d%s%s", i, odd[i], kept);
        snprintf(texts[i], sizeof texts[i], "%d%s%s", i, written[i], kept);
        snprintf(copies[i], sizeof copies[i], "source_%d_%s", i, kept);
        rows[i] = (struct source_row){names[i], texts[i], copies[i]};
    }
    check_copies(rows, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(damage_is_refused_or_harmless),
        cmocka_unit_test(impossible_waves_are_refused),
        cmocka_unit_test(sums_are_those_of_the_rows),
        cmocka_unit_test(states_fill_the_life),
        cmocka_unit_test(expressions_find_what_they_find_elsewhere),
        cmocka_unit_test(names_with_quotes_come_to_the_symbolizer),
        cmocka_unit_test(a_kernel_begins_at_its_head),
        cmocka_unit_test(variables_have_a_name_a_place_and_a_size),
        cmocka_unit_test(what_cannot_be_said_is_refused),
        cmocka_unit_test(different_names_stay_different),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(cuts_leave_forms_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
