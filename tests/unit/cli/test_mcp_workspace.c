/* What lies in the workspace: paths with links, "..", and names that are not there yet. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

static void link_to(const char *folder, const char *name, const char *target)
{
    rp_autofree char *path = rp_path_join(folder, name);

    assert_int_equal(symlink(target, path), 0);
}

static void what_is_inside(void **state)
{
    static const struct {
        const char *path;
        bool is_inside;
    } rows[] = {
        {".", true},
        {"", true},
        {"new/result", true},
        {"in/../new", true},
        {"new/../../x", false},
        {"..", false},
        {"in/a", true},
        {"out/a", false},
        {"out/../etc", false}, /* what the system would find there, not what is written */
        {"in/../../x", true},  /* of what "in" is a link to */
        {"in/../../../x", false},
        {"dangling", false}, /* a file would be made behind the link */
        {"loop", false},
        {"near", true},
        {"new/../out/x", false},
        {"/etc/passwd", false},
        {"/", false},
        {"././/in//", true},
    };
    rp_autofree char *base = NULL, *near = NULL;
    struct rp_mcp_workspace workspace = {0};
    struct rp_err err = RP_ERR_INIT;
    char *folder = NULL;

    (void)state;
    assert_int_equal(rp_temporary_folder(&folder, &err), 0);
    base = rp_path_join(folder, "work");
    near = rp_path_join(folder, "workshop"); /* begins as the workspace does, and is not in it */
    assert_int_equal(rp_mkdirs(base, &err), 0);
    assert_int_equal(rp_mkdirs(near, &err), 0);
    {
        rp_autofree char *deep = rp_path_join(base, "deep/in");

        assert_int_equal(rp_mkdirs(deep, &err), 0);
    }
    link_to(base, "in", "deep/in");
    link_to(base, "out", "/usr/lib");
    link_to(base, "dangling", "/nowhere/at/all");
    link_to(base, "loop", "loop");
    link_to(base, "near", "../work/deep");
    assert_int_equal(rp_mcp_workspace_add(&workspace, base, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *found = rp_mcp_workspace_resolve(&workspace, base, rows[i].path);

        if ((found != NULL) != rows[i].is_inside)
            fail_msg("%s: %s", rows[i].path, found ? found : "outside");
    }
    assert_null(rp_mcp_workspace_resolve(&workspace, base, near));
    {
        rp_autofree char *says =
            rp_format("argument output: ../workshop/new is not in the workspace, %s; rocm-perf mcp "
                      "--allow %s allows it",
                      workspace.roots[0], near);

        assert_int_equal(
            rp_mcp_workspace_check(&workspace, base, "output", "../workshop/new", &err), -RP_USAGE);
        assert_string_equal(err.text, says);
        assert_int_equal(
            rp_mcp_workspace_check(&workspace, base, "db", "postgresql://u:secret@h/d", &err),
            -RP_USAGE);
        assert_non_null(strstr(err.text, "argument db: a database server is not in the workspace"));
        assert_null(strstr(err.text, "secret"));
        assert_int_equal(rp_mcp_workspace_add(&workspace, near, &err), 0);
        assert_int_equal(
            rp_mcp_workspace_check(&workspace, base, "output", "../workshop/new", &err), 0);
    }
    assert_int_equal(rp_mcp_workspace_add(&workspace, "/", &err), 0);
    {
        rp_autofree char *found = rp_mcp_workspace_resolve(&workspace, base, "/etc/passwd");

        assert_string_equal(found, "/etc/passwd");
    }
    assert_int_equal(rp_mcp_workspace_add(&workspace, "/etc/passwd", &err), -RP_USAGE);
    rp_mcp_workspace_free(&workspace);
    rp_temporary_folder_remove(&folder);
}

/* A repository reaches up to its top, which may be above the workspace. */
static void repositories(void **state)
{
    struct rp_mcp_workspace workspace = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *folder = NULL, *deep = NULL, *mark = NULL, *says = NULL;

    (void)state;
    assert_int_equal(rp_temporary_folder(&folder, &err), 0);
    deep = rp_path_join(folder, "top/deep/er");
    mark = rp_path_join(folder, "top/.git");
    assert_int_equal(rp_mkdirs(deep, &err), 0);
    assert_int_equal(rp_mcp_workspace_add(&workspace, deep, &err), 0);
    assert_int_equal(rp_mcp_workspace_check_repository(&workspace, deep, &err), 0); /* it is none */
    assert_int_equal(rp_write_file(mark, "", 0, &err), 0);
    assert_int_equal(rp_mcp_workspace_check_repository(&workspace, deep, &err), -RP_USAGE);
    says = rp_format("--allow %s/top allows it", folder);
    assert_non_null(strstr(err.text, says));
    *strrchr(mark, '/') = '\0';
    assert_int_equal(rp_mcp_workspace_add(&workspace, mark, &err), 0);
    assert_int_equal(rp_mcp_workspace_check_repository(&workspace, deep, &err), 0);
    rp_mcp_workspace_free(&workspace);
    rp_temporary_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_inside),
                                       cmocka_unit_test(repositories)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
