#include "collect/rocprofv3_args.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"

struct list {
    char **items;
    size_t count;
    bool failed;
};

static bool put_borrowed(struct list *list, char *text)
{
    char **grown = reallocarray(list->items, list->count + 2, sizeof *grown);

    if (grown)
        list->items = grown;
    if (!grown || !text) {
        list->failed = true;
        return false;
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
    return true;
}

/* Takes the text. */
static void put(struct list *list, char *text)
{
    if (!put_borrowed(list, text))
        free(text);
}

/* "--name=value": a value that begins with a dash stays one. */
static void put_value(struct list *list, const char *name, const char *value)
{
    if (value)
        put(list, rp_format("--%s=%s", name, value));
}

static void put_trace(struct list *list, bool hip_calls)
{
    put(list, strdup("--kernel-trace"));
    if (hip_calls)
        put(list, strdup("--hip-runtime-trace"));
    put(list, strdup("--memory-copy-trace"));
}

/* The dispatches come with their times: which counter is which launch must be clear. */
static void put_counters(struct list *list, const char *const *counters)
{
    put(list, strdup("--kernel-trace"));
    put(list, strdup("--pmc"));
    for (; *counters; counters++)
        put(list, strdup(*counters));
}

static void put_thread_trace(struct list *list, const struct rp_thread_trace_options *options)
{
    put(list, strdup("--att"));
#define NUMBER(member, option, least, most, help) put_value(list, option, options->member);
#define WORD(member, option, help)                put_value(list, option, options->member);
#include "collect/thread_trace.def"
#undef NUMBER
#undef WORD
    if (options->serialize_all)
        put(list, strdup("--att-serialize-all"));
}

int rp_rocprofv3_args(const char *rocprofv3, const struct rp_rocprofv3_job *job,
                      char *const *program, char ***ret, struct rp_err *err)
{
    struct list list = {0};

    put(&list, strdup(rocprofv3));
    /* One file for each process: programs start others. */
    put_value(&list, "output-directory", job->out_dir);
    put_value(&list, "output-file", "%hostname%/%pid%");
    put(&list, strdup("--output-format"));
    put(&list, strdup("rocpd"));
    if (job->thread_trace) { /* before 7.1 its tables were written for these formats only */
        put(&list, strdup("csv"));
        put(&list, strdup("json"));
    }
    if (job->log)
        put_value(&list, "log-level", "info");
    if (job->counters)
        put_counters(&list, job->counters);
    else if (job->thread_trace)
        put_thread_trace(&list, job->thread_trace);
    else
        put_trace(&list, !job->no_hip_calls);
    put(&list, strdup("--"));
    if (list.failed) { /* without its "--" the list has nothing borrowed */
        rp_rocprofv3_args_free(&list.items);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    while (*program && put_borrowed(&list, *program))
        program++;
    if (list.failed) {
        rp_rocprofv3_args_free(&list.items);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = list.items;
    return 0;
}

void rp_rocprofv3_args_free(char ***args)
{
    for (char **arg = *args; arg && *arg; arg++) {
        bool last = strcmp(*arg, "--") == 0;

        free(*arg);
        if (last)
            break;
    }
    free(*args);
    *args = NULL;
}
