/** Calls of tools_ become words of a command, and nothing else. */
#include "cli/mcp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "unit/cmocka_all.h"

#include "cli/mcp_tools.c"

static int make(const char *tool, const char *arguments, struct rp_mcp_command *ret,
                struct rp_err *err)
{
    json_t *json = json_loads(arguments, 0, NULL);
    const struct rp_mcp_tool *found = rp_mcp_tool_find(tool);
    int rc;

    assert_non_null(json);
    assert_non_null(found);
    rc = rp_mcp_command_make(found, json, NULL, ret, err);
    json_decref(json);
    return rc;
}

static void words_of_commands(void **state)
{
    static const struct {
        const char *tool, *arguments, *words;
    } rows_[] = {
        {"bench", "{\"only\":[\"hbm_read\",\"lds\"],\"output\":\"f\"}",
         "rocm-perf|bench|--json|--only=hbm_read|--only=lds|--output=f|--"},
        {"doctor", "{}", "rocm-perf|doctor|--json|--"},
        {"why", "{}", "rocm-perf|analyze|--analysis|--|.rocpd_profile"},
        {"why", "{\"traces\":[],\"top\":3}",
         "rocm-perf|analyze|--analysis|--top=3|--|.rocpd_profile"},
        {"why", "{\"traces\":[\"a\",\"--help\"]}", "rocm-perf|analyze|--analysis|--|a|--help"},
        {"history", "{}", "rocm-perf|history|list|--json|--"},
        {"history", "{\"action\":\"check\",\"margin_percent\":2,\"config\":[\"a=b\"]}",
         "rocm-perf|history|check|--json|--config=a=b|--margin=2|--"},
        {"history", "{\"action\":\"add\",\"results\":[\"r\"]}", "rocm-perf|history|add|--|r"},
        {"report", "{\"traces\":[\"r\"],\"format\":\"csv\",\"output\":\"-x\"}",
         "rocm-perf|report|--output=-x|--format=csv|--|r"},
        {"profile", "{\"program\":\"./a b\",\"args\":[\"--json\",\"$(x)\",\"\"],\"runs\":2}",
         "rocm-perf|profile|--json|--runs=2|--|./a b|--json|$(x)|"},
        {"profile", "{\"program\":\"--help\",\"device\":\"--x\",\"output\":\"-y\"}",
         "rocm-perf|profile|--json|--device=--x|--output=-y|--|--help"},
        {"profile", "{\"program\":\"p\",\"counters\":[\"A\",\"-B\"],\"roofline\":true}",
         "rocm-perf|profile|--json|--roofline|--pmc=A|--pmc=-B|--|p"},
        {"profile", "{\"program\":\"p\",\"roofline\":false,\"timeout_s\":0.5}",
         "rocm-perf|profile|--json|--timeout=0.5|--|p"},
        {"profile", "{\"program\":\"p\",\"runs\":null,\"args\":null,\"directory\":null}",
         "rocm-perf|profile|--json|--|p"}, /* as some clients write what they do not give */
        {"profile", "{\"program\":\"p\",\"timing\":\"fast\"}", /* its old name */
         "rocm-perf|profile|--json|--timing=fast|--|p"},
        {"analyze", "{\"traces\":[\"-o\",\"b\"]}", "rocm-perf|analyze|--json|--|-o|b"},
        {"analyze", "{\"traces\":[\"a\"],\"result\":\"thread-trace\"}",
         "rocm-perf|analyze|--thread-trace|--|a"},
        {"replay", "{\"capture_dir\":\"c\"}", "rocm-perf|replay|full-vm|--json|--capture-dir=c|--"},
        {"replay",
         "{\"action\":\"compare\",\"capture_dir\":\"c\",\"kernels\":[\"a\",\"-b\"],"
         "\"gate\":\"faster\"}",
         "rocm-perf|replay|compare|--json|--capture-dir=c|--gate=faster|--|a|-b"},
        {"isolate", "{\"program\":\"p\",\"kernel\":\"k\",\"dispatch\":3}",
         "rocm-perf|isolate|--kernel=k|--dispatch=3|--|p"},
        {"isolate", "{\"program\":\"p\",\"kernel\":\"k\",\"dispatch\":\"3,4\"}",
         "rocm-perf|isolate|--kernel=k|--dispatch=3,4|--|p"},
        {"autotune", "{\"seed\":9007199254740993}",
         "rocm-perf|autotune|--json|--seed=9007199254740993|--"},
        {"ci", "{\"base\":\"-x\",\"config\":\"c.json\",\"output\":\"o\",\"device\":\"software\"}",
         "rocm-perf|ci|--json|--base=-x|--config=c.json|--output=o|--device=software|--"},
        {"optimize", "{\"program\":\"p\",\"source\":\"s\",\"args\":[\"1\"]}",
         "rocm-perf|optimize|--json|--source=s|--|p|1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        struct rp_mcp_command command;
        struct rp_err err = RP_ERR_INIT;
        rp_autobuf words = {0};

        assert_int_equal(make(rows_[i].tool, rows_[i].arguments, &command, &err), 0);
        for (size_t w = 0; w < command.words; w++)
            rp_buf_printf(&words, "%s%s", w ? "|" : "", command.argv[w]);
        assert_null(command.argv[command.words]);
        assert_string_equal(rp_buf_text(&words), rows_[i].words);
        rp_mcp_command_free(&command);
    }
}

static void what_is_refused(void **state)
{
    static const struct {
        const char *tool, *arguments, *says;
    } rows_[] = {
        {"profile", "{}", "argument program: is missing"},
        {"profile", "{\"program\":7}", "argument program: must be a string"},
        {"profile", "{\"program\":\"p\",\"x\":1}", "profile has no argument x"},
        {"profile", "{\"program\":\"p\",\"runs\":0}", "argument runs: use 1 to 1000"},
        {"profile", "{\"program\":\"p\",\"timeout_s\":1000001}",
         "argument timeout_s: use 0.001 to 1000000"},
        {"autotune", "{\"max_fraction\":0}", "argument max_fraction: use above 0, at most 1"},
        {"optimize", "{\"source\":\"k.hip\"}", "argument program: is missing"},
        {"isolate", "{\"program\":\"p\"}", "argument kernel: is missing"},
        {"profile", "{\"program\":\"p\",\"runs\":1.5}", "argument runs: must be an integer"},
        {"profile", "{\"program\":\"p\",\"runs\":\"1\"}", "argument runs: must be an integer"},
        {"profile", "{\"program\":\"p\",\"roofline\":1}", "must be true or false"},
        {"profile", "{\"program\":\"p\",\"timing\":\"fas\"}",
         "use one of: counts detailed off warm fast"},
        {"profile", "{\"program\":\"p\",\"timing\":\"\"}",
         "use one of: counts detailed off warm fast"},
        {"profile", "{\"program\":\"p\",\"output\":\"\"}", "argument output: must not be empty"},
        {"profile", "{\"program\":\"p\",\"args\":\"x\"}", "must be an array of strings"},
        {"profile", "{\"program\":\"p\",\"args\":[1]}", "must be a string"},
        {"profile", "{\"program\":\"p\",\"directory\":\"/none/there\"}", "argument directory"},
        {"analyze", "{\"traces\":[]}", "argument traces: must not be empty"},
        {"replay", "{\"capture_dir\":\"c\",\"json\":true}", "replay has no argument json"},
        {"doctor", "{\"json\":true}", "doctor has no argument json"},
        {"why", "{\"result\":\"json\"}", "why has no argument result"},
        {"why", "{\"full\":true}", "why has no argument full"},
        {"history", "{\"action\":\"remove\"}", "use one of: list show check add"},
        {"report", "{}", "argument traces: is missing"},
        {"report", "{\"traces\":[\"r\"],\"format\":\"pdf\"}", "argument format: use one of: html"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        struct rp_mcp_command command;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(make(rows_[i].tool, rows_[i].arguments, &command, &err), -RP_USAGE);
        if (!strstr(err.text, rows_[i].says))
            fail_msg("%s: %s", rows_[i].arguments, err.text);
    }
    assert_null(rp_mcp_tool_find("run"));
}

/* Paths are checked wherever they stand; what is no path, and the program's own words, are not. */
static void paths_and_others(void **state)
{
    static const struct {
        const char *tool, *arguments, *refused; /**< the argument; NULL: none */
    } rows_[] = {
        {"profile", "{\"program\":\"./p\",\"args\":[\"/etc/passwd\",\"../x\"]}", NULL},
        {"profile", "{\"program\":\"sh\"}", NULL}, /* found in PATH */
        {"profile", "{\"program\":\"/bin/sh\"}", "program"},
        {"profile", "{\"program\":\"../p\"}", "program"},
        {"profile", "{\"program\":\"./p\",\"output\":\"/tmp/x\"}", "output"},
        {"profile", "{\"program\":\"./p\",\"output\":\"new/x\"}", NULL},
        {"profile", "{\"program\":\"./p\",\"ceilings\":\"../c\"}", "ceilings"},
        {"profile", "{\"program\":\"./p\",\"directory\":\"/\"}", "directory"},
        {"profile", "{\"program\":\"./p\",\"directory\":\"/none/there\"}", "directory"},
        {"profile", "{\"program\":\"p\",\"directory\":\"in\",\"output\":\"../x\"}", NULL},
        {"profile", "{\"program\":\"p\",\"directory\":\"in\",\"output\":\"../../x\"}", "output"},
        {"analyze", "{\"traces\":[\"a\",\"/etc\"]}", "traces"},
        {"why", "{}", "traces"}, /* whose default is a link that leads out here */
        {"autotune", "{\"space\":\".rocpd_profile:2\"}", "space"}, /* a line of it */
        {"profile", "{\"program\":\"p\"}", "output"},
        {"compare", "{\"results\":[\"a\",\"../b\"]}", "results"},
        {"compare", "{\"results\":[\"a\"],\"gates\":[\"/etc<=1\"]}", NULL},
        {"history", "{\"db\":\"/tmp/h.db\"}", "db"},
        {"history", "{\"program\":\"/bin/app\",\"kernel\":\"../k\"}", NULL}, /* names */
        {"history", "{\"action\":\"add\",\"results\":[\"/etc\"]}", "results"},
        {"report", "{\"traces\":[\"a\"],\"output\":\"/tmp/r.html\"}", "output"},
        {"isolate", "{\"program\":\"./p\",\"kernel\":\"/../k\",\"output\":\"c\"}", NULL},
        {"replay", "{\"capture_dir\":\"/tmp/c\"}", "capture_dir"},
        {"replay", "{\"action\":\"compare\",\"kernels\":[\"a\",\"/b\"]}", "kernels"},
        {"replay", "{\"hsaco\":\"/k.hsaco\"}", "hsaco"},
        {"judge", "{\"old\":\"a\",\"new\":\"/b\",\"program\":\"./p\"}", "new"},
        {"optimize", "{\"program\":\"./p\",\"source\":\"/s.hip\"}", "source"},
        {"autotune", "{\"space\":\"/s.json\"}", "space"},
        {"bench", "{\"output\":\"/tmp/b.json\"}", "output"},
    };
    char folder[] = "/tmp/rp-tools-XXXXXX";
    rp_autofree char *here = getcwd(NULL, 0);
    struct rp_mcp_workspace workspace = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("in", 0700), 0);
    assert_int_equal(symlink("/tmp", ".rocpd_profile"), 0);
    assert_int_equal(rp_mcp_workspace_add(&workspace, ".", &err), 0);
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        json_t *json = json_loads(rows_[i].arguments, 0, NULL);
        struct rp_mcp_command command = {0};
        rp_autofree char *says =
            rp_format("argument %s: ", rows_[i].refused ? rows_[i].refused : "");
        int rc;

        if (strcmp(rows_[i].tool, "profile") == 0 && !json_object_get(json, "output") &&
            strcmp(says, "argument output: "))
            json_object_set_new(json, "output", json_string("o"));
        err = (struct rp_err)RP_ERR_INIT;
        rc = rp_mcp_command_make(rp_mcp_tool_find(rows_[i].tool), json, &workspace, &command, &err);
        json_decref(json);
        if (rows_[i].refused && (rc != -RP_USAGE || strncmp(err.text, says, strlen(says)) != 0 ||
                                 !strstr(err.text, " --allow /")))
            fail_msg("%s %s: %s", rows_[i].tool, rows_[i].arguments, err.text);
        if (!rows_[i].refused && rc)
            fail_msg("%s %s: %s", rows_[i].tool, rows_[i].arguments, err.text);
        rp_mcp_command_free(&command);
    }
    unlink(".rocpd_profile");
    rmdir("in");
    assert_int_equal(chdir(here), 0);
    rmdir(folder);
    rp_mcp_workspace_free(&workspace);
}

