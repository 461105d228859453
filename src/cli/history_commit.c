#include "cli/history_commit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

/* First line of what git prints. @return whether it succeeded */
static bool ask(const char *git, char *const *argv, char *ret, int bytes)
{
    FILE *out = tmpfile();
    rp_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct rp_proc proc = {
        .path = git, .argv = argv, .stdout_fd = out ? fileno(out) : -1, .stderr_fd = null};
    struct rp_proc_end end;
    bool ok =
        out && null >= 0 && rp_proc_run(&proc, &end, NULL) == 0 && !end.signaled && end.status == 0;

    ret[0] = '\0';
    if (ok) {
        rewind(out);
        if (fgets(ret, bytes, out))
            ret[strcspn(ret, "\n")] = '\0';
    }
    if (out)
        fclose(out);
    return ok;
}

int rp_history_commit(char **ret, struct rp_err *err)
{
    char *const head[] = {(char *)"git", (char *)"rev-parse", (char *)"--verify", (char *)"HEAD",
                          NULL};
    char *const status[] = {(char *)"git", (char *)"status", (char *)"--porcelain",
                            (char *)"--untracked-files=no", NULL};
    rp_autofree char *git = NULL;
    char commit[80], changed[80];

    *ret = NULL;
    if (rp_find_program("git", &git, NULL) < 0 || !ask(git, head, commit, sizeof commit) ||
        !commit[0])
        return 0;
    *ret = rp_format("%s%s", commit,
                     ask(git, status, changed, sizeof changed) && changed[0] ? "-dirty" : "");
    return *ret ? 0 : rp_out_of_memory(err);
}
