/* What people read of a result of `rocm-perf ci`: the comment of a pull request, and notes beside
 * the lines of its sources. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "base/units.h"
#include "report/ci_result.h"
#include "report/ci_text.h"
#include "report/report.h"

const char *const rp_ci_outcome_names[] = {[RP_CI_SKIPPED] = "skipped",
                                           [RP_CI_HOLDS] = "holds",
                                           [RP_CI_UNDECIDED] = "undecided",
                                           [RP_CI_FAILS] = "fails"};

/* --- the result ------------------------------------------------------------------------------ */

void rp_ci_gate_drop_notes(struct rp_ci_gate *gate)
{
    for (size_t i = 0; i < gate->notes.count; i++) {
        free(gate->notes.items[i].text);
        free(gate->notes.items[i].file);
    }
    rp_vec_free(&gate->notes);
}

static void free_gate(struct rp_ci_gate *gate)
{
    rp_ci_gate_drop_notes(gate);
    free(gate->program);
    free(gate->name);
    free(gate->sentence);
    free(gate->evidence);
}

void rp_ci_result_free(struct rp_ci_result *r)
{
    for (size_t i = 0; i < r->gates.count; i++)
        free_gate(&r->gates.items[i]);
    for (size_t i = 0; i < r->programs.count; i++) {
        free(r->programs.items[i].program);
        free(r->programs.items[i].page);
    }
    rp_vec_free(&r->gates);
    rp_vec_free(&r->programs);
    for (size_t i = 0; i < r->remarks.count; i++)
        free(r->remarks.items[i]);
    rp_vec_free(&r->remarks);
    free(r->config);
    free(r->base_name);
    free(r->base_commit);
    free(r->head_commit);
    free(r->device);
    free(r->timing);
    *r = (struct rp_ci_result){0};
}

size_t rp_ci_gate_add(struct rp_ci_result *result, const char *program, const char *name,
                      const char *sentence)
{
    rp_vec_push(&result->gates, (struct rp_ci_gate){.program = program ? rp_strdup(program) : NULL,
                                                    .name = rp_strdup(name),
                                                    .sentence = rp_strdup(sentence)});
    return result->gates.count - 1;
}

struct rp_ci_gate *rp_ci_gate_find(struct rp_ci_result *result, const char *program,
                                   const char *name)
{
    for (size_t i = 0; i < result->gates.count; i++) {
        struct rp_ci_gate *gate = &result->gates.items[i];

        if ((program ? gate->program && strcmp(gate->program, program) == 0 : !gate->program) &&
            strcmp(gate->name, name) == 0)
            return gate;
    }
    return NULL;
}

void rp_ci_gate_decide(struct rp_ci_gate *gate, enum rp_ci_outcome outcome, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    gate->outcome = outcome;
    free(gate->sentence);
    gate->sentence = rp_strdup(rp_buf_text(&text));
}

void rp_ci_gate_note(struct rp_ci_gate *gate, const char *text, const char *file, unsigned line)
{
    const struct rp_ci_note note = {.text = rp_strndup(text, strcspn(text, "\n")),
                                    .file = file ? rp_strdup(file) : NULL,
                                    .line = line};

    rp_vec_push(&gate->notes, note);
}

static size_t count_of(const struct rp_ci_result *r, enum rp_ci_outcome outcome)
{
    size_t count = 0;

    for (size_t i = 0; i < r->gates.count; i++)
        count += r->gates.items[i].outcome == outcome;
    return count;
}

enum rp_ci_outcome rp_ci_verdict(const struct rp_ci_result *r)
{
    if (count_of(r, RP_CI_FAILS))
        return RP_CI_FAILS;
    return count_of(r, RP_CI_UNDECIDED) ? RP_CI_UNDECIDED : RP_CI_HOLDS;
}

