#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "experiment/build_command.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/prompt.h"
#include "optimize/propose.h"
#include "run/kernel_names.h"
#include "run/machine.h"

static enum rp_edit_scope scope_of(const struct rp_prompt_cli *args)
{
    return args->allow >= 0 ? RP_EDIT_BODY : RP_EDIT_UNROLL;
}

static bool same_symbol(const char *symbol, const char *word)
{
    size_t length = strlen(symbol);

    return strncmp(symbol, word, length) == 0 &&
           (word[length] == '\0' || strcmp(word + length, ".kd") == 0);
}

/* Finds which of the file's kernels is meant. */
static int choose(const struct rp_source_kernels *kernels, const char *which, size_t *ret,
                  struct rp_err *err)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    rp_cleanup(rp_kernel_pattern_free) struct rp_kernel_pattern pattern = {0};
    rp_autobuf names = {0};
    size_t found = 0;

    if (kernels->count == 0)
        return rp_fail(err, RP_BAD_INPUT, "no kernel is in this file");
    for (size_t i = 0; which && i < kernels->count; i++)
        if (same_symbol(kernels->symbols[i], which)) {
            *ret = i;
            return 0;
        }
    if (which && rp_kernel_pattern_compile("--kernel", which, &pattern, err) < 0)
        return -(int)err->code;
    if (rp_environment_detect(&env, err) < 0)
        return -(int)err->code;
    rp_demangler_open(&env, &demangler);
    for (size_t i = 0; i < kernels->count; i++) {
        rp_autofree char *name = rp_demangle_kernel(&demangler, kernels->symbols[i]);
        bool wanted =
            !which || (name && rp_kernel_pattern_finds(&pattern, name, kernels->symbols[i]));

        if (wanted && found++ == 0)
            *ret = i;
        if (wanted || found == 0)
            rp_buf_printf(&names, "%s%s", names.len ? "; " : " ",
                          name ? name : kernels->symbols[i]);
    }
    if (found == 0)
        return rp_fail(err, RP_USAGE, "--kernel %s finds none of the file's kernels:%.600s", which,
                       rp_buf_text(&names));
    if (found > 1)
        return rp_fail(err, RP_USAGE, "%s; name one of them with --kernel:%.600s",
                       which ? "several kernels are found" : "the file has several kernels",
                       rp_buf_text(&names));
    return 0;
}

static const struct rp_kernel_facts *facts_of(const struct rp_facts *facts, const char *symbol)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->kernels[i].symbol && strcmp(facts->kernels[i].symbol, symbol) == 0)
            return &facts->kernels[i];
    return NULL;
}

/* Finds the GPU of the profile's kernels. They all ran on the same kind of GPU, or nobody can tell.
 */
static const char *arch_of(const struct rp_prompt_cli *choice, const struct rp_facts *facts)
{
    if (choice->arch)
        return choice->arch;
    for (size_t i = 0; i < facts->count; i++)
        if (facts->kernels[i].arch)
            return facts->kernels[i].arch;
    return rp_arch_default()->name; /* rocm-perf hipcc compiles for this GPU where there is none. */
}

/* The messages are those of a request's body. The model is not named, because its settings are not
 * read here. */
static char *prompt_json(const struct rp_prompt_cli *choice, const struct rp_kernel_source *source,
                         const char *arch, const struct rp_llm_prompt *prompt)
{
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}], s:I, s:I}", "schema_version", "1.0",
        "symbol", source->symbol, "architecture", arch, "scope",
        scope_of(choice) == RP_EDIT_UNROLL ? "unroll" : "body", "messages", "role", "system",
        "content", prompt->system, "role", "user", "content", prompt->user, "estimated_tokens",
        (json_int_t)prompt->tokens, "parts_left_out", (json_int_t)prompt->left_out);
    rp_autofree char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;

    json_decref(root);
    return text ? rp_format("%s\n", text) : NULL;
}

static int print_prompt(const struct rp_prompt_cli *choice, const struct rp_kernel_source *source,
                        const char *arch, const struct rp_kernel_facts *facts, struct rp_err *err)
{
    const struct rp_proposer_input input = {
        .source = source, .facts = facts, .scope = scope_of(choice)};
    rp_cleanup(rp_llm_prompt_free) struct rp_llm_prompt prompt = {0};
    rp_autofree char *out = NULL;

    if (rp_llm_prompt_make(&input, choice->max_tokens, &prompt, err) < 0)
        return err->code == RP_BAD_INPUT ? rp_wrap(err, "--max-tokens is too small")
                                         : -(int)err->code;
    out = choice->json ? prompt_json(choice, source, arch, &prompt)
                       : rp_format("%s\n%s", prompt.system, prompt.user);
    if (!out)
        return rp_fail(err, RP_BAD_INPUT,
                       "the name of the kernel is not UTF-8, which --json cannot hold");
    rp_cli_note("about %llu tokens%s", (unsigned long long)prompt.tokens,
                prompt.left_out > 0 ? "; parts are left out for want of room (--max-tokens)" : "");
    return -rp_cli_result(out);
}

RP_DEFINE_CLEANUP(struct rp_compile_command, rp_compile_command_free)
RP_DEFINE_CLEANUP(struct rp_kernel_source, rp_kernel_source_free)

static int run(const struct rp_prompt_cli *choice, struct rp_err *err)
{
    const struct rp_build_choice build = {.build = choice->build,
                                          .compile_commands = choice->compile_commands,
                                          .flags = choice->flags,
                                          .unit = choice->unit};
    rp_cleanup(rp_cleanup_rp_compile_command_free) struct rp_compile_command *command = NULL;
    rp_cleanup(rp_cleanup_rp_kernel_source_free) struct rp_kernel_source *source = NULL;
    rp_cleanup(rp_source_kernels_free) struct rp_source_kernels kernels = {0};
    rp_cleanup(rp_facts_free) struct rp_facts facts = {0};
    const struct rp_kernel_facts *measured;
    const char *arch;
    size_t which = 0;

    if (choice->profile && rp_facts_read(choice->profile, &facts, err) < 0)
        return -(int)err->code;
    arch = arch_of(choice, &facts);
    if (!rp_arch_find(arch))
        return rp_fail(err, RP_USAGE, "--arch %s: not a GPU that is known here", arch);
    if (rp_compile_command_read(&build, choice->source, &command, err) < 0 ||
        rp_source_kernels(command, choice->source, arch, &kernels, err) < 0 ||
        choose(&kernels, choice->kernel, &which, err) < 0 ||
        rp_kernel_source_read(command, choice->source, kernels.symbols[which], arch, &source, err) <
            0)
        return -(int)err->code;
    measured = facts_of(&facts, kernels.symbols[which]);
    if (choice->profile && !measured)
        rp_cli_note("%s says nothing of this kernel", choice->profile);
    return print_prompt(choice, source, arch, measured, err);
}

int rp_cmd_prompt(int argc, char **argv)
{
    struct rp_prompt_cli args;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    if (!rp_options_parse(RP_COMMAND_prompt, argc, argv, &args, &rc))
        return rc;
    rp_proc_catch_signals();
    rc = run(&args, &err);
    if (rc < 0 && err.code)
        return rp_cli_error(&err);
    return -rc;
}
