#include "optimize/llm/propose.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/llm/answer.h"
#include "optimize/llm/prompt.h"
#include "optimize/llm/settings.h"
#include "optimize/llm/utf8.h"
#include "optimize/proposer.h"

enum { TITLE_BYTES = 100 };

extern const struct rp_proposer rp_proposer_llm;

static int open_llm(const struct rp_proposer_config *config, void **ret_state, struct rp_err *err)
{
    const struct rp_llm_config none = {0}, *llm = config->llm ? config->llm : &none;
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings settings = {0};
    struct rp_llm_client *client;

    if (rp_llm_settings_read(llm->settings_file, &settings, err) < 0 ||
        rp_llm_client_open(&settings, llm->spent_tokens, llm->log, llm->log_context, &client, err) <
            0)
        return -(int)err->code;
    *ret_state = client;
    return 0;
}

static void close_llm(void *state)
{
    rp_llm_client_close(state);
}

/* The first words of the answer that are not code: the model was asked to say what it changed. */
static char *title_of(const char *answer, const char *model)
{
    const char *line = answer + strspn(answer, " \t\r\n#*-");
    size_t bytes = strcspn(line, "\r\n");
    rp_autobuf title = {0};

    if (bytes == 0 || *line == '`' || *line == '~')
        return rp_format("a change by %s", model);
    rp_utf8_add(&title, line, bytes);
    for (bytes = title.len > TITLE_BYTES ? TITLE_BYTES : title.len;
         bytes < title.len && bytes > 0 && ((unsigned char)title.data[bytes] & 0xC0) == 0x80;)
        bytes--;
    while (bytes > 0 && isspace((unsigned char)title.data[bytes - 1]))
        bytes--;
    for (size_t i = 0; i < bytes; i++) /* behind a colon messages have the outcome */
        if (title.data[i] == ':')
            title.data[i] = ';';
    return title.failed ? NULL : rp_format("%.*s", (int)bytes, title.data);
}

static int propose_llm(void *state, const struct rp_proposer_input *input, struct rp_proposal *ret,
                       struct rp_err *err)
{
    struct rp_llm_client *client = state;
    const struct rp_llm_settings *settings = rp_llm_client_settings(client);
    rp_cleanup(rp_llm_prompt_free) struct rp_llm_prompt prompt = {0};
    rp_cleanup(rp_completion_free) struct rp_completion completion = {0};
    rp_autofree char *kernel = NULL;
    char *title;
    size_t bytes;
    int rc;

    if (rp_llm_prompt_make(input, settings->prompt_tokens, &prompt, err) < 0)
        return err->code == RP_BAD_INPUT
                   ? rp_wrap(err, "prompt_tokens of the settings is too small")
                   : -(int)err->code;
    rc = rp_llm_client_ask(client, prompt.system, prompt.user, &completion, err);
    if (rc == 0)
        return rp_fail(err, RP_OK, "the budget of %llu tokens is used up (budget_tokens)",
                       (unsigned long long)settings->budget_tokens);
    if (rc < 0)
        return rc;
    if (rp_llm_answer_kernel(&completion, &kernel, &bytes, err) < 0)
        return -(int)err->code;
    title = title_of(rp_buf_text(&completion.text), settings->model);
    if (!title)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = (struct rp_proposal){.kernel_text = rp_steal(kernel), .bytes = bytes, .title = title};
    return 1;
}

const struct rp_proposer rp_proposer_llm = {
    .name = "llm",
    .summary = "questions to a model server (OpenAI-compatible)",
    .open = open_llm,
    .propose = propose_llm,
    .close = close_llm,
};
