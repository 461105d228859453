/**
 * @file fuzz_ci_config.c
 * @brief Any text as the configuration of `rocm-perf ci`, as what a compiler said, and as two
 * outputs of a program.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/ci_config.h"
#include "experiment/build_command.h"
#include "experiment/output_compare.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_program(const struct rp_ci_program *p)
{
    must(p->name && *p->name && !strchr(p->name, '\n') && p->command.count && p->command.at[0][0]);
    must(p->folder && *p->folder && *p->folder != '.' && !strchr(p->folder, '/'));
    for (size_t i = 0; i < p->outputs.count; i++)
        must(p->outputs.at[i][0] != '/' && strncmp(p->outputs.at[i], "../", 3) != 0);
    must(isnan(p->limits.time) || (p->limits.time >= 0 && p->limits.time <= 1e6));
    must(p->tolerance.relative >= 0 && p->tolerance.relative <= 1 && p->tolerance.absolute >= 0);
    must(p->status >= 0 && p->status <= 255);
}

static void read_config(const char *text)
{
    struct rp_ci_config config = {0};
    struct rp_err err = RP_ERR_INIT;

    if (rp_ci_config_parse(text, "rocm-perf.json", &config, &err) < 0) {
        must(err.code == RP_USAGE && strncmp(err.text, "rocm-perf.json: ", 16) == 0);
        return;
    }
    must(config.program_count && config.timeout_s > 0);
    for (size_t i = 0; i < config.program_count; i++) {
        check_program(&config.programs[i]);
        for (size_t k = 0; k < i; k++)
            must(strcmp(config.programs[i].folder, config.programs[k].folder) != 0);
    }
    rp_ci_config_free(&config);
}

static void read_error(const char *text, size_t size)
{
    struct rp_compiler_error error = {0};

    if (!rp_compiler_first_error(text, &error))
        return;
    must(error.line >= text && error.line + error.line_bytes <= text + size);
    must(!error.file || (error.file >= error.line && error.file_bytes > 0 &&
                         error.file + error.file_bytes <= error.line + error.line_bytes));
}

static void compare(const char *text, size_t size)
{
    const size_t half = size / 2;
    const struct rp_output_text a = {text, half}, b = {text + half, size - half};
    const struct rp_output_bound exact = {0, 0}, near = {1e-3, 1e-6};
    const size_t line = rp_output_first_difference(a, b, &exact);

    must(rp_output_first_difference(a, a, &exact) == 0);
    must((line == 0) == (a.bytes == b.bytes && memcmp(a.text, b.text, a.bytes) == 0));
    must(rp_output_first_difference(a, b, &near) == rp_output_first_difference(b, a, &near));
    if (!line)
        must(rp_output_first_difference(a, b, &near) == 0);
    must(rp_output_line(a, line).bytes <= a.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    must(text);
    memcpy(text, data, size);
    text[size] = 0;
    read_config(text);
    read_error(text, strlen(text));
    compare(text, size);
    free(text);
    return 0;
}
