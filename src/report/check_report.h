/**
 * @file check_report.h
 * @brief Prints what the checks of `run --check` found (docs/check.md).
 */
#ifndef RP_REPORT_CHECK_REPORT_H
#define RP_REPORT_CHECK_REPORT_H

struct rp_buf;
struct rp_check_results;

/**
 * @param checked      "races,bounds": what was asked for
 * @param exit_status  of the program: where it failed, kernels may have been left out
 */
void rp_check_print(const struct rp_check_results *results, const char *checked, int exit_status,
                    struct rp_buf *to);
void rp_check_json(const struct rp_check_results *results, const char *checked, int exit_status,
                   struct rp_buf *to);

#endif