/* Not in the folder of the server, where another one was asked for. */
static void a_folder_that_is_gone(void **state)
{
    char folder[] = "/tmp/rp-tools-XXXXXX";
    rp_autofree char *here = getcwd(NULL, 0);
    struct rp_mcp_command command;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(rmdir(folder), 0);
    rc = make("doctor", "{\"directory\":\".\"}", &command, &err);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rc, -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "argument directory: cannot find the current folder"));
}

/* `most` fits and one more does not: bytes of one text, or how many texts. */
static void limit(const char *name, json_t *fits, json_t *too_much, const char *says)
{
    struct rp_mcp_command command;
    struct rp_err err = RP_ERR_INIT;
    json_t *arguments = json_pack("{s:s, s:o}", "program", "p", name, fits);

    assert_int_equal(
        rp_mcp_command_make(rp_mcp_tool_find("profile"), arguments, NULL, &command, &err), 0);
    rp_mcp_command_free(&command);
    json_object_set_new(arguments, name, too_much);
    assert_int_equal(
        rp_mcp_command_make(rp_mcp_tool_find("profile"), arguments, NULL, &command, &err),
        -RP_USAGE);
    json_decref(arguments);
    if (!strstr(err.text, says))
        fail_msg("%s", err.text);
}

static json_t *text_of(size_t bytes)
{
    char *text = malloc(bytes);
    json_t *json;

    assert_non_null(text);
    memset(text, 'x', bytes);
    json = json_stringn(text, bytes);
    free(text);
    return json;
}

