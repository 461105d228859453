/*
 * The proposer "llm" as a session uses it: propose SETTINGS SOURCE JOURNAL ROUNDS. The whole file
 * is the kernel. Each answer that cannot be used, and each proposal, is an attempt that the next
 * question tells of. Prints a line for each round; exit status: that of the error which ended it.
 */
#include "optimize/llm/propose.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/kernel_source.h"
#include "optimize/proposer.h"

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

/* @return what propose() returned */
static int one_round(void *state, struct rp_proposer_input *in, struct rp_attempt *attempts,
                     struct rp_err *err)
{
    struct rp_proposal proposal = {0};
    struct rp_attempt *attempt = &attempts[in->attempt_count];
    int rc = rp_proposer_llm.propose(state, in, &proposal, err);

    if (rc == 1) {
        printf("proposal of %zu bytes: %s\n", proposal.bytes, proposal.title);
        *attempt = (struct rp_attempt){
            .title = proposal.title, .kernel_text = proposal.kernel_text, .outcome = "slower"};
        in->attempt_count++;
    } else if (rc == -RP_VERDICT) {
        printf("refused: %s\n", err->text);
        *attempt = (struct rp_attempt){.outcome = "refused", .reason = strdup(err->text)};
        in->attempt_count++;
    } else {
        printf("ended: %s\n", rc == 0 ? "nothing more" : err->text);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct rp_attempt attempts[MAX_ROUNDS] = {0};
    rp_autofree char *text = argc == 5 ? rp_read_text(argv[2], 1 << 20) : NULL;
    FILE *journal = argc == 5 ? fopen(argv[3], "a") : NULL;
    struct rp_kernel_source source = {.path = argc == 5 ? argv[2] : NULL, .text = text, .line = 1};
    struct rp_proposer_input in = {.source = &source, .attempts = attempts, .scope = RP_EDIT_BODY};
    struct rp_llm_config llm = {.log = log_record, .log_context = journal};
    struct rp_proposer_config config = {.llm = &llm};
    int rounds = argc == 5 ? atoi(argv[4]) : 0, rc = 1;
    struct rp_err err = RP_ERR_INIT;
    char name[] = "k";
    void *state = NULL;

    if (!text || !journal || rounds > MAX_ROUNDS)
        return 99;
    source.name = name;
    source.bytes = source.end = strlen(text);
    llm.settings_file = argv[1];
    if (rp_proposer_llm.open(&config, &state, &err) < 0) {
        printf("ended: %s\n", err.text);
        return (int)err.code;
    }
    for (int i = 0; i < rounds && (rc == 1 || rc == -RP_VERDICT); i++)
        rc = one_round(state, &in, attempts, &err);
    rp_proposer_llm.close(state);
    for (size_t i = 0; i < in.attempt_count; i++) {
        free((char *)attempts[i].title);
        free((char *)attempts[i].kernel_text);
        free((char *)attempts[i].reason);
    }
    fclose(journal);
    return rc < 0 && rc != -RP_VERDICT ? -rc : 0;
}
