/**
 * @file command_template.h
 * @brief The command of a configuration, from a text with {NAME} where values go.
 *
 * The text is split into words as a shell does, but by us: a value is a part of one word whatever
 * it is made of, and no shell sees it. With RP_TEMPLATE_SHELL the text is a script for /bin/sh, and
 * values reach it in variables: quoted where they are set, and never read as code.
 */
#ifndef RP_TUNE_COMMAND_TEMPLATE_H
#define RP_TUNE_COMMAND_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

struct rp_command;
struct rp_err;
struct rp_space;
struct rp_template;

enum rp_template_flags {
    RP_TEMPLATE_SHELL = 1,       /**< --shell */
    RP_TEMPLATE_ENVIRONMENT = 2, /**< --env: each parameter is an environment variable, too */
    RP_TEMPLATE_OUTPUT = 4,      /**< {output} is the program that a build command makes */
    RP_TEMPLATE_PART = 8,        /**< another template may have the parameters that are not in it */
};

/**
 * @param flags  of enum rp_template_flags
 * @return 0; RP_USAGE: what is wrong and at which column: an unknown placeholder, a parameter that
 *         the command does not depend on, a quote that is not closed, what only a shell can do, a
 *         value that is longer than the system lets an argument be; RP_ENVIRONMENT
 */
int rp_template_parse(const char *text, const struct rp_space *space, unsigned flags,
                      struct rp_template **ret, struct rp_err *err);
void rp_template_free(struct rp_template *template);

/** Does the command depend on the parameter? */
bool rp_template_uses(const struct rp_template *template, size_t parameter);
/** Does the command have {output}? */
bool rp_template_has_output(const struct rp_template *template);

/**
 * @param space   of rp_template_parse
 * @param output  with RP_TEMPLATE_OUTPUT: what {output} becomes, at most 4095 bytes; else NULL
 * @return 0 or RP_ENVIRONMENT
 */
int rp_template_fill_output(const struct rp_template *template, const struct rp_space *space,
                            size_t config, const char *output, struct rp_command *ret,
                            struct rp_err *err);
/** Without output. */
int rp_template_fill(const struct rp_template *template, const struct rp_space *space,
                     size_t config, struct rp_command *ret, struct rp_err *err);

#endif