static json_t *texts_of(size_t count)
{
    json_t *array = json_array();

    while (count-- > 0)
        json_array_append_new(array, json_string(""));
    return array;
}

static void what_linux_does_not_take(void **state)
{
    static const char long_one[] = "argument output: is too long: 131072 bytes with its option, "
                                   "131071 is the most";
    const size_t option_bytes = strlen("--output=");
    const size_t others = 5; /* rocm-perf profile --json -- p */

    (void)state;
    limit("output", text_of(RP_MCP_MOST_WORD_BYTES - option_bytes),
          text_of(RP_MCP_MOST_WORD_BYTES - option_bytes + 1), long_one);
    limit("args", texts_of(RP_MCP_MOST_WORDS - others), texts_of(RP_MCP_MOST_WORDS - others + 1),
          "argument args: the command gets more than 16384 words");
}

/* Asked for all that is known, each tool says what it takes, and takes nothing else. */
static void schemas_are_closed(void **state)
{
    json_t *tools_ = rp_mcp_tools(true), *tool;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(tools_), 14);
    json_array_foreach(tools_, i, tool)
    {
        const json_t *schema = json_object_get(tool, "inputSchema");
        const json_t *output = json_object_get(tool, "outputSchema");
        json_t *argument;
        const char *name;

        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
        assert_string_equal(json_string_value(json_object_get(schema, "type")), "object");
        if (output)
            assert_string_equal(json_string_value(json_object_get(output, "type")), "object");
        json_object_foreach(json_object_get(schema, "properties"), name, argument)
            assert_non_null(json_object_get(argument, "description"));
    }
    json_decref(tools_);
}

