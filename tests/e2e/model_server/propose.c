/*
 * The proposer "llm" as a session uses it: propose SETTINGS SOURCE JOURNAL ROUNDS. The whole file
 * is the kernel. Each answer that cannot be used, and each proposal, is an attempt that the next
 * question tells of. Prints a line for each round; exit status: that of the error which ended it.
 */
#include "optimize/propose.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "optimize/candidate_check.h"
#include "optimize/kernel_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 64 };

extern const struct rp_proposer rp_proposer_llm;

static void log_record(void *context, const struct rp_llm_record *r)
{
    fprintf(context, "%s\n%s\n%s\n%s\n\n", r->failure ? r->failure : "answered", r->system, r->user,
            r->answer);
}

struct session {
    void *proposer;
    struct rp_compile_command *command; /* NULL: no guards */
    struct rp_proposer_input in;
    struct rp_attempt attempts[MAX_ROUNDS];
    char *compiler_output;
};

static void add_attempt(struct session *s, struct rp_proposal *proposal, const char *outcome,
                        const char *reason)
{
    s->attempts[s->in.attempt_count++] =
        (struct rp_attempt){.title = proposal->title,
                            .kernel_text = proposal->kernel_text,
                            .outcome = outcome,
                            .reason = reason ? strdup(reason) : NULL};
}

/* @return 0 whatever the guards say */
static int guard(struct session *s, struct rp_proposal *proposal, struct rp_err *err)
{
    rp_cleanup(rp_guard_result_free) struct rp_guard_result result = {0};
    int rc = rp_guard_check(s->in.source, proposal->kernel_text, proposal->bytes, s->in.scope,
                            s->command, "gfx942", ".", &result, err);

    printf("%s: %s: %s\n", proposal->title, rc == 0 ? "passes" : "refused", rc ? err->text : "");
    if (rc < 0 && rc != -RP_VERDICT)
        return rc;
    free(s->compiler_output);
    s->compiler_output = rp_steal(result.compiler_output);
    s->in.compiler_output = s->compiler_output;
    s->in.failed_text = s->compiler_output ? proposal->kernel_text : NULL;
    add_attempt(s, proposal, rc == 0 ? "slower" : "refused", rc == 0 ? NULL : err->text);
    return 0;
}

/* @return 1 there may be more, 0 no more, negative */
static int one_round(struct session *s, struct rp_err *err)
{
    struct rp_proposal proposal = {0};
    int rc = rp_proposer_llm.propose(s->proposer, &s->in, &proposal, err);

    if (rc == 1 && s->command) {
        rc = guard(s, &proposal, err);
        return rc < 0 ? rc : 1;
    }
    if (rc == 1) {
        printf("proposal of %zu bytes: %s\n", proposal.bytes, proposal.title);
        add_attempt(s, &proposal, "slower", NULL);
    } else if (rc == -RP_VERDICT) {
        printf("refused: %s\n", err->text);
        add_attempt(s, &proposal, "refused", err->text);
        return 1;
    } else {
        printf("ended: %s\n", rc == 0 ? "nothing more" : err->text);
    }
    return rc;
}

static int rounds(struct session *s, const char *settings, FILE *journal, int count,
                  struct rp_err *err)
{
    struct rp_llm_config llm = {
        .settings_file = settings, .log = log_record, .log_context = journal};
    int rc = rp_proposer_llm.open(&(struct rp_proposer_config){.llm = &llm}, &s->proposer, err);

    if (rc < 0)
        return rc;
    s->in.attempts = s->attempts;
    for (rc = 1; rc == 1 && count > 0; count--)
        rc = one_round(s, err);
    rp_proposer_llm.close(s->proposer);
    return rc;
}

static void cleanup_session(struct session *s)
{
    for (size_t i = 0; i < s->in.attempt_count; i++) {
        free((char *)s->attempts[i].title);
        free((char *)s->attempts[i].kernel_text);
        free((char *)s->attempts[i].reason);
    }
    free(s->compiler_output);
    rp_compile_command_free(s->command);
}

/* The whole file, without a compiler. */
static int run_plain(char **argv, FILE *journal, struct rp_err *err)
{
    rp_cleanup(cleanup_session) struct session s = {.in.scope = RP_EDIT_BODY};
    rp_autofree char *text = rp_read_text(argv[2], 1 << 20);
    char name[] = "k";
    struct rp_kernel_source source = {.path = argv[2], .text = text, .name = name, .line = 1};

    if (!text)
        return -RP_BAD_INPUT;
    source.bytes = source.end = strlen(text);
    s.in.source = &source;
    return rounds(&s, argv[1], journal, atoi(argv[4]), err);
}

static int run_guarded(char **argv, FILE *journal, struct rp_err *err)
{
    rp_cleanup(cleanup_session) struct session s = {0};
    struct rp_build_choice build = {0};
    struct rp_kernel_source *source = NULL;
    int rc = rp_compile_command_read(&build, argv[2], &s.command, err);

    if (rc == 0)
        rc = rp_kernel_source_read(s.command, argv[2], argv[5], "gfx942", &source, err);
    s.in.source = source;
    s.in.scope = strcmp(argv[6], "body") == 0 ? RP_EDIT_BODY : RP_EDIT_UNROLL;
    if (rc == 0)
        rc = rounds(&s, argv[1], journal, atoi(argv[4]), err);
    rp_kernel_source_free(source);
    return rc;
}

int main(int argc, char **argv)
{
    FILE *journal = argc == 5 || argc == 7 ? fopen(argv[3], "a") : NULL;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    if (!journal || atoi(argv[4]) > MAX_ROUNDS)
        return 99;
    rc = argc == 5 ? run_plain(argv, journal, &err) : run_guarded(argv, journal, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    fclose(journal);
    return rc < 0 ? -rc : 0;
}
