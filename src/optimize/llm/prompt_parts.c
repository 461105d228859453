#include "optimize/llm/prompt_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "optimize/llm/client.h"
#include "optimize/llm/utf8.h"

enum { LEAST_FENCE = 3 };

struct rp_buf *rp_prompt_part(struct rp_prompt_parts *parts, enum rp_prompt_section section,
                              enum rp_prompt_rank rank, size_t index)
{
    struct rp_prompt_part *longer =
        reallocarray(parts->list, parts->count + 1, sizeof *parts->list);

    if (!longer) { /* heads are as good as any place for text that nobody will see */
        parts->failed = true;
        return &parts->heads[section];
    }
    parts->list = longer;
    longer[parts->count] =
        (struct rp_prompt_part){.section = section, .rank = rank, .index = index};
    return &longer[parts->count++].text;
}

void rp_prompt_fence_for(struct rp_prompt_parts *parts, const char *text)
{
    size_t longest = LEAST_FENCE - 1, most = sizeof parts->fence - 2;

    if (strlen(parts->fence) > longest + 1)
        longest = strlen(parts->fence) - 1;
    for (const char *c = text; c && (c = strchr(c, '`'));) {
        size_t run = strspn(c, "`");

        longest = run > longest ? run : longest;
        c += run;
    }
    if (longest > most)
        longest = most;
    memset(parts->fence, '`', longest + 1);
    parts->fence[longest + 1] = '\0';
}

/* A run of back-quotes that no fence outdoes: no kernel has it, and it must not end the fence. */
static void break_runs(const struct rp_prompt_parts *parts, char *text)
{
    size_t fence = strlen(parts->fence);

    for (char *c = text; c && (c = strstr(c, parts->fence)); c += fence)
        c[fence - 1] = '\'';
}

void rp_prompt_add_data(const struct rp_prompt_parts *parts, struct rp_buf *out, const char *text,
                        size_t bytes)
{
    rp_autobuf clean = {0};

    rp_utf8_add(&clean, text, bytes);
    break_runs(parts, clean.data);
    rp_buf_add(out, rp_buf_text(&clean), clean.len);
    if (clean.len > 0 && clean.data[clean.len - 1] != '\n')
        rp_buf_puts(out, "\n");
    out->failed = out->failed || clean.failed;
}

void rp_prompt_add_fenced(const struct rp_prompt_parts *parts, struct rp_buf *out,
                          const char *language, const char *text, size_t bytes)
{
    rp_buf_printf(out, "%s%s\n", parts->fence, language);
    rp_prompt_add_data(parts, out, text, bytes);
    rp_buf_printf(out, "%s\n", parts->fence);
}

static bool gives_way_before(const struct rp_prompt_part *a, const struct rp_prompt_part *b)
{
    return a->rank != b->rank ? a->rank > b->rank : a->index > b->index;
}

static struct rp_prompt_part *next_to_leave_out(struct rp_prompt_parts *parts)
{
    struct rp_prompt_part *chosen = NULL;

    for (size_t i = 0; i < parts->count; i++) {
        struct rp_prompt_part *part = &parts->list[i];

        if (!part->left_out && part->rank != RP_RANK_NEEDED && part->text.len > 0 &&
            (!chosen || gives_way_before(part, chosen)))
            chosen = part;
    }
    return chosen;
}

static void render(struct rp_prompt_parts *parts, struct rp_buf *out)
{
    out->len = 0;
    for (int section = 0; section < RP_SECTION_COUNT; section++) {
        size_t begin = out->len;

        rp_buf_add(out, rp_buf_text(&parts->heads[section]), parts->heads[section].len);
        for (size_t i = 0; i < parts->count; i++) {
            const struct rp_prompt_part *part = &parts->list[i];

            if (part->section == (enum rp_prompt_section)section && !part->left_out)
                rp_buf_add(out, rp_buf_text(&part->text), part->text.len);
            out->failed = out->failed || part->text.failed;
        }
        if (out->len == begin + parts->heads[section].len)
            out->len = begin; /* a head alone says nothing */
        else
            rp_buf_add(out, rp_buf_text(&parts->tails[section]), parts->tails[section].len);
    }
    if (out->data)
        out->data[out->len] = '\0';
}

int rp_prompt_parts_join(struct rp_prompt_parts *parts, size_t rules_bytes, size_t most_bytes,
                         char **ret, size_t *ret_left_out, struct rp_err *err)
{
    rp_autobuf out = {0};
    size_t left_out = 0;

    for (;;) {
        struct rp_prompt_part *part;

        render(parts, &out);
        if (out.failed || parts->failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (out.len + rules_bytes <= most_bytes)
            break;
        part = next_to_leave_out(parts);
        if (!part)
            return rp_fail(err, RP_BAD_INPUT,
                           "the question has about %llu tokens with the kernel alone, and may have "
                           "%llu",
                           (unsigned long long)rp_llm_estimate_tokens(out.len + rules_bytes),
                           (unsigned long long)rp_llm_estimate_tokens(most_bytes));
        part->left_out = true;
        left_out++;
    }
    *ret = rp_buf_steal(&out);
    if (!*ret)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret_left_out = left_out;
    return 0;
}

void rp_prompt_parts_free(struct rp_prompt_parts *parts)
{
    for (int section = 0; section < RP_SECTION_COUNT; section++) {
        rp_buf_free(&parts->heads[section]);
        rp_buf_free(&parts->tails[section]);
    }
    for (size_t i = 0; i < parts->count; i++)
        rp_buf_free(&parts->list[i].text);
    free(parts->list);
}
