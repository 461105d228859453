/**
 * @file fuzz_template.c
 * @brief Any bytes as a template and as a value: refused with a reason, or a command in which the
 *        value is within the words that the template has, and quoted in a script.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "experiment/measured_run.h"
#include "tune/space.h"

#include "tune/program_runner.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/** Two configurations: A is "x" in the first and the fuzzed value in the second. */
static struct rp_space *space_of(const char *value)
{
    const struct rp_value values[] = {{.kind = RP_VALUE_TEXT, .text = "x"},
                                      {.kind = RP_VALUE_TEXT, .text = value}};
    const struct rp_value one = {.kind = RP_VALUE_INTEGER, .integer = 1};
    struct rp_space *space = rp_space_new();

    if (!space || rp_space_add_parameter(space, "A", values, 2, NULL) < 0 ||
        rp_space_add_parameter(space, "B", &one, 1, NULL) < 0 ||
        rp_space_add(space, (uint16_t[]){0, 0}, NULL) < 0 ||
        rp_space_add(space, (uint16_t[]){1, 0}, NULL) < 0) {
        rp_space_free(space);
        return NULL;
    }
    return space;
}

static size_t count_words(const struct rp_command *command)
{
    size_t count = 0;

    while (command->argv[count])
        count++;
    return count;
}

/** Behind an assignment of a quoted text, which ends where its quote does. */
static const char *after_assignment(const char *script)
{
    must(strncmp(script, "rocm_perf_", 10) == 0 && (script = strchr(script, '=')) &&
         *++script == '\'');
    do {
        must((script = strchr(script + 1, '\'')) != NULL);
    } while (strncmp(script, "'\\''", 4) == 0 && (script += 3));
    must(script[1] == '\n');
    return script + 2;
}

static void check(const char *text, const struct rp_space *space, unsigned flags)
{
    struct rp_err err = RP_ERR_INIT;
    const char *output = flags & RP_TEMPLATE_OUTPUT ? "/o'ut $(put)" : NULL;
    struct rp_template *template;
    struct rp_command a, b;

    if (template_parse(text, space, flags, &template, &err) < 0) {
        must(err.code == RP_USAGE && err.text[0]);
        return;
    }
    must(template_fill_output(template, space, 0, output, &a, &err) == 0);
    must(template_fill_output(template, space, 1, output, &b, &err) == 0);
    must(count_words(&a) == count_words(&b) && count_words(&a) > 0);
    if (flags & RP_TEMPLATE_SHELL) {
        const char *script[] = {a.argv[2], b.argv[2]};

        /* behind the values, the script is the same whatever they are */
        for (size_t i = 0; i < 2; i++)
            while (strncmp(script[i], "rocm_perf_", 10) == 0)
                script[i] = after_assignment(script[i]);
        must(strcmp(script[0], script[1]) == 0);
    }
    rp_command_free(&a);
    rp_command_free(&b);
    template_free(template);
}

/* Up to the first zero byte the template, behind it the value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_autobuf text = {0}, value = {0};
    struct rp_space *space;

    rp_buf_add(&text, data, size);
    if (strlen(rp_buf_text(&text)) < size)
        rp_buf_puts(&value, rp_buf_text(&text) + strlen(rp_buf_text(&text)) + 1);
    if (strncmp(rp_buf_text(&text), "rocm_perf_", 10) == 0 ||
        !(space = space_of(rp_buf_text(&value))))
        return 0;
    for (unsigned flags = 0; flags < 16; flags++)
        check(rp_buf_text(&text), space, flags);
    rp_space_free(space);
    return 0;
}
