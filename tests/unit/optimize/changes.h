/* The changes of one kind that are proposed for a kernel, and whether the guards accept them. */
#ifndef RP_TEST_OPTIMIZE_CHANGES_H
#define RP_TEST_OPTIMIZE_CHANGES_H

#include <string.h>

#include "optimize/candidate_check.h"

#include "unit/optimize/sources.h"

struct changes {
    struct rp_compile_command *command;
    struct rp_kernel_source *source;
};

static inline struct changes changes_of(const char *text, const char *symbol)
{
    rp_autofree char *path = scratch_put("changes.hip", text);
    struct changes changes = {.command = sources_command("hipcc -nogpuinc -O3 {source}", path)};

    changes.source = sources_kernel(changes.command, path, symbol);
    return changes;
}

static inline void changes_free(struct changes *changes)
{
    rp_kernel_source_free(changes->source);
    rp_compile_command_free(changes->command);
}

/** Returns a change, or NULL when there are fewer of this kind. */
static inline const struct rp_source_change *change_at(const struct changes *changes,
                                                       enum rp_change_kind kind, size_t index)
{
    for (size_t i = 0; i < changes->source->change_count; i++)
        if (changes->source->changes[i].kind == kind && index-- == 0)
            return &changes->source->changes[i];
    return NULL;
}

/** There must be such a change with this text in it, which the guards accept. */
static inline void check_change(const struct changes *changes, enum rp_change_kind kind,
                                size_t index, const char *part)
{
    const struct rp_source_change *change = change_at(changes, kind, index);
    struct rp_guard_result result = {0};
    struct rp_err err = RP_ERR_INIT;

    if (!change)
        fail_msg("there is no change %zu, with:\n%s", index, part);
    if (!strstr(change->kernel_text, part))
        fail_msg("%s: %s", change->title, change->kernel_text);
    if (rp_guard_check(changes->source, change->kernel_text, strlen(change->kernel_text),
                       RP_EDIT_BODY, changes->command, "gfx942", scratch_dir, &result, &err) < 0)
        fail_msg("%s: %s\n%s", change->title, err.text, change->kernel_text);
    rp_guard_result_free(&result);
}

#endif
