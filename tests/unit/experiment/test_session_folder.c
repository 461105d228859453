/* Who may go on with a session, and what is said to the others. */
#include "experiment/session_folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/journal.h"
#include "base/path.h"
#include "unit/scratch.h"

static struct rp_buf notes;

static void note(void *context, const char *line)
{
    (void)context;
    rp_buf_printf(&notes, "%s\n", line);
}

static struct rp_session_folder folder_of(const char *path, bool resume)
{
    notes.len = 0;
    return (struct rp_session_folder){
        .path = path, .noun = "search", .resume = resume, .note = note, .lock = -1};
}

/** Claims and opens, and adds so many records. */
static int use(const char *path, bool resume, size_t records, struct rp_err *err)
{
    struct rp_session_folder folder = folder_of(path, resume);
    int rc = rp_session_folder_claim(&folder, err);

    if (rc == 0)
        rc = rp_session_folder_open_journal(&folder, err);
    for (size_t i = 0; rc == 0 && i < records; i++)
        rc = rp_journal_add(folder.journal, "record", NULL, json_object(), err);
    rp_session_folder_close(&folder);
    return rc;
}

static void one_session_has_it(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "one");
    struct rp_session_folder first = folder_of(path, false), second = folder_of(path, false);
    struct rp_err err = RP_ERR_INIT;
    struct stat st;

    (void)state;
    assert_int_equal(rp_session_folder_claim(&first, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(rp_session_folder_claim(&second, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "one is in use by another search: choose another -o"));
    rp_session_folder_close(&second);
    rp_session_folder_close(&first);
    assert_int_equal(rp_session_folder_claim(&second, &err), 0);
    rp_session_folder_close(&second);
    rp_session_folder_close(&second);
}

static void what_there_is_to_resume(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "resumed");
    rp_autofree char *journal = rp_path_join(path, "journal.jsonl");
    struct rp_err err = RP_ERR_INIT;
    struct stat st;

    (void)state;
    assert_int_equal(use(path, true, 0, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "there is no search in "));
    assert_false(rp_path_exists(path));
    assert_int_equal(use(path, false, 1, &err), 0);
    assert_int_equal(notes.len, 0);
    /* One record says what it is: nothing is lost. */
    assert_int_equal(use(path, true, 2, &err), 0);
    assert_non_null(strstr(rp_buf_text(&notes), "the search there ended before"));
    assert_int_equal(use(path, false, 0, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--resume goes on with it"));
    assert_int_equal(use(path, true, 1, &err), 0);
    assert_int_equal(notes.len, 0);
    assert_int_equal(stat(journal, &st), 0);
    assert_int_equal(truncate(journal, st.st_size - 5), 0);
    assert_int_equal(use(path, true, 0, &err), 0);
    assert_non_null(strstr(rp_buf_text(&notes), "bytes are cut off"));
}

static void files_of_others(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "others");
    rp_autofree char *program = rp_path_join(path, "program");
    struct rp_session_folder folder = folder_of(path, false);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_mkdirs_private(path, &err), 0);
    assert_int_equal(rp_write_private_file(program, "mine", 4, &err), 0);
    assert_int_equal(rp_session_folder_claim(&folder, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "others has program, which is no search's"));
    assert_int_equal(unlink(program), 0);
    assert_int_equal(rp_session_folder_claim(&folder, &err), 0);
    rp_session_folder_close(&folder);
    /* A session that was killed before its journal began has left a lock. */
    assert_int_equal(rp_write_private_file(program, "its", 3, &err), 0);
    assert_int_equal(rp_session_folder_claim(&folder, &err), 0);
    rp_session_folder_close(&folder);
}

static void what_cannot_be_locked(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "locked");
    rp_autofree char *lock = rp_path_join(path, "lock");
    struct rp_session_folder folder = folder_of(path, false);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_mkdirs_private(lock, &err), 0);
    assert_int_equal(rp_session_folder_claim(&folder, &err), -RP_ENVIRONMENT);
    assert_int_equal(strncmp(err.text, "-o: cannot lock ", 16), 0);
    assert_non_null(strstr(err.text, "lock: Is a directory: choose another folder"));
}

/** A removed folder takes what is written to its open files with it. */
static void a_folder_that_is_gone(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "gone"), *aside = rp_format("%s-2", path);
    struct rp_session_folder folder = folder_of(path, false);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_session_folder_check_place(&folder, &err), 0);
    assert_int_equal(rp_session_folder_claim(&folder, &err), 0);
    assert_int_equal(rp_session_folder_check_place(&folder, &err), 0);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(rp_session_folder_check_place(&folder, &err), -RP_ENVIRONMENT);
    /* Another one in its place has a lock of its own. */
    assert_int_equal(use(path, false, 1, &err), 0);
    assert_int_equal(rp_session_folder_check_place(&folder, &err), -RP_ENVIRONMENT);
    rp_remove_tree(path);
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(rp_session_folder_check_place(&folder, &err), 0);
    rp_remove_tree(path);
    assert_int_equal(rp_session_folder_check(&folder, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "gone was removed or renamed meanwhile: put it back"));
    /* Another one of that name is not it. */
    assert_int_equal(use(path, false, 1, &err), 0);
    assert_int_equal(rp_session_folder_check_place(&folder, &err), -RP_ENVIRONMENT);
    rp_session_folder_close(&folder);
}

/** A number of the record may be of several options, each with the words of its user. */
static char *is_odd(const json_t *value)
{
    return rp_strdup(json_integer_value(value) & 1 ? "given" : "not given");
}