void rp_ci_verdict_text(struct rp_buf *to, const struct rp_ci_result *r)
{
    const size_t fails = count_of(r, RP_CI_FAILS), open = count_of(r, RP_CI_UNDECIDED),
                 skipped = count_of(r, RP_CI_SKIPPED), all = r->gates.count - skipped;

    if (all == 1)
        rp_buf_printf(to, "the one gate %s", fails ? "fails" : open ? "is undecided" : "holds");
    else if (fails)
        rp_buf_printf(to, "%zu of %zu gates fail%s", fails, all, fails == 1 ? "s" : "");
    if (open && all > 1) {
        if (fails)
            rp_buf_printf(to, ", %zu", open);
        else
            rp_buf_printf(to, "%zu of %zu gates", open, all);
        rp_buf_printf(to, " %s undecided", open == 1 ? "is" : "are");
    }
    if (!fails && !open && all > 1)
        rp_buf_printf(to, "all %zu gates hold", all);
    if (skipped)
        rp_buf_printf(to, " (%zu skipped)", skipped);
}

void rp_ci_device_text(struct rp_buf *to, const struct rp_ci_result *r)
{
    if (r->device && strcmp(r->device, "software") == 0)
        rp_buf_printf(to, "Software device: times are modelled (%s), not measured on hardware.",
                      r->timing ? r->timing : "model not known");
}

static bool says_the_same(const struct rp_ci_gate *a, const struct rp_ci_gate *b)
{
    return a->outcome == b->outcome && a->program && b->program &&
           strcmp(a->program, b->program) == 0 && strcmp(a->sentence, b->sentence) == 0 &&
           !a->notes.count && !b->notes.count;
}

size_t rp_ci_gate_repeats(const struct rp_ci_result *r, size_t gate)
{
    size_t count = 0;

    for (size_t i = 0; i < r->gates.count; i++) {
        if (i != gate && !says_the_same(&r->gates.items[i], &r->gates.items[gate]))
            continue;
        if (i < gate)
            return 0;
        count++;
    }
    return count;
}

void rp_ci_gate_text(struct rp_buf *to, const struct rp_ci_gate *gate, size_t repeats)
{
    rp_buf_printf(to, "%s: %s", gate->program ? gate->program : "build", gate->sentence);
    if (gate->notes.count)
        rp_buf_printf(to, ": %s", gate->notes.items[0].text);
    if (repeats > 1)
        rp_buf_printf(to, " (%zu gates)", repeats);
}

/* --- the comment ------------------------------------------------------------------------------ */

/* Evidence of one gate is cut before it takes the room of others. */
enum { MOST_EVIDENCE = 6000, ROOM_FOR_END = 400, MOST_REMARK = 250 };

/* Appends the piece if the comment has room for it.
 * @return whether it had */
static bool add_piece(struct rp_buf *to, struct rp_buf *piece)
{
    const bool fits = to->len + piece->len + ROOM_FOR_END <= RP_MARKDOWN_MOST_BYTES;

    if (fits)
        rp_buf_add(to, rp_buf_text(piece), piece->len);
    to->failed |= piece->failed;
    rp_buf_free(piece);
    return fits;
}

static void put_place(struct rp_buf *to, const struct rp_ci_note *note)
{
    rp_autobuf place = {0};

    if (!note->file)
        return;
    rp_buf_printf(&place, note->line ? "%s:%u" : "%s", note->file, note->line);
    rp_buf_puts(to, " at ");
    rp_markdown_code(to, rp_buf_text(&place));
    to->failed |= place.failed;
}

static void put_item(struct rp_buf *to, const struct rp_ci_gate *gate, size_t repeats)
{
    rp_buf_printf(to, "* %s", gate->outcome == RP_CI_UNDECIDED ? "undecided: " : "");
    if (gate->program)
        rp_markdown_code(to, gate->program);
    else
        rp_buf_puts(to, "build");
    rp_buf_printf(to, ": %s", gate->sentence);
    if (gate->notes.count) {
        rp_buf_puts(to, ": ");
        rp_markdown_code(to, gate->notes.items[0].text);
        put_place(to, &gate->notes.items[0]);
    }
    if (repeats > 1)
        rp_buf_printf(to, " (%zu gates)", repeats);
    rp_buf_puts(to, "\n");
}

static void put_left_out(struct rp_buf *to, size_t left_out, const char *what)
{
    if (left_out)
        rp_buf_printf(
            to,
            "\n%zu more %s left out, because a comment may have 65,535 bytes: ci.json has "
            "all of them.\n",
            left_out, what);
}

