#include "report/check_report.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "trace/check_file.h"

static void put_verdict(const struct rp_check_results *r, const char *checked, int exit_status,
                        struct rp_buf *to)
{
    const size_t errors = r->count - r->notes;

    if (!r->processes)
        rp_buf_puts(to, "check: no kernel ran on the software device");
    else if (errors)
        rp_buf_printf(to, "check: %zu finding%s", errors, errors == 1 ? "" : "s");
    else
        rp_buf_puts(to, exit_status ? "check: nothing found until the program failed"
                                    : "check: nothing found");
    if (r->notes)
        rp_buf_printf(to, ", %zu note%s", r->notes, r->notes == 1 ? "" : "s");
    rp_buf_printf(to, " (%s)\n", checked);
}

void rp_check_print(const struct rp_check_results *r, const char *checked, int exit_status,
                    struct rp_buf *to)
{
    put_verdict(r, checked, exit_status, to);
    for (size_t i = 0; i < r->count; i++) {
        rp_buf_printf(to, "%zu. ", i + 1);
        rp_check_finding_print(&r->at[i], to);
    }
    if (r->not_compared)
        rp_buf_printf(to,
                      "not all is checked: %" PRIu64 " time%s there was no room for a dispatch, a "
                      "workgroup or an access\n",
                      r->not_compared, r->not_compared == 1 ? "" : "s");
    if (r->left_out)
        rp_buf_printf(to,
                      "%" PRIu64
                      " more time%s something was found and is left out: a process keeps "
                      "1000 findings\n",
                      r->left_out, r->left_out == 1 ? "" : "s");
}

/* ---- JSON ---- */

static void add_findings(struct rp_json_writer *json, const char *key,
                         const struct rp_check_results *r, bool notes)
{
    rp_json_add_array(json, key);
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].note == notes)
            rp_check_finding_json(json, &r->at[i]);
    rp_json_end(json);
}

void rp_check_json(const struct rp_check_results *r, const char *checked, int exit_status,
                   struct rp_buf *to)
{
    struct rp_json_writer json = {.out = to, .indent = 2};

    rp_json_add_object(&json, NULL);
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_text(&json, "checked", checked);
    rp_json_add_text(&json, "verdict",
                     !r->processes                    ? "nothing-ran"
                     : r->count > r->notes            ? "findings"
                     : exit_status || r->not_compared ? "incomplete"
                                                      : "clean");
    rp_json_add_int(&json, "exit_status", exit_status);
    rp_json_add_count(&json, "left_out", r->left_out);
    rp_json_add_count(&json, "not_compared", r->not_compared);
    add_findings(&json, "findings", r, false);
    add_findings(&json, "notes", r, true);
    rp_json_end(&json);
    rp_buf_puts(to, "\n");
}
