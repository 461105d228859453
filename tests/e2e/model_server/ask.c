/*
 * Asks a model server once and prints the kernel of its answer, for the tests of the client:
 * ask SETTINGS PROMPT JOURNAL [QUESTIONS]. Exit status: that of the error; 6 when the budget is
 * used up.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "optimize/propose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optimize/model_proposer.c"

enum { NO_BUDGET = 6 };

static void log_record(void *context, const struct rp_llm_record *r)
{
    fprintf(context, "attempt %u of %s as %s: %s\n", r->attempt, r->base_url, r->model,
            r->failure ? r->failure : "answered");
    fprintf(context, "status %ld, %llu + %llu tokens%s\n%s\n%s\n%s\n", r->http_status,
            (unsigned long long)r->prompt_tokens, (unsigned long long)r->answer_tokens,
            r->tokens_estimated ? " (estimated)" : "", r->system, r->user, r->answer);
}

static int ask(struct rp_llm_client *client, const char *prompt, struct rp_err *err)
{
    struct rp_completion completion = {0};
    rp_autofree char *kernel = NULL;
    size_t bytes;
    int rc = llm_client_ask(client, "You improve kernels.", prompt, &completion, err);

    if (rc == 0)
        return NO_BUDGET;
    if (rc > 0) {
        rc = rp_llm_answer_kernel(&completion, &kernel, &bytes, err);
        if (rc == 0)
            printf("%s\n", kernel);
        rp_completion_free(&completion);
    }
    return -rc;
}

int main(int argc, char **argv)
{
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings settings = {0};
    struct rp_llm_client *client = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *prompt = argc > 2 ? rp_read_text(argv[2], 1 << 20) : NULL;
    FILE *journal = argc > 3 ? fopen(argv[3], "a") : NULL;
    int code = 0;

    if (!prompt || !journal)
        return 99;
    rp_proc_catch_signals();
    if (rp_llm_settings_read(*argv[1] ? argv[1] : NULL, &settings, &err) < 0 ||
        llm_client_open(&settings, 0, log_record, journal, &client, &err) < 0)
        code = (int)err.code;
    for (int i = 0; code == 0 && i < (argc > 4 ? atoi(argv[4]) : 1); i++)
        code = ask(client, prompt, &err);
    if (err.code)
        fprintf(stderr, "%s\n", err.text);
    if (client)
        fprintf(stderr, "spent %llu tokens\n",
                (unsigned long long)rp_llm_client_spent_tokens(client));
    llm_client_close(client);
    fclose(journal);
    return code;
}
