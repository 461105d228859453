/* Writes a trace for ui.perfetto.dev: a track for each stream, arrows from the operations that one
 * waited for, and the critical path on a track of its own. Numbers of fields are those of
 * Perfetto's trace_packet.proto, track_descriptor.proto and track_event.proto; nothing is interned.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "report/report.h"

/* Protocol buffers are fields of a message, written one after the other. */

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_number(struct rp_buf *buf, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;

    do {
        bytes[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    rp_buf_add(buf, bytes, count);
}

static void put_tag(struct rp_buf *buf, unsigned field, enum wire wire)
{
    put_number(buf, (uint64_t)field << 3 | wire);
}

static void protobuf_varint(struct rp_buf *buf, unsigned field, uint64_t value)
{
    put_tag(buf, field, WIRE_VARINT);
    put_number(buf, value);
}

static void protobuf_fixed64(struct rp_buf *buf, unsigned field, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_tag(buf, field, WIRE_FIXED64);
    rp_buf_add(buf, bytes, sizeof bytes);
}

/** Writes a message within another. */
static void protobuf_message(struct rp_buf *buf, unsigned field, const struct rp_buf *message)
{
    put_tag(buf, field, WIRE_BYTES);
    put_number(buf, message->len);
    rp_buf_add(buf, rp_buf_text(message), message->len);
    buf->failed |= message->failed;
}

/** Makes the text valid UTF-8, because the format demands it. */
static void protobuf_text(struct rp_buf *buf, unsigned field, const char *text)
{
    rp_autobuf clean = {0};

    rp_utf8_fix(&clean, text, strlen(text));
    protobuf_message(buf, field, &clean);
}

enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60
};
enum { STATE_CLEARED = 1 };
enum { DESCRIPTOR_UUID = 1, DESCRIPTOR_NAME = 2, DESCRIPTOR_PROCESS = 3, DESCRIPTOR_PARENT = 5 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_FLOW = 47
};
enum { TYPE_BEGIN = 1, TYPE_END = 2 };
enum { ANNOTATION_BOOL = 2, ANNOTATION_INT = 4, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };

enum { SEQUENCE = 1 };

/* Tracks are the path, then processes, then streams. Further tracks of a stream have numbers after
 * all of these. */
enum { PATH_TRACK = 1, FIRST_PROCESS = 2 };

struct writer {
    struct rp_buf *out;
    const struct rp_report_parts *parts;
    const struct rp_dag_result *dag;
    const struct rp_timeline *timeline;
    bool begun;
    /**< per step: the first that waited for it, and the next that waited for the same; else
     * RP_DAG_NO_STEP */
    uint32_t *first, *next;
    uint64_t *track; /**< per step */
    uint64_t next_track;
};

static void put_packet(struct writer *w, struct rp_buf *packet)
{
    protobuf_varint(packet, PACKET_SEQUENCE, SEQUENCE);
    if (!w->begun)
        protobuf_varint(packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    w->begun = true;
    protobuf_message(w->out, TRACE_PACKET, packet);
}

/* --- tracks --------------------------------------------------------------------------------- */

static void put_track(struct writer *w, uint64_t uuid, uint64_t parent, const char *name,
                      const struct rp_buf *process)
{
    rp_autobuf descriptor = {0}, packet = {0};

    protobuf_varint(&descriptor, DESCRIPTOR_UUID, uuid);
    if (name)
        protobuf_text(&descriptor, DESCRIPTOR_NAME, name);
    if (process)
        protobuf_message(&descriptor, DESCRIPTOR_PROCESS, process);
    if (parent)
        protobuf_varint(&descriptor, DESCRIPTOR_PARENT, parent);
    protobuf_message(&packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
    put_packet(w, &packet);
}

/* Perfetto takes processes of one number for one, although processes of several machines may have
 * the same, and it needs a number for each. */
static bool has_own_pid(const struct rp_dag_result *dag, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (dag->processes[i].pid == dag->processes[index].pid)
            return false;
    return dag->processes[index].pid > 0;
}

/* Its name says what the times are, because it stands above everything that is drawn. */
static void put_process(struct writer *w, uint32_t index)
{
    rp_autobuf process = {0}, name = {0};

    rp_form_put_mark(&name, w->parts);
    rp_buf_puts(&name, name.len ? ": " : "");
    rp_buf_puts(&name, w->parts->title);
    if (has_own_pid(w->dag, index)) {
        protobuf_varint(&process, PROCESS_PID, (uint64_t)w->dag->processes[index].pid);
        protobuf_text(&process, PROCESS_NAME, rp_buf_text(&name));
        put_track(w, FIRST_PROCESS + index, 0, NULL, &process);
    } else {
        put_track(w, FIRST_PROCESS + index, 0, rp_buf_text(&name), NULL);
    }
    w->out->failed |= name.failed;
}

static void put_id(struct rp_buf *buf, const char *name, int64_t id)
{
    if (id >= 0)
        rp_buf_printf(buf, "%s%s %" PRId64, buf->len ? ", " : "", name, id);
}

static void put_stream(struct writer *w, uint64_t track, uint32_t lane, size_t nth)
{
    const struct rp_timeline_track *l = &w->timeline->lanes[lane];
    rp_autobuf name = {0};

    put_id(&name, "agent", l->agent);
    put_id(&name, "queue", l->queue);
    put_id(&name, "stream", l->stream);
    if (nth)
        rp_buf_printf(&name, " (%zu)", nth + 1);
    put_track(w, track, FIRST_PROCESS + l->process, rp_buf_text(&name), NULL);
    w->out->failed |= name.failed;
}

/* Operations that overlap in one stream get tracks of their own, because slices of one track may
 * only be within each other. */
struct busy {
    int64_t *until_ns; /**< per track of the stream */
    uint64_t *track;
    size_t count;
};

static void free_busy(struct busy *b)
{
    free(b->until_ns);
    free(b->track);
}

static int new_track(struct writer *w, struct busy *b, uint32_t lane, struct rp_err *err)
{
    int64_t *until = realloc(b->until_ns, (b->count + 1) * sizeof *until);
    uint64_t *track = until ? realloc(b->track, (b->count + 1) * sizeof *track) : NULL;

    if (until)
        b->until_ns = until;
    if (!track)
        return rp_out_of_memory(err);
    b->track = track;
    b->until_ns[b->count] = INT64_MIN;
    b->track[b->count] = w->next_track++;
    put_stream(w, b->track[b->count], lane, b->count);
    b->count++;
    return 0;
}

static int place(struct writer *w, struct busy *b, uint32_t step, struct rp_err *err)
{
    const struct rp_dag_step *s = &w->dag->steps[step];
    size_t i = 0;

    while (i < b->count && b->until_ns[i] > s->start_ns)
        i++;
    if (i == b->count && new_track(w, b, w->timeline->track_of_step[step], err) < 0)
        return -RP_ENVIRONMENT;
    b->until_ns[i] = s->start_ns + s->duration_ns;
    w->track[step] = b->track[i];
    return 0;
}

struct sorted {
    uint32_t lane, step;
    int64_t start_ns, duration_ns;
};

/* An operation that takes no time comes before others that start with it, because they may have
 * waited for it. */
static int by_start(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns < y->duration_ns ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static int by_lane(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    return x->lane != y->lane ? (x->lane > y->lane) - (x->lane < y->lane) : by_start(a, b);
}

static int place_all(struct writer *w, const struct sorted *steps, struct rp_err *err)
{
    for (size_t i = 0, end; i < w->dag->step_count; i = end) {
        rp_cleanup(free_busy) struct busy b = {0};

        for (end = i; end < w->dag->step_count && steps[end].lane == steps[i].lane; end++)
            if (place(w, &b, steps[end].step, err) < 0)
                return -RP_ENVIRONMENT;
    }
    return 0;
}

/* --- events --------------------------------------------------------------------------------- */

static void put_annotation(struct rp_buf *event, const char *name, unsigned field, int64_t value)
{
    rp_autobuf annotation = {0};

    protobuf_text(&annotation, ANNOTATION_NAME, name);
    protobuf_varint(&annotation, field, (uint64_t)value);
    protobuf_message(event, EVENT_ANNOTATION, &annotation);
}

static void put_text_annotation(struct rp_buf *event, const char *name, const char *text)
{
    rp_autobuf annotation = {0};

    protobuf_text(&annotation, ANNOTATION_NAME, name);
    protobuf_text(&annotation, ANNOTATION_TEXT, text);
    protobuf_message(event, EVENT_ANNOTATION, &annotation);
}

static void put_event(struct writer *w, int64_t at_ns, struct rp_buf *event)
{
    rp_autobuf packet = {0};

    protobuf_varint(&packet, PACKET_TIMESTAMP,
                    (uint64_t)(at_ns > w->dag->start_ns ? at_ns - w->dag->start_ns : 0));
    protobuf_message(&packet, PACKET_TRACK_EVENT, event);
    put_packet(w, &packet);
}

static void put_end(struct writer *w, int64_t at_ns, uint64_t track)
{
    rp_autobuf event = {0};

    protobuf_varint(&event, EVENT_TYPE, TYPE_END);
    protobuf_varint(&event, EVENT_TRACK, track);
    put_event(w, at_ns, &event);
}

/* Perfetto joins events with the same number one after the other, so each arrow has its own: that
 * of the step where it ends. */
static void put_arrows(struct writer *w, uint32_t step, struct rp_buf *event)
{
    for (uint32_t to = w->first[step]; to != RP_DAG_NO_STEP; to = w->next[to])
        protobuf_fixed64(event, EVENT_FLOW, (uint64_t)to + 1);
    if (w->dag->steps[step].waited_for != RP_DAG_NO_STEP)
        protobuf_fixed64(event, EVENT_FLOW, (uint64_t)step + 1);
}

static void put_slice(struct writer *w, uint32_t step)
{
    const struct rp_dag_step *s = &w->dag->steps[step];
    rp_autobuf event = {0};

    protobuf_varint(&event, EVENT_TYPE, TYPE_BEGIN);
    protobuf_varint(&event, EVENT_TRACK, w->track[step]);
    protobuf_text(&event, EVENT_CATEGORY, s->is_copy ? "copy" : "kernel");
    if (s->on_path)
        protobuf_text(&event, EVENT_CATEGORY, "critical_path");
    protobuf_text(&event, EVENT_NAME, s->name);
    put_arrows(w, step, &event);
    put_annotation(&event, s->is_copy ? "copy_id" : "dispatch_id", ANNOTATION_INT, s->id);
    put_annotation(&event, "slack_ns", ANNOTATION_INT, s->slack_ns);
    put_annotation(&event, "on_critical_path", ANNOTATION_BOOL, s->on_path);
    put_text_annotation(&event, "waited_by", rp_dag_class_names[s->via]);
    put_event(w, s->start_ns, &event);
    put_end(w, s->start_ns + s->duration_ns, w->track[step]);
}

/* Where the path leaves an operation before its end, because the recorded times overlap, the slice
 * ends, too. */
static int64_t end_on_path(const struct rp_dag_result *dag, size_t i)
{
    int64_t end_ns = dag->chain[i].start_ns + dag->chain[i].duration_ns;

    if (i + 1 < dag->chain_count && dag->chain[i + 1].start_ns < end_ns)
        end_ns = dag->chain[i + 1].start_ns;
    return end_ns < dag->chain[i].start_ns ? dag->chain[i].start_ns : end_ns;
}

/* Writes each operation on the path once more, one after the other. */
static void put_path(struct writer *w)
{
    put_track(w, PATH_TRACK, w->dag->process_count ? FIRST_PROCESS : 0, "critical path", NULL);
    for (size_t i = 0; i < w->dag->chain_count; i++) {
        const struct rp_dag_step *s = &w->dag->chain[i];
        rp_autobuf event = {0};

        protobuf_varint(&event, EVENT_TYPE, TYPE_BEGIN);
        protobuf_varint(&event, EVENT_TRACK, PATH_TRACK);
        protobuf_text(&event, EVENT_CATEGORY, "critical_path");
        protobuf_text(&event, EVENT_NAME, s->name);
        put_event(w, s->start_ns, &event);
        put_end(w, end_on_path(w->dag, i), PATH_TRACK);
    }
}

/* -------------------------------------------------------------------------------------------- */

static void list_followers(struct writer *w)
{
    uint32_t count = (uint32_t)w->dag->step_count;

    for (uint32_t i = 0; i < count; i++)
        w->first[i] = w->next[i] = RP_DAG_NO_STEP;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t from = w->dag->steps[i].waited_for;

        if (from == RP_DAG_NO_STEP)
            continue;
        w->next[i] = w->first[from];
        w->first[from] = i;
    }
}

static int write_all(struct writer *w, struct sorted *steps, struct rp_err *err)
{
    const struct rp_dag_result *dag = w->dag;

    list_followers(w);
    w->next_track = FIRST_PROCESS + dag->process_count;
    for (uint32_t i = 0; i < dag->process_count; i++)
        put_process(w, i);
    for (uint32_t i = 0; i < dag->step_count; i++)
        steps[i] = (struct sorted){w->timeline->track_of_step[i], i, dag->steps[i].start_ns,
                                   dag->steps[i].duration_ns};
    put_path(w);
    qsort(steps, dag->step_count, sizeof *steps, by_lane);
    if (place_all(w, steps, err) < 0)
        return -RP_ENVIRONMENT;
    qsort(steps, dag->step_count, sizeof *steps, by_start);
    for (size_t i = 0; i < dag->step_count; i++)
        put_slice(w, steps[i].step);
    return w->out->failed ? rp_out_of_memory(err) : 0;
}

int rp_form_perfetto(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    size_t count = parts->dag ? parts->dag->step_count : 0;
    rp_autofree uint32_t *first = calloc(count + 1, sizeof *first);
    rp_autofree uint32_t *next = calloc(count + 1, sizeof *next);
    rp_autofree uint64_t *track = calloc(count + 1, sizeof *track);
    rp_autofree struct sorted *steps = calloc(count + 1, sizeof *steps);
    struct writer w = {.out = buf,
                       .parts = parts,
                       .dag = parts->dag,
                       .timeline = parts->timeline,
                       .first = first,
                       .next = next,
                       .track = track};

    if (!parts->dag || !parts->timeline)
        return rp_form_no_graph(parts, "perfetto", err);
    if (!first || !next || !track || !steps)
        return rp_out_of_memory(err);
    return write_all(&w, steps, err);
}
