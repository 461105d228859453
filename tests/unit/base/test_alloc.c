/* A program, which is linked as one: where memory ends it ends. The parent's half of each test
 * looks at what the child left. */
#include "unit/cmocka_all.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool is_out;

void *__wrap_malloc(size_t bytes)
{
    return is_out ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_out ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return is_out ? NULL : __real_realloc(old, bytes);
}

static void allocate(void)
{
    free(rp_alloc(1));
}

static void allocate_zeroed(void)
{
    free(rp_new(struct rp_map));
}

static void grow(void)
{
    free(rp_realloc(NULL, 8));
}

static void copy(void)
{
    free(rp_memdup("a", 1));
}

static void push(void)
{
    struct {
        RP_VEC(int);
    } numbers = {0};

    rp_vec_push(&numbers, 1);
    rp_vec_free(&numbers);
}

static void reserve_too_much(void)
{
    struct {
        RP_VEC(int);
    } numbers = {0};

    is_out = false;
    rp_vec_reserve(&numbers, SIZE_MAX);
    rp_vec_free(&numbers);
}

static void number_text(void)
{
    struct rp_map map = {0};

    rp_map_add_text(&map, "a");
}

static void number_id(void)
{
    struct rp_idmap map = {0};

    rp_idmap_add(&map, 1);
}

static void format(void)
{
    free(rp_format("%d", 1));
}

static void make_json(void)
{
    json_decref(json_object());
}

static void report_of_another_library(void)
{
    rp_not_null(NULL);
}

static void ends_with_its_message(void (*take)(void))
{
    char text[64] = "";
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        is_out = true;
        take();
        _exit(77); /* it lived on */
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text - 1), strlen("rocm-perf: out of memory\n"));
    assert_string_equal(text, "rocm-perf: out of memory\n");
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), RP_ENVIRONMENT);
}

static void programs_end(void **state)
{
    void (*const all[])(void) = {
        allocate,         allocate_zeroed, grow,   copy,      push,
        number_text,      number_id,       format, make_json, report_of_another_library,
        reserve_too_much,
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ends_with_its_message(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
