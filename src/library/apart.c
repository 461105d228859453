/* A mistaken option must not cost a measurement. */
#include "library/apart.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/gzip.h"

/* HOST/pass_1/PID_results.db, thread-trace/att-threads/ui_output_.../wave.json */
enum { MOST_DEPTH = 4 };

/* What is read in folders ends so; pictures and pages do not. */
static bool is_read(const char *name)
{
    static const char *const endings[] = {
        ".db",  ".json",      "_trace.csv",   "counter_collection.csv",
        ".att", ".jsonl",     "pmc_perf.csv", "agent_info.csv",
        ".out", "sysinfo.csv"};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (rp_gzip_name_ends_with(name, endings[i]))
            return true;
    return false;
}

/* @param ret  the file below the folder that the output would replace; NULL: none */
static int find_in(const char *folder, const char *output, int depth, char **ret,
                   struct rp_err *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int rc = 0;

    while (dir && rc == 0 && !*ret && (entry = readdir(dir))) {
        rp_autofree char *path = NULL;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        path = rp_path_join(folder, entry->d_name);
        if (!path)
            rc = rp_out_of_memory(err);
        else if (depth && rp_path_is_dir(path))
            rc = find_in(path, output, depth - 1, ret, err);
        else if (is_read(entry->d_name) && rp_same_file(path, output))
            *ret = rp_steal(path);
    }
    if (dir)
        closedir(dir);
    return rc;
}

int rp_keep_apart(const char *option, const char *output, char *const *inputs, size_t count,
                  struct rp_err *err)
{
    struct stat st;

    if (!output || strcmp(output, "-") == 0 || stat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *found = NULL;
        int rc = 0;

        if (rp_path_is_dir(inputs[i]))
            rc = find_in(inputs[i], output, MOST_DEPTH, &found, err);
        if (rc < 0)
            return rc;
        if (found || rp_same_file(inputs[i], output))
            return rp_fail(err, RP_USAGE,
                           "%s %s would overwrite what is read%s%s: give another name", option,
                           output, found && strcmp(found, output) != 0 ? ", " : "",
                           found && strcmp(found, output) != 0 ? found : "");
    }
    return 0;
}