static void put_items(struct rp_buf *to, const struct rp_ci_result *r)
{
    size_t left_out = 0;

    for (int outcome = RP_CI_FAILS; outcome >= RP_CI_UNDECIDED; outcome--)
        for (size_t i = 0; i < r->gates.count; i++) {
            const size_t repeats = rp_ci_gate_repeats(r, i);
            rp_autobuf piece = {0};

            if (r->gates.items[i].outcome != (enum rp_ci_outcome)outcome || !repeats)
                continue;
            put_item(&piece, &r->gates.items[i], repeats);
            left_out += left_out || !add_piece(to, &piece);
        }
    put_left_out(to, left_out, "gates that do not hold are");
}

/* They have names of files and programs, which are of unknown origin. There are a few, for which
 * there is room behind whatever the comment has. */
static void put_remarks(struct rp_buf *to, const struct rp_ci_result *r)
{
    for (size_t i = 0; i < r->remarks.count; i++) {
        rp_buf_puts(to, "* note: ");
        rp_markdown_plain(to, r->remarks.items[i], MOST_REMARK);
        rp_buf_puts(to, "\n");
    }
}

static void put_origin(struct rp_buf *to, const struct rp_ci_result *r)
{
    rp_autobuf device = {0};

    rp_ci_device_text(&device, r);
    if (device.len)
        rp_buf_printf(to, "\n**%s**\n", rp_buf_text(&device));
    rp_buf_puts(to, "\nCompared: base ");
    rp_markdown_code(to, r->base_name);
    rp_buf_printf(to, " (%.12s) -> head %.12s%s\n", r->base_commit, r->head_commit,
                  r->head_changed ? " with changes that are not committed" : "");
    to->failed |= device.failed;
}

static void put_row(struct rp_buf *to, const struct rp_ci_gate *gate)
{
    rp_buf_puts(to, "| ");
    if (gate->program)
        rp_markdown_cell(to, gate->program);
    else
        rp_buf_puts(to, "build");
    rp_buf_puts(to, " | ");
    rp_markdown_cell(to, gate->name);
    rp_buf_printf(to, " | %s | %s", rp_ci_outcome_names[gate->outcome], gate->sentence);
    if (gate->notes.count) {
        rp_buf_puts(to, ": ");
        rp_markdown_cell(to, gate->notes.items[0].text);
    }
    rp_buf_puts(to, " |\n");
}

static void put_table(struct rp_buf *to, const struct rp_ci_result *r)
{
    rp_autobuf head = {0};
    size_t left_out = 0;

    rp_buf_puts(&head,
                "\n<details><summary>All gates</summary>\n\n| program | gate | result | what "
                "was found |\n|---|---|---|---|\n");
    if (!add_piece(to, &head))
        return;
    for (size_t i = 0; i < r->gates.count; i++) {
        rp_autobuf row = {0};

        put_row(&row, &r->gates.items[i]);
        left_out += left_out || !add_piece(to, &row);
    }
    put_left_out(to, left_out, "rows are");
    rp_buf_puts(to, "\n</details>\n");
}

static void put_evidence(struct rp_buf *to, const struct rp_ci_result *r)
{
    size_t left_out = 0;

    for (size_t i = 0; i < r->gates.count; i++) {
        const struct rp_ci_gate *gate = &r->gates.items[i];
        rp_autobuf piece = {0}, cut = {0};

        if (!gate->evidence || !*gate->evidence || gate->outcome == RP_CI_HOLDS ||
            gate->outcome == RP_CI_SKIPPED)
            continue;
        rp_buf_add(&cut, gate->evidence, strnlen(gate->evidence, MOST_EVIDENCE));
        if (strlen(gate->evidence) > MOST_EVIDENCE)
            rp_buf_puts(&cut, "\n... the rest is in ci.json\n");
        rp_buf_puts(&piece, "\n");
        if (gate->program)
            rp_markdown_code(&piece, gate->program);
        else
            rp_buf_puts(&piece, "build");
        rp_buf_puts(&piece, ", ");
        rp_markdown_code(&piece, gate->name);
        rp_buf_puts(&piece, ":\n\n");
        rp_markdown_block(&piece, rp_buf_text(&cut));
        left_out += left_out || !add_piece(to, &piece);
    }
    put_left_out(to, left_out, "pieces of evidence are");
}

void rp_ci_comment(const struct rp_ci_result *r, struct rp_buf *to)
{
    rp_buf_puts(to, "### rocm-perf: ");
    rp_ci_verdict_text(to, r);
    rp_buf_puts(to, "\n\n");
    put_items(to, r);
    put_remarks(to, r);
    put_origin(to, r);
    put_evidence(to, r);
    put_table(to, r);
}

