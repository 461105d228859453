#include "capture/capture_args.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "capture/capture_open.h"
#include "capture/code_metadata.h"

/* Null where there is none, or where it is no text that JSON has. */
static json_t *text(struct rp_code_text t)
{
    json_t *json = t.bytes ? json_stringn(t.at, t.bytes) : NULL;

    return json ? json : json_null();
}

static json_t *describe(const struct rp_code_kernel *kernel)
{
    json_t *args = json_array();

    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (json_array_append_new(
                args, json_pack("{s:I, s:I, s:o, s:b, s:o}", "offset", (json_int_t)arg->offset,
                                "bytes", (json_int_t)arg->bytes, "kind", text(arg->kind), "hidden",
                                rp_code_arg_is_hidden(arg), "address_space", text(arg->space))) <
            0) {
            json_decref(args);
            return NULL;
        }
    }
    return args;
}

json_t *rp_capture_describe_args(const char *code_path, const char *symbol)
{
    rp_autoclose int fd = -1;
    struct rp_code_kernel kernel = {0};
    struct rp_err err = RP_ERR_INIT;
    json_t *args = NULL;
    struct stat st;
    void *bytes;

    if (rp_capture_open_file(code_path, &fd, &err) < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
        return json_null();
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return json_null();
    /* A capture is one without it, too: assembly by hand may say nothing. */
    if (rp_code_kernel_read(bytes, (size_t)st.st_size, symbol, &kernel, NULL, &err) < 0)
        args = json_null();
    else
        args = describe(&kernel);
    rp_code_kernel_free(&kernel);
    munmap(bytes, (size_t)st.st_size);
    return args;
}
