#include "cli/kernel_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/kernel_match.h"

struct search {
    struct rp_kernel_pattern *pattern; /* NULL: by name */
    const char *name;
    const char **found;
    size_t count;
};

static bool fits(const struct search *s, const struct rp_row_kernel *kernel)
{
    if (s->pattern)
        return rp_kernel_pattern_finds(s->pattern, kernel->plain_name, kernel->kernel_name);
    return strcmp(kernel->display_name, s->name) == 0 || strcmp(kernel->plain_name, s->name) == 0 ||
           strcmp(kernel->kernel_name, s->name) == 0;
}

static int add_found(struct search *s, struct rp_store *store, struct rp_err *err)
{
    const struct rp_row_kernel *kernels;
    const char **grown;
    size_t count;
    int rc = rp_store_kernels(store, &kernels, &count, err);

    if (rc < 0)
        return rc;
    grown = reallocarray(s->found, s->count + count + 1, sizeof *grown);
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    s->found = grown;
    for (size_t i = 0; i < count; i++)
        if (fits(s, &kernels[i]))
            s->found[s->count++] = kernels[i].kernel_name;
    s->found[s->count] = NULL;
    return 0;
}

int rp_kernel_symbols(const struct rp_profile_session *session, const char *regex, const char *name,
                      const char ***ret, struct rp_err *err)
{
    struct search s = {.name = name};
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};
    int rc = regex ? rp_kernel_pattern_compile("--kernel-include-regex", regex, &pattern, err) : 0;

    if (rc < 0)
        return rc;
    s.pattern = regex ? &pattern : NULL;
    s.found = calloc(1, sizeof *s.found);
    if (!s.found)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < session->store_count && rc == 0; i++)
        rc = add_found(&s, session->stores[i], err);
    if (rc < 0)
        free(s.found);
    else
        *ret = s.found;
    return rc;
}
