#include "cli/history_options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "usage: rocm-perf history add [--commit C] [--config KEY=VALUE]... [--program NAME]\n"
    "                             [--at TIME] RESULT...\n"
    "       rocm-perf history list | show [--json] [filters]\n"
    "       rocm-perf history check [--margin X] [--recent N] [--strict] [--json] [filters]\n"
    "       rocm-perf history plot [-o FILE] [--margin X] [filters]\n"
    "       rocm-perf history remove NUMBER...\n"
    "       rocm-perf history export [--format jsonl|csv] [-o FILE] [filters]\n"
    "\n"
    "Keeps results in one file, shows them, and finds where times have changed.\n"
    "RESULT is a folder of `rocm-perf profile`, its profile.json, or a trace, each also packed by\n"
    "gzip. One that is there already is not added again. Results of a program, device and\n"
    "configuration are a series.\n"
    "\n"
    "  --db FILE           the file (default .rocm-perf/history.db)\n"
    "  --commit C          add: of what was run (default: that of the git work tree here, with\n"
    "                      -dirty where files are changed; '' for none). list, show, plot,\n"
    "                      export: only results whose commit starts with C\n"
    "  --config KEY=VALUE  add: what else tells results apart; may be repeated. Else: only\n"
    "                      results with it; VALUE may be a pattern\n"
    "  --program NAME      add: a name in place of the command. Else: only results of this\n"
    "                      program: the command or its first words, or a pattern of it\n"
    "  --at TIME           add: when, as 2026-11-23T20:15:00Z (default: now)\n"
    "  --kernel GLOB       only these kernels; of list only results with one\n"
    "  --device NAME       only devices that begin so, as software, or match this pattern\n"
    "  --json              print JSON (schemas/history.schema.json)\n"
    "  --margin X          by how many per cent times may differ and be the same (default 1,\n"
    "                      and 0 where they are modelled, which are exact)\n"
    "  --recent N          a change to slower is a regression while at most so many results\n"
    "                      (or commits) have it (default 5)\n"
    "  --strict            check: exit status 1 also where a series is undecided\n"
    "  --format F          jsonl (default) or csv\n"
    "  -o FILE             write there, not to standard output\n"
    "  --help              this text\n"
    "\n"
    "exit status: 0 done, 1 check: a series has become slower (--strict: or is undecided),\n"
    "2 usage, 3 a result or the file cannot be used, 4 environment\n";

static const char *const names[] = {
    [RP_HISTORY_ADD] = "add",       [RP_HISTORY_LIST] = "list",   [RP_HISTORY_SHOW] = "show",
    [RP_HISTORY_PLOT] = "plot",     [RP_HISTORY_CHECK] = "check", [RP_HISTORY_EXPORT] = "export",
    [RP_HISTORY_REMOVE] = "remove",
};

enum {
    DB = 256,
    COMMIT,
    CONFIG,
    PROGRAM,
    AT,
    KERNEL,
    DEVICE,
    JSON,
    MARGIN,
    RECENT,
    FORMAT,
    STRICT,
};

/* Which commands take it: their letters, after those of names. */
static const struct {
    int option;
    const char *commands;
} takers[] = {
    {CONFIG, "alspce"}, {PROGRAM, "alspce"}, {AT, "a"},      {KERNEL, "lspce"},
    {DEVICE, "lspce"},  {JSON, "lsc"},       {MARGIN, "pc"}, {RECENT, "c"},
    {FORMAT, "e"},      {'o', "pe"},         {STRICT, "c"},  {COMMIT, "alspe"},
};

void rp_history_options_free(struct rp_history_options *given)
{
    free(given->config);
}

static bool is_taken(int option, enum rp_history_command command)
{
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (takers[i].option == option)
            return strchr(takers[i].commands, names[command][0]);
    return true;
}

