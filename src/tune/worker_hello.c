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
    free(hello->visible);
    rp_device_identity_free(&hello->on);
    *hello = (struct rp_worker_hello){0};
}

int rp_worker_hello_write(const struct rp_worker_hello *h, struct rp_buf *to, struct rp_err *err)
{
    json_t *object = json_pack(
        "{s:i, s:o, s:o, s:I, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I}", "protocol",
        h->protocol, "version", rp_json_of_text(h->version), "host", rp_json_of_text(h->host),
        "pid", (json_int_t)h->pid, "device", h->on.software ? "software" : "hardware", "gfx",
        rp_json_of_text(h->on.gfx), "gpu", rp_json_of_text(h->on.gpu), "compute_units",
        (json_int_t)h->on.compute_units, "node", (json_int_t)h->on.node, "visible",
        rp_json_of_text(h->visible), "rocm", rp_json_of_text(h->on.rocm), "timing",
        rp_json_of_text(h->on.timing), "timing_version", (json_int_t)h->on.timing_version);

    return rp_json_write_line(object, to, err);
}

static int take_numbers(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    int64_t protocol = 0, units = 0, version = 0;
    int rc = rp_json_take_integer(object, "protocol", 1, INT32_MAX, &protocol, err);

    if (rc == 0)
        rc = rp_json_take_integer(object, "pid", 1, INT32_MAX, &h->pid, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "compute_units", 0, UINT32_MAX, &units, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "node", -1, UINT32_MAX, &h->on.node, err);
    if (rc == 0 && json_object_get(object, "timing_version")) /* others than ours do not say it */
        rc = rp_json_take_integer(object, "timing_version", 0, UINT32_MAX, &version, err);
    h->protocol = (int)protocol;
    h->on.compute_units = (uint32_t)units;
    h->on.timing_version = (uint32_t)version;
    return rc;
}

static int take_hello(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    const struct {
        const char *key;
        char **to;
    } texts[] = {{"version", &h->version}, {"host", &h->host},    {"gfx", &h->on.gfx},
                 {"gpu", &h->on.gpu},      {"rocm", &h->on.rocm}, {"visible", &h->visible},
                 {"timing", &h->on.timing}};
    const char *device = json_string_value(json_object_get(object, "device"));
    int rc = take_numbers(object, h, err);

    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof *texts; i++)
        rc = rp_json_take_text(object, texts[i].key, true, texts[i].to, err);
    if (rc < 0)
        return rc;
    h->on.software = device && strcmp(device, "software") == 0;
    if (!h->on.software && (!device || strcmp(device, "hardware") != 0))
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

bool rp_worker_hello_shares(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    return !a->on.software && !b->on.software && a->on.node == b->on.node &&
           strcmp(a->host, b->host) == 0;
}

char *rp_worker_hello_differs(const struct rp_worker_hello *a, const struct rp_worker_hello *b)
{
    if (a->on.software != b->on.software || strcmp(a->on.gfx, b->on.gfx) != 0 ||
        strcmp(a->on.gpu, b->on.gpu) != 0 || a->on.compute_units != b->on.compute_units) {
        char *one = rp_device_identity_gpu(&a->on), *other = rp_device_identity_gpu(&b->on);
        char *text = one && other ? rp_format("is a %s, not a %s", one, other) : NULL;

        free(one);
        free(other);
        return text ? text : strdup("is another GPU");
    }
    if (strcmp(a->on.rocm, b->on.rocm) != 0)
        return rp_format("has ROCm %s, not %s", a->on.rocm, b->on.rocm);
    if (strcmp(a->on.timing, b->on.timing) != 0 || a->on.timing_version != b->on.timing_version)
        return rp_format("has the model of time %s (version %u), not %s (version %u)", a->on.timing,
                         a->on.timing_version, b->on.timing, b->on.timing_version);
    if (strcmp(a->version, b->version) != 0 || a->protocol != b->protocol)
        return rp_format("is of rocm-perf %s (protocol %d), not %s (protocol %d)", a->version,
                         a->protocol, b->version, b->protocol);
    return NULL;
}
