/* What optimize.json has. */
#include <string.h>

#include "optimize/session_parts.h"

json_t *rp_session_text(const char *text)
{
    return text ? rp_journal_string(text, strlen(text)) : json_null();
}

json_t *rp_session_json(const struct rp_session *s, const char *ended_by, const char *error)
{
    const struct rp_session_options *o = s->o;
    const char *slash = strrchr(o->source, '/');
    const json_t *round = json_array_get(s->rounds, 0);
    char before[RP_SHA256_TEXT], after[RP_SHA256_TEXT];

    rp_sha256(s->original, s->original_bytes, before);
    if (rp_sha256_file(s->source, after, NULL) < 0)
        return NULL;
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:o, s:s?, s:s, s:o, s:s, s:o, s:s, s:f, s:b, s:s?, s:O, s:O, s:o, "
        "s:b}",
        "schema_version", "1.0", "source", rp_session_text(slash ? slash + 1 : o->source),
        "source_sha256", before, "result_sha256", after, "build",
        rp_session_text(rp_compile_command_origin(s->command)), "device",
        json_string_value(json_object_get(round, "device")), "proposer", o->proposer->name,
        "proposer_ended", rp_session_text(s->proposer_ended), "ended_by", ended_by, "error",
        rp_session_text(error), "scope", o->scope == RP_EDIT_UNROLL ? "unroll" : "body",
        "least_improvement", o->least_improvement, "dry_run", o->dry_run, "output_judged_by",
        rp_session_judged_by(s), "rounds", s->rounds, "accepted", s->accepted, "program",
        s->whole ? json_incref(s->whole) : json_null(), "times_modelled", s->modelled);
}
