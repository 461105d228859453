/* Makes the sentences with which the text of an answer begins: those that the command itself prints
 * first for people. They are made of what it printed as JSON, so that a model reads the result
 * before its evidence. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "report/report.h"

enum { MOST_ANALYSIS_BYTES = 64 << 20 };

static void drop(json_t **json)
{
    json_decref(*json);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

/* --- compare ------------------------------------------------------------------------------- */

static enum rp_versus_verdict verdict_named(const char *name)
{
    enum rp_versus_verdict verdict = RP_COMPARE_FASTER;

    while (verdict < RP_COMPARE_UNDECIDED &&
           (!name || strcmp(rp_versus_verdict_names[verdict], name)))
        verdict++;
    return verdict;
}

static void put_compared(const json_t *object, struct rp_buf *to)
{
    const json_t *list = json_object_get(object, "comparisons"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const json_t *whole = json_object_get(one, "whole"), *time = json_object_get(whole, "time");
        const json_t *side = json_object_get(one, "after");
        const char *by = text_of(side, "measurement");
        const struct rp_versus_side before = {
            .path = (char *)text_of(json_object_get(object, "baseline"), "path")};
        const struct rp_versus_side after = {
            .path = (char *)text_of(side, "path"),
            .wall = by && strcmp(by, "wallclock") == 0,
            .told = {.is = by && strcmp(by, "replay") == 0,
                     .wrong = json_is_true(json_object_get(whole, "different_output"))}};
        const struct rp_versus_found found = {
            .before = &before,
            .after = &after,
            .whole = {.verdict = verdict_named(text_of(time, "verdict")),
                      .ratio = number_of(time, "ratio"),
                      .low = number_of(time, "low"),
                      .high = number_of(time, "high"),
                      .bounded = json_is_number(json_object_get(time, "low")),
                      .reason = text_of(time, "reason")}};

        if (!before.path || !after.path || !time)
            continue;
        rp_versus_result_text(to, &found);
        rp_buf_puts(to, "\n");
    }
}

/* --- profile and analyze ------------------------------------------------------------------- */

static void put_program(const json_t *analysis, struct rp_buf *to)
{
    const char *text = text_of(json_object_get(analysis, "program"), "text");

    if (text)
        rp_buf_printf(to, "%s\n", text);
}

/** Returns the folder of a profile that was asked for its verdict; NULL: it was not. The words of
 * the program itself, behind "--", are not the profile's. */
static const char *folder_of_verdict(const struct rp_mcp_command *command)
{
    static const char output[] = "--output=";
    const char *folder = ".rocpd_profile";
    bool asked = false;

    for (size_t i = 0; i < command->words && strcmp(command->argv[i], "--") != 0; i++) {
        const char *word = command->argv[i];

        asked |= strcmp(word, "--why") == 0 || strcmp(word, "--deep-analysis") == 0;
        if (strncmp(word, output, sizeof output - 1) == 0)
            folder = word + sizeof output - 1;
    }
    return asked ? folder : NULL;
}

/** The result of a profile does not have its verdict, but the folder that it has just made does. */
static void put_profiled(const struct rp_mcp_command *command, struct rp_buf *to)
{
    const char *folder = folder_of_verdict(command);
    const char *below = command->directory && folder && folder[0] != '/' ? command->directory : ".";
    rp_autofree char *whole = folder ? rp_path_join(folder[0] == '/' ? "/" : below, folder) : NULL;
    rp_autofree char *file = whole ? rp_path_join(whole, "analysis.json") : NULL;
    rp_autofree char *text = file ? rp_read_text(file, MOST_ANALYSIS_BYTES) : NULL;
    rp_cleanup(drop) json_t *analysis = text ? json_loads(text, 0, NULL) : NULL;

    put_program(analysis, to);
}

static void put_judged(const json_t *judgement, struct rp_buf *to)
{
    const char *text = text_of(judgement, "sentence");

    if (text)
        rp_buf_printf(to, "%s\n", text);
}

void rp_mcp_put_verdict(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command,
                        const json_t *object, struct rp_buf *to)
{
    if (tool->command == RP_COMMAND_compare)
        put_compared(object, to);
    else if (tool->command == RP_COMMAND_analyze)
        put_program(object, to);
    else if (tool->command == RP_COMMAND_profile)
        put_profiled(command, to);
    else if (tool->command == RP_COMMAND_judge)
        put_judged(object, to);
}
