/**
 * @file prompt_parts.h
 * @brief A text in sections, of which the less important parts give way when it is too long.
 */
#ifndef RP_OPTIMIZE_LLM_PROMPT_PARTS_H
#define RP_OPTIMIZE_LLM_PROMPT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct rp_err;

/** In the order of the text. */
enum rp_prompt_section {
    RP_SECTION_TASK,
    RP_SECTION_HARDWARE,
    RP_SECTION_MEASURED,
    RP_SECTION_STALLS,
    RP_SECTION_DECLARATIONS,
    RP_SECTION_KERNEL,
    RP_SECTION_LOOPS,
    RP_SECTION_ATTEMPTS,
    RP_SECTION_REPAIR,
    RP_SECTION_ANSWER,
    RP_SECTION_COUNT,
};

/** How a part gives way: within one of these, the largest index first; the last of these first. */
enum rp_prompt_rank {
    RP_RANK_NEEDED, /**< never */
    RP_RANK_REPAIR,
    RP_RANK_MEASURED,
    RP_RANK_ATTEMPT,
    RP_RANK_DECLARATION,
    RP_RANK_ATTEMPT_TEXT,
};

struct rp_prompt_part {
    struct rp_buf text;
    enum rp_prompt_section section;
    enum rp_prompt_rank rank;
    size_t index;
    bool left_out;
};

/** Zero-initialise; release with rp_prompt_parts_free. */
struct rp_prompt_parts {
    struct rp_buf heads[RP_SECTION_COUNT],
        tails[RP_SECTION_COUNT]; /**< around what a section has */
    struct rp_prompt_part *list;
    size_t count;
    bool failed;    /**< out of memory: contents are incomplete */
    char fence[64]; /**< longer than any run of back-quotes in what it goes around */
};

/** A new part to write to; valid until the next one is made. Never NULL. */
struct rp_buf *rp_prompt_part(struct rp_prompt_parts *parts, enum rp_prompt_section section,
                              enum rp_prompt_rank rank, size_t index);

/** Sees to it that the fence does not occur in this text. Before anything is fenced. */
void rp_prompt_fence_for(struct rp_prompt_parts *parts, const char *text);
/** Text that stands between fences: whole lines, in which the fence does not occur. */
void rp_prompt_add_data(const struct rp_prompt_parts *parts, struct rp_buf *out, const char *text,
                        size_t bytes);
/** The text between fences. @param language behind the first one; may be "" */
void rp_prompt_add_fenced(const struct rp_prompt_parts *parts, struct rp_buf *out,
                          const char *language, const char *text, size_t bytes);

/**
 * @param rules_bytes of what is sent with it
 * @param most_bytes  of both
 * @return 0 with the text and how many parts it lacks; RP_BAD_INPUT when what is needed is longer
 */
int rp_prompt_parts_join(struct rp_prompt_parts *parts, size_t rules_bytes, size_t most_bytes,
                         char **ret, size_t *ret_left_out, struct rp_err *err);

void rp_prompt_parts_free(struct rp_prompt_parts *parts);

#endif