static const json_t *argument_of(const json_t *tools_, const char *tool, const char *argument)
{
    const json_t *one;
    size_t i;

    json_array_foreach(tools_, i, one) if (
        !strcmp(json_string_value(json_object_get(one, "name")),
                tool)) return json_object_get(json_object_get(json_object_get(one, "inputSchema"),
                                                              "properties"),
                                              argument);
    return NULL;
}

/* What a model reads of each session before it has asked anything: all tools in 12 KiB. */
static void the_list_is_short(void **state)
{
    json_t *result = json_pack("{s:o}", "tools", rp_mcp_tools(false)), *tool;
    const json_t *list = json_object_get(result, "tools");
    json_t *whole = rp_mcp_tools(true);
    char *text = json_dumps(result, JSON_COMPACT);
    size_t i;

    (void)state;
    assert_in_range(strlen(text), 8 << 10, 12 << 10);
    assert_null(strstr(text, RP_ROW_SHORT));
    json_array_foreach(list, i, tool)
    {
        const json_t *schema = json_object_get(tool, "inputSchema");
        const json_t *before = json_object_get(json_array_get(whole, i), "inputSchema");

        assert_null(json_object_get(tool, "outputSchema"));
        assert_int_equal(json_object_size(json_object_get(schema, "properties")),
                         json_object_size(json_object_get(before, "properties")));
        assert_int_equal(json_array_size(json_object_get(schema, "required")),
                         json_array_size(json_object_get(before, "required")));
    }
    free(text);
    json_decref(whole);
    json_decref(result);
}