static void folders_in_it(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "outer");
    struct rp_session_folder folder = folder_of(path, false);
    rp_autofree char *made = NULL, *again = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct stat st;

    (void)state;
    assert_int_equal(rp_session_folder_claim(&folder, &err), 0);
    assert_int_equal(rp_session_folder_make(&folder, "inner", &made, &err), 0);
    assert_int_equal(rp_session_folder_make(&folder, "inner", &again, &err), 0);
    assert_string_equal(made, again);
    assert_int_equal(made[0], '/');
    assert_int_equal(stat(made, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(rp_session_folder_make(&folder, "lock/x", &again, &err), -RP_ENVIRONMENT);
    assert_int_equal(strncmp(err.text, "-o: cannot create folder ", 25), 0);
    assert_non_null(strstr(err.text, "Not a directory: choose another folder"));
    folder.resume = true;
    assert_int_equal(rp_session_folder_make(&folder, "lock", &again, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Not a directory: fix that, and go on with --resume"));
    rp_session_folder_close(&folder);
}

static void differences(void **state)
{
    static const struct rp_identity_row rows[] = {{"bits", "--odd", is_odd},
                                                  {"word", "--word", rp_identity_word},
                                                  {"seed", "--seed", NULL},
                                                  {"text_sha256", "the text", NULL},
                                                  {"gain", "--gain", rp_identity_percent},
                                                  {"dry", "--dry", NULL},
                                                  {"kernel", "--kernel", NULL},
                                                  {"timing", "--timing", rp_identity_model}};
    static const struct {
        const char *then, *now, *values, *names;
    } cases[] = {
        {"{'seed':1}", "{'seed':1}", "", ""},
        {"{'seed':1,'on':{'gpu':1}}", "{'seed':1,'on':{'gpu':2}}", "", ""},
        {"{'seed':1}", "{'seed':2}", "--seed was 1, is 2", "--seed"},
        {"{'text_sha256':'a'}", "{'text_sha256':'b'}", "the text was another one", "the text"},
        {"{'bits':1}", "{'bits':3}", "", ""},
        {"{'bits':1}", "{'bits':2}", "--odd was given, is not given", "--odd"},
        {"{'word':'fast'}", "{'word':'slow'}", "--word was fast, is slow", "--word"},
        {"{'text_sha256':'a'}", "{}", "the text was given, and is not", "the text"},
        {"{'gain':0.02}", "{'gain':0.1}", "--gain was 2, is 10", "--gain"},
        {"{'dry':false}", "{'dry':true}", "--dry was not given, is given", "--dry"},
        {"{'kernel':null}", "{'kernel':'k'}", "--kernel was not given, is \"k\"", "--kernel"},
        {"{'kernel':'k'}", "{}", "--kernel was \"k\", is not given", "--kernel"},
        {"{'new':1}", "{'newer':2}", "newer was not given, is 2; new was 1, is not given",
         "newer, new"},
        {"{'kernel':'a','seed':1}", "{'kernel':'b','seed':3}",
         "--seed was 1, is 3; --kernel was \"a\", is \"b\"", "--seed, --kernel"},
        {"{'kernel':'a'}",
         "{'kernel':'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'}",
         "--kernel was \"a\", is \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...",
         "--kernel"},
        {"{'kernel':'hipcc -O2 -Iinclude/of/a/long/name -DNAME=value -o out/first one.hip'}",
         "{'kernel':'hipcc -O2 -Iinclude/of/a/long/name -DNAME=value -o out/second one.hip'}",
         "--kernel was ...-DNAME=value -o out/first one.hip\", is ...-DNAME=value -o out/second "
         "one.hip\"",
         "--kernel"},
        {"{'timing':'fast (version 2)'}", "{'timing':'counts (version 2)'}", "", ""},
        {"{'timing':'fast'}", "{'timing':'counts'}", "", ""},
        {"{'timing':'fast (version 2)'}", "{'timing':'counts (version 3)'}",
         "--timing was \"counts (version 2)\", is \"counts (version 3)\"", "--timing"},
        {"{'timing':''}", "{'timing':'detailed'}", "--timing was not given, is \"detailed\"",
         "--timing"},
        {"{'gain':0.30000000000000004}", "{'gain':0.30000000000000004}", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autobuf values = {0}, names = {0};
        rp_autofree char *a = rp_strdup(cases[i].then), *b = rp_strdup(cases[i].now);
        json_t *then, *now;

        for (char *c = a; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        for (char *c = b; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        then = json_loads(a, 0, NULL);
        now = json_loads(b, 0, NULL);
        assert_non_null(then);
        assert_non_null(now);
        rp_identity_put_differences(rows, sizeof rows / sizeof *rows, then, now, true, &values);
        rp_identity_put_differences(rows, sizeof rows / sizeof *rows, then, now, false, &names);
        assert_string_equal(rp_buf_text(&values), cases[i].values);
        assert_string_equal(rp_buf_text(&names), cases[i].names);
        json_decref(then);
        json_decref(now);
    }
}

static int tear_down(void **state)
{
    rp_buf_free(&notes);
    return scratch_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_session_has_it),    cmocka_unit_test(what_there_is_to_resume),
        cmocka_unit_test(files_of_others),       cmocka_unit_test(folders_in_it),
        cmocka_unit_test(what_cannot_be_locked), cmocka_unit_test(a_folder_that_is_gone),
        cmocka_unit_test(differences),
    };

    return cmocka_run_group_tests(tests, scratch_begin, tear_down);
}
