#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "tune/json_text.h"
#include "tune/worker.h"

void rp_worker_hello_free(struct rp_worker_hello *hello)
{
    free(hello->version);
    free(hello->host);
    free(hello->gfx);
    free(hello->gpu);
    free(hello->visible);
    free(hello->rocm);
    free(hello->timing);
    *hello = (struct rp_worker_hello){0};
}

int rp_worker_hello_write(const struct rp_worker_hello *h, struct rp_buf *to, struct rp_err *err)
{
    json_t *object =
        json_pack("{s:i, s:o, s:o, s:I, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "protocol",
                  h->protocol, "version", rp_json_of_text(h->version), "host",
                  rp_json_of_text(h->host), "pid", (json_int_t)h->pid, "device",
                  h->software ? "software" : "hardware", "gfx", rp_json_of_text(h->gfx), "gpu",
                  rp_json_of_text(h->gpu), "compute_units", (json_int_t)h->compute_units, "node",
                  (json_int_t)h->node, "visible", rp_json_of_text(h->visible), "rocm",
                  rp_json_of_text(h->rocm), "timing", rp_json_of_text(h->timing));

    return rp_json_write_line(object, to, err);
}

static int take_numbers(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    int64_t protocol = 0, units = 0;
    int rc = rp_json_take_integer(object, "protocol", 1, INT32_MAX, &protocol, err);

    if (rc == 0)
        rc = rp_json_take_integer(object, "pid", 1, INT32_MAX, &h->pid, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "compute_units", 0, UINT32_MAX, &units, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "node", -1, UINT32_MAX, &h->node, err);
    h->protocol = (int)protocol;
    h->compute_units = (uint32_t)units;
    return rc;
}

static int take_hello(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    const struct {
        const char *key;
        char **to;
    } texts[] = {{"version", &h->version}, {"host", &h->host}, {"gfx", &h->gfx},
                 {"gpu", &h->gpu},         {"rocm", &h->rocm}, {"visible", &h->visible},
                 {"timing", &h->timing}};
    const char *device = json_string_value(json_object_get(object, "device"));
    int rc = take_numbers(object, h, err);

    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof *texts; i++)
        rc = rp_json_take_text(object, texts[i].key, true, texts[i].to, err);
    if (rc < 0)
        return rc;
    h->software = device && strcmp(device, "software") == 0;
    if (!h->software && (!device || strcmp(device, "hardware") != 0))
        return rp_fail(err, RP_BAD_INPUT, "\"device\" is neither software nor hardware");
    return 0;
}

int rp_worker_hello_parse(const char *line, size_t bytes, struct rp_worker_hello *ret,
                          struct rp_err *err)
{
    struct rp_worker_hello hello = {0};
    json_t *object = rp_json_read_line(line, bytes, err);
    int rc = object ? take_hello(object, &hello, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_worker_hello_free(&hello);
    else
        *ret = hello;
    return rc;
}

/** "AMD Instinct MI300X (software device, gfx942, 304 CUs)" */
static char *kind_of(const struct rp_worker_hello *h)
{
    return rp_format("%s (%s%s, %u CUs)", h->gpu[0] ? h->gpu : "GPU",
                     h->software ? "software device, " : "", h->gfx, h->compute_units);
}

bool rp_worker_hello_shares(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    return !a->software && !b->software && a->node == b->node && strcmp(a->host, b->host) == 0;
}

char *rp_worker_hello_differs(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    if (a->software != b->software || strcmp(a->gfx, b->gfx) != 0 || strcmp(a->gpu, b->gpu) != 0 ||
        a->compute_units != b->compute_units) {
        char *one = kind_of(a), *other = kind_of(b);
        char *text = one && other ? rp_format("is a %s, not a %s", one, other) : NULL;

        free(one);
        free(other);
        return text ? text : strdup("is another GPU");
    }
    if (strcmp(a->rocm, b->rocm) != 0)
        return rp_format("has ROCm %s, not %s", a->rocm, b->rocm);
    if (strcmp(a->timing, b->timing) != 0)
        return rp_format("has the model of time %s, not %s", a->timing, b->timing);
    if (strcmp(a->version, b->version) != 0 || a->protocol != b->protocol)
        return rp_format("is of rocm-perf %s (protocol %d), not %s (protocol %d)", a->version,
                         a->protocol, b->version, b->protocol);
    return NULL;
}