/* No line ends: the file has one line for each. */
static int take_config(const char *word, struct rp_history_options *ret)
{
    const size_t key = strcspn(word, "=");
    char **grown;

    for (size_t i = 0; i < key; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_.-", word[i]))
            return rp_cli_usage_error("history", "--config %s: a key has letters, digits, _ . -",
                                      word);
    if (!key || !word[key] || strpbrk(word, "\n\r"))
        return rp_cli_usage_error("history", "--config %s: use KEY=VALUE, of one line", word);
    for (size_t i = 0; i < ret->config_count; i++)
        if (strncmp(ret->config[i], word, key + 1) == 0)
            return rp_cli_usage_error("history", "--config %.*s is given twice", (int)key, word);
    grown = reallocarray(ret->config, ret->config_count + 1, sizeof *grown);
    if (!grown) {
        struct rp_err err = RP_ERR_INIT;

        rp_out_of_memory(&err);
        return rp_cli_error(&err);
    }
    ret->config = grown;
    grown[ret->config_count++] = (char *)word;
    return 0;
}

static int take_margin(const char *word, struct rp_history_options *ret)
{
    char *end;

    ret->rule.margin = ret->rule.exact = strtod(word, &end) / 100;
    if (end != word && !*end && ret->rule.margin >= 0 && ret->rule.margin <= 1)
        return 0;
    return rp_cli_usage_error("history", "--margin %s: use per cent, from 0 to 100", word);
}

static int take_recent(const char *word, struct rp_history_options *ret)
{
    char *end;
    const unsigned long long value = strtoull(word, &end, 10);

    ret->rule.recent = value;
    if (isdigit((unsigned char)word[0]) && !*end && value >= 1 && value <= 1000000)
        return 0;
    return rp_cli_usage_error("history", "--recent %s: use a number from 1 on", word);
}

static int take_time(const char *word, struct rp_history_options *ret)
{
    struct rp_err err = RP_ERR_INIT;

    return rp_rfc3339(word, ret->at, &err) == 0
               ? 0
               : rp_cli_usage_error("history", "--at %s", err.text);
}

static int take_format(const char *word, struct rp_history_options *ret)
{
    ret->csv = strcmp(word, "csv") == 0;
    if (ret->csv || strcmp(word, "jsonl") == 0)
        return 0;
    return rp_cli_usage_error("history", "--format %s: use jsonl or csv", word);
}

static int take(int option, char *word, struct rp_history_options *ret)
{
    const struct {
        int option;
        const char **to;
    } texts[] = {{DB, &ret->path},
                 {COMMIT, &ret->filter.commit},
                 {PROGRAM, &ret->program},
                 {KERNEL, &ret->filter.kernel},
                 {DEVICE, &ret->filter.device},
                 {'o', &ret->output}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            *texts[i].to = word;
    ret->json |= option == JSON;
    ret->strict |= option == STRICT;
    return option == CONFIG   ? take_config(word, ret)
           : option == MARGIN ? take_margin(word, ret)
           : option == RECENT ? take_recent(word, ret)
           : option == AT     ? take_time(word, ret)
           : option == FORMAT ? take_format(word, ret)
                              : 0;
}

static int take_command(int argc, char **argv, struct rp_history_options *ret)
{
    for (int i = 0; argc > 1 && i < RP_HISTORY_COMMANDS; i++)
        if (strcmp(argv[1], names[i]) == 0) {
            ret->command = (enum rp_history_command)i;
            return 0;
        }
    return rp_cli_usage_error(
        "history", "give a command first: add, list, show, check, plot, remove or export");
}

static const struct option options[] = {
    {"db", required_argument, NULL, DB},
    {"commit", required_argument, NULL, COMMIT},
    {"config", required_argument, NULL, CONFIG},
    {"program", required_argument, NULL, PROGRAM},
    {"at", required_argument, NULL, AT},
    {"kernel", required_argument, NULL, KERNEL},
    {"device", required_argument, NULL, DEVICE},
    {"json", no_argument, NULL, JSON},
    {"margin", required_argument, NULL, MARGIN},
    {"recent", required_argument, NULL, RECENT},
    {"format", required_argument, NULL, FORMAT},
    {"strict", no_argument, NULL, STRICT},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char *name_of(int value)
{
    const struct option *option = options;

    while (option->name && option->val != value)
        option++;
    return option->name;
}

int rp_history_options(int argc, char **argv, struct rp_history_options *ret, int *ret_code)
{
    int c;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        *ret_code = rp_cli_help(help);
        return -1;
    }
    if ((*ret_code = take_command(argc, argv, ret)) != 0)
        return -1;
    opterr = 0;
    optind = 2;
    while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
        if (c == 'h')
            *ret_code = rp_cli_help(help);
        else if (c == '?' || c == ':')
            *ret_code = rp_cli_bad_option("history", argv[optind - 1], c);
        else if (!is_taken(c, ret->command))
            *ret_code = rp_cli_usage_error("history", "%s does not take --%s", names[ret->command],
                                           name_of(c));
        else if ((*ret_code = take(c, optarg, ret)) == 0)
            continue;
        return -1;
    }
    return 0;
}