/* --- beside the lines of the sources --------------------------------------------------------- */

/* Calls it for each note of each gate that does not hold; for the gate itself, with a note without
 * a text, where it has none. */
static void each_note(const struct rp_ci_result *r, struct rp_buf *to,
                      void (*put)(struct rp_buf *to, const struct rp_ci_result *r,
                                  const struct rp_ci_gate *gate, const struct rp_ci_note *note,
                                  size_t number))
{
    static const struct rp_ci_note none;

    for (size_t i = 0; i < r->gates.count; i++) {
        const struct rp_ci_gate *gate = &r->gates.items[i];

        if (gate->outcome != RP_CI_FAILS && gate->outcome != RP_CI_UNDECIDED)
            continue;
        if (!gate->notes.count)
            put(to, r, gate, &none, 0);
        for (size_t n = 0; n < gate->notes.count; n++)
            put(to, r, gate, &gate->notes.items[n], n);
    }
}

static void put_note_text(struct rp_buf *to, const struct rp_ci_gate *gate,
                          const struct rp_ci_note *note)
{
    rp_buf_printf(to, "%s: %s%s%s", gate->program ? gate->program : "build", gate->sentence,
                  note->text ? ": " : "", note->text ? note->text : "");
}

static void annotate(struct rp_buf *to, const struct rp_ci_result *r, const struct rp_ci_gate *gate,
                     const struct rp_ci_note *note, size_t number)
{
    rp_autobuf title = {0}, text = {0};

    (void)r;
    (void)number;
    rp_buf_printf(&title, "rocm-perf: %s %s", gate->program ? gate->program : "build", gate->name);
    put_note_text(&text, gate, note);
    rp_workflow_annotate(to, gate->outcome == RP_CI_FAILS ? "error" : "warning",
                         rp_buf_text(&title), note->file, note->line, rp_buf_text(&text));
    to->failed |= title.failed || text.failed;
}

void rp_ci_annotations(const struct rp_ci_result *r, struct rp_buf *to)
{
    each_note(r, to, annotate);
}

/* The fingerprint is that of the gate, so that the service knows it again when numbers change. */
static void put_fingerprint(struct rp_buf *to, const struct rp_ci_gate *gate, size_t number)
{
    rp_autobuf text = {0};
    char hash[RP_SHA256_TEXT];

    rp_buf_printf(&text, "%s\n%s\n%zu", gate->program ? gate->program : "", gate->name, number);
    rp_sha256(rp_buf_text(&text), text.len, hash);
    rp_buf_puts(to, hash);
    to->failed |= text.failed;
}

static void put_quality(struct rp_buf *to, const struct rp_ci_result *r,
                        const struct rp_ci_gate *gate, const struct rp_ci_note *note, size_t number)
{
    struct rp_json_writer json = {.out = to, .compact = true};
    rp_autobuf text = {0}, check = {0}, hash = {0};

    put_note_text(&text, gate, note);
    rp_buf_printf(&check, "rocm-perf %s", gate->name);
    put_fingerprint(&hash, gate, number);
    rp_buf_puts(to, to->len > 1 ? ",\n" : "\n");
    rp_json_add_object(&json, NULL);
    rp_json_add_text(&json, "description", rp_buf_text(&text));
    rp_json_add_text(&json, "check_name", rp_buf_text(&check));
    rp_json_add_text(&json, "fingerprint", rp_buf_text(&hash));
    rp_json_add_text(&json, "severity", gate->outcome == RP_CI_FAILS ? "major" : "minor");
    rp_json_add_object(&json, "location");
    rp_json_add_text(&json, "path", note->file ? note->file : r->config);
    rp_json_add_object(&json, "lines");
    rp_json_add_count(&json, "begin", note->file && note->line ? note->line : 1);
    rp_json_end(&json);
    rp_json_end(&json);
    rp_json_end(&json);
    to->failed |= text.failed || check.failed || hash.failed;
}

void rp_ci_code_quality(const struct rp_ci_result *r, struct rp_buf *to)
{
    rp_buf_puts(to, "[");
    each_note(r, to, put_quality);
    rp_buf_puts(to, "\n]\n");
}
