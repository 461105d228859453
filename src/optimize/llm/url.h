/**
 * @file url.h
 * @brief What the address of a model server says, as the HTTP library itself reads it.
 */
#ifndef RP_OPTIMIZE_LLM_URL_H
#define RP_OPTIMIZE_LLM_URL_H

#include <stdbool.h>

struct rp_err;

/**
 * @param ret_encrypted https
 * @param ret_loopback the host is this machine: localhost, 127.0.0.0/8, ::1
 * @return 0; RP_USAGE for anything but a plain http or https address without name, password, query
 *         and fragment
 */
int rp_llm_url_check(const char *url, bool *ret_encrypted, bool *ret_loopback, struct rp_err *err);

#endif
