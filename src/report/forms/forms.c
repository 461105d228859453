#include "report/forms/forms.h"

#include <string.h>

#include "rocm-perf/report.h"

static const struct rp_report_form forms[] = {
#define RP_REPORT_FORM(function, name_, ending_, what_)                                            \
    {.name = name_, .ending = ending_, .what = what_, .write = rp_form_##function},
#include "rocm-perf/report_forms.def"
#undef RP_REPORT_FORM
};

enum { FORMS = sizeof forms / sizeof forms[0] };

int rp_form_html(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    return rp_report_html(parts->title, parts->documents, parts->document_count, buf, err);
}

const struct rp_report_form *rp_report_forms(size_t *ret_count)
{
    *ret_count = FORMS;
    return forms;
}

const struct rp_report_form *rp_report_form_named(const char *name)
{
    for (size_t i = 0; i < FORMS; i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

const struct rp_report_form *rp_report_form_of_file(const char *path)
{
    const struct rp_report_form *best = NULL;
    size_t bytes = strlen(path), longest = 0;

    for (size_t i = 0; i < FORMS; i++) {
        size_t ending = strlen(forms[i].ending);

        if (ending <= longest || bytes < ending ||
            strcmp(path + bytes - ending, forms[i].ending) != 0)
            continue;
        best = &forms[i];
        longest = ending;
    }
    return best;
}
