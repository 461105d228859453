/* A folder for the files of a test, and scripts in it that take the place of programs. */
#ifndef RP_TEST_SCRATCH_H
#define RP_TEST_SCRATCH_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"

#include "unit/cmocka_all.h"

static char scratch_dir[] = "/tmp/rp-test-XXXXXX";

/** For a group of tests, or for each of them: there is a new folder each time. */
static inline int scratch_begin(void **state)
{
    (void)state;
    strcpy(scratch_dir + strlen(scratch_dir) - 6, "XXXXXX");
    return mkdtemp(scratch_dir) ? 0 : -1;
}

static inline int scratch_end(void **state)
{
    (void)state;
    rp_remove_tree(scratch_dir);
    return 0;
}

/** A file, with the folders above it. @return the path; the caller's to free */
static inline char *scratch_put(const char *name, const char *text)
{
    char *path = rp_path_join(scratch_dir, name);
    rp_autofree char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));

    assert_int_equal(rp_mkdirs(folder, NULL), 0);
    assert_int_equal(rp_write_file(path, text, strlen(text), NULL), 0);
    return path;
}

/** As scratch_put; the file can be executed. */
static inline char *scratch_script(const char *name, const char *text)
{
    char *path = scratch_put(name, text);

    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

#endif