/* A short description ends where the row says so, or before what only explains it, and stands once.
 */
static void short_descriptions(void **state)
{
    static const struct {
        const char *tool, *argument, *text;
    } rows_[] = {
        {"profile", "runs", "how often PROGRAM runs"},
        {"profile", "output", "where the result goes"},
        {"profile", "duration_s", "record for S seconds"},
        {"profile", "timeout_s", NULL},
        {"profile", "threads", "processors the software MI300X may use"},
        {"isolate", "threads", NULL},
        {"replay", "kernels", "compare: the two code objects"},
        {"history", "results", "add: folders of profile"},
        {"history", "device", "only devices that begin so, as software"},
        {"why", "traces", NULL},
    };
    json_t *list = rp_mcp_tools(false);

    (void)state;
    for (size_t i = 0; i < sizeof rows_ / sizeof *rows_; i++) {
        const json_t *argument = argument_of(list, rows_[i].tool, rows_[i].argument);
        const char *text = json_string_value(json_object_get(argument, "description"));

        assert_non_null(argument);
        if (rows_[i].text)
            assert_string_equal(text, rows_[i].text);
        else
            assert_null(text);
    }
    json_decref(list);
}

/* Clients may call without asking what is said to be read-only. */
static void what_is_read_only(void **state)
{
    json_t *tools_ = rp_mcp_tools(true), *tool;
    size_t i;

    (void)state;
    json_array_foreach(tools_, i, tool)
    {
        const char *name = json_string_value(json_object_get(tool, "name"));
        const json_t *hints = json_object_get(tool, "annotations");
        const bool read_only = json_is_true(json_object_get(hints, "readOnlyHint"));

        if (read_only != (strcmp(name, "doctor") == 0))
            fail_msg("%s is said to be read-only: %d", name, read_only);
    }
    json_decref(tools_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_commands),     cmocka_unit_test(what_is_refused),
        cmocka_unit_test(paths_and_others),      cmocka_unit_test(what_linux_does_not_take),
        cmocka_unit_test(schemas_are_closed),    cmocka_unit_test(what_is_read_only),
        cmocka_unit_test(the_list_is_short),     cmocka_unit_test(short_descriptions),
        cmocka_unit_test(a_folder_that_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
