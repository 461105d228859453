/* Finds from the recorded packets which kernels and copies each kernel and copy waits for. */
/*
 * A packet with the barrier bit waits for all packets before it in its queue; a barrier packet lets
 * nothing behind it be launched before it is complete, and waits for its signals besides. So there
 * is, per queue, a gate: what all later packets wait for; and what has been launched since the last
 * packet with a barrier bit. All packets are taken in the order of submission, so every producer
 * comes before what waits for it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "run/record_to_db.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* Larger sets keep what is implied, which is still true. */
enum { LARGEST_REDUCED = 64 };

/** Holds numbers of nodes, ascending. */
struct set {
    uint32_t *list;
    uint32_t count, room;
};

struct node {
    uint64_t order;
    const struct rp_record *record;
    /* Holds the kernels and copies that it waits for. A barrier packet holds those that a waiter
     * for its signal waits for. */
    struct set before;
    int64_t row_id;
};

struct queue {
    struct set gate, open;
};

struct work {
    struct node *nodes; /**< by order */
    size_t count;
    const struct rp_rec_wait **waits; /**< by order */
    size_t wait_count;
    struct queue *queues;
    size_t queue_count;
    uint64_t unknown; /**< signals waited for that nothing is known to complete */
};

static void free_work(struct work *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->nodes[i].before.list);
    for (size_t i = 0; i < w->queue_count; i++) {
        free(w->queues[i].gate.list);
        free(w->queues[i].open.list);
    }
    free(w->nodes);
    free(w->waits);
    free(w->queues);
}

/* --- sets ---------------------------------------------------------------------------------- */

static void add(struct set *set, uint32_t node)
{
    uint32_t at = set->count;

    while (at > 0 && set->list[at - 1] > node)
        at--;
    if (at > 0 && set->list[at - 1] == node)
        return;
    if (set->count == set->room) {
        uint32_t room = set->room ? 2 * set->room : 4;

        set->list = rp_realloc_array(set->list, room, sizeof *set->list);
        set->room = room;
    }
    memmove(&set->list[at + 1], &set->list[at], (set->count - at) * sizeof(*set->list));
    set->list[at] = node;
    set->count++;
}

static void add_all(struct set *set, const struct set *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        add(set, other->list[i]);
}

static const struct rp_rec_dispatch *dispatch_of(const struct node *node)
{
    return node->record->kind == RP_REC_DISPATCH ? &node->record->u.dispatch : NULL;
}

/* Says whether it is before a kernel of the set that waits for everything before it in the same
 * queue. */
static bool is_implied(const struct work *w, const struct set *set, uint32_t at)
{
    const struct rp_rec_dispatch *one = dispatch_of(&w->nodes[set->list[at]]);

    for (uint32_t i = at + 1; one && i < set->count; i++) {
        const struct rp_rec_dispatch *other = dispatch_of(&w->nodes[set->list[i]]);

        if (other && other->queue_index == one->queue_index && other->barrier_bit)
            return true;
    }
    return false;
}

static void reduce(const struct work *w, struct set *set)
{
    uint32_t kept = 0;

    if (set->count > LARGEST_REDUCED)
        return;
    for (uint32_t i = 0; i < set->count; i++)
        if (!is_implied(w, set, i))
            set->list[kept++] = set->list[i];
    set->count = kept;
}

/* --- reading ------------------------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
    uint64_t x = ((const struct node *)a)->order, y = ((const struct node *)b)->order;

    return (x > y) - (x < y);
}

static int waits_by_order(const void *a, const void *b)
{
    const struct rp_rec_wait *x = *(const struct rp_rec_wait *const *)a;
    const struct rp_rec_wait *y = *(const struct rp_rec_wait *const *)b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x > y) - (x < y);
}

static uint64_t order_of(const struct rp_record *record)
{
    switch (record->kind) {
    case RP_REC_DISPATCH:
        return record->u.dispatch.order;
    case RP_REC_COPY:
        return record->u.copy.order;
    case RP_REC_BARRIER:
        return record->u.barrier.order;
    default:
        return 0;
    }
}

static void note_queue(struct work *w, const struct rp_record *record)
{
    uint32_t index = 0;

    if (record->kind == RP_REC_DISPATCH)
        index = record->u.dispatch.queue_index;
    else if (record->kind == RP_REC_BARRIER)
        index = record->u.barrier.queue_index;
    if (index >= w->queue_count)
        w->queue_count = (size_t)index + 1;
}

static int read_records(struct work *w, const struct rp_record_file *file, struct rp_err *err)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);
    size_t node_count = 0, queue_room;

    for (size_t i = 0; i < count; i++) {
        node_count += order_of(&records[i]) != 0;
        w->wait_count += records[i].kind == RP_REC_WAIT;
        note_queue(w, &records[i]);
    }
    queue_room = w->queue_count;
    w->queue_count = 0;
    w->nodes = rp_alloc_zero(node_count + 1, sizeof(*w->nodes));
    w->waits = rp_alloc((w->wait_count + 1) * sizeof(*w->waits));
    w->queues = rp_alloc_zero(queue_room + 1, sizeof(*w->queues));
    w->queue_count = queue_room;
    w->wait_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (order_of(&records[i]) != 0)
            w->nodes[w->count++] =
                (struct node){.order = order_of(&records[i]), .record = &records[i]};
        else if (records[i].kind == RP_REC_WAIT)
            w->waits[w->wait_count++] = &records[i].u.wait;
    }
    qsort(w->nodes, w->count, sizeof(*w->nodes), by_order);
    qsort(w->waits, w->wait_count, sizeof(*w->waits), waits_by_order);
    for (size_t i = 1; i < w->count; i++)
        if (w->nodes[i - 1].order == w->nodes[i].order)
            return rp_fail(err, RP_BAD_INPUT, "two packets have the number %" PRIu64,
                           w->nodes[i].order);
    return 0;
}

/* --- going through ------------------------------------------------------------------------- */

/* Adds the kernels and copies that complete a signal. One may be missing, because its times were
 * lost. */
static void wait_for(struct work *w, struct set *set, uint64_t order, uint32_t self)
{
    const struct node key = {.order = order};
    const struct node *found = bsearch(&key, w->nodes, w->count, sizeof(key), by_order);
    uint32_t number = found ? (uint32_t)(found - w->nodes) : self;

    if (number >= self) /* The file is damaged: a wait for something later would be no order. */
        w->unknown++;
    else if (found->record->kind == RP_REC_BARRIER)
        add_all(set, &found->before);
    else
        add(set, number);
}

/* Open work was launched behind the gate, so a wait for it is a wait for the gate. */
static const struct set *before_in_queue(const struct queue *queue, bool barrier_bit)
{
    return barrier_bit && queue->open.count > 0 ? &queue->open : &queue->gate;
}

static void take_barrier(struct work *w, uint32_t self)
{
    struct node *node = &w->nodes[self];
    const struct rp_rec_barrier *b = &node->record->u.barrier;
    struct queue *queue = &w->queues[b->queue_index];

    add_all(&node->before, before_in_queue(queue, b->barrier_bit));
    w->unknown += b->unknown_count;
    /* Nobody knows which of an OR's signals lets it go, so it is taken to wait for none. */
    for (uint32_t i = 0; i < b->wait_count && b->type != RP_BARRIER_OR; i++)
        wait_for(w, &node->before, b->waits[i], self);
    if (b->type == RP_BARRIER_OR)
        w->unknown += b->wait_count;
    reduce(w, &node->before);
    queue->gate.count = 0;
    add_all(&queue->gate, &node->before);
    if (b->barrier_bit)
        queue->open.count = 0;
}

static void take_dispatch(struct work *w, uint32_t self)
{
    struct node *node = &w->nodes[self];
    const struct rp_rec_dispatch *d = &node->record->u.dispatch;
    struct queue *queue = &w->queues[d->queue_index];

    node->row_id = (int64_t)d->dispatch_id;
    add_all(&node->before, before_in_queue(queue, d->barrier_bit));
    reduce(w, &node->before);
    if (d->barrier_bit)
        queue->open.count = 0;
    add(&queue->open, self);
}

static void take_copy(struct work *w, uint32_t self, size_t *next_wait)
{
    struct node *node = &w->nodes[self];

    while (*next_wait < w->wait_count && w->waits[*next_wait]->order < node->order)
        (*next_wait)++;
    for (; *next_wait < w->wait_count && w->waits[*next_wait]->order == node->order;
         (*next_wait)++) {
        const struct rp_rec_wait *wait = w->waits[*next_wait];

        w->unknown += wait->unknown_count;
        for (uint32_t i = 0; i < wait->wait_count; i++)
            wait_for(w, &node->before, wait->waits[i], self);
    }
    reduce(w, &node->before);
}

/* Copies of one process get their order and their copy_id under one lock, so both agree. */
static void number_copies(struct work *w)
{
    int64_t id = 0;

    for (size_t i = 0; i < w->count; i++)
        if (w->nodes[i].record->kind == RP_REC_COPY)
            w->nodes[i].row_id = ++id;
}

static void resolve(struct work *w)
{
    size_t next_wait = 0;

    number_copies(w);
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->nodes[i].record->kind == RP_REC_BARRIER)
            take_barrier(w, i);
        else if (w->nodes[i].record->kind == RP_REC_DISPATCH)
            take_dispatch(w, i);
        else
            take_copy(w, i, &next_wait);
    }
}

/* --- rows ---------------------------------------------------------------------------------- */

static int put_node(const struct work *w, const struct node *node, struct rp_store_writer *writer,
                    struct rp_err *err)
{
    int status = 0;

    if (node->record->kind == RP_REC_BARRIER)
        return 0;
    for (uint32_t i = 0; i < node->before.count && status == 0; i++) {
        const struct node *before = &w->nodes[node->before.list[i]];
        const struct rp_row_dependency row = {
            .is_copy = node->record->kind == RP_REC_COPY,
            .row_id = node->row_id,
            .waits_for_copy = before->record->kind == RP_REC_COPY,
            .waits_for_id = before->row_id,
        };

        status = rp_store_put_dependency(writer, &row, err);
    }
    return status;
}

int rp_dependencies_put(const struct rp_record_file *file, struct rp_store_writer *writer,
                        struct rp_err *err)
{
    struct work w = {0};
    char value[24];
    int status = read_records(&w, file, err);

    if (status == 0)
        resolve(&w);
    for (size_t i = 0; i < w.count && status == 0; i++)
        status = put_node(&w, &w.nodes[i], writer, err);
    if (status == 0 && w.unknown > 0) {
        snprintf(value, sizeof(value), "%" PRIu64, w.unknown);
        status = rp_store_put_metadata(writer, "rocm_perf_unknown_waits", value, err);
    }
    free_work(&w);
    return status;
}

/* All GPUs of a process have the same one. */
static int put_clock(const struct rp_record_file *file, struct rp_store_writer *writer,
                     struct rp_err *err)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);
    char text[24];

    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_agent_prop *prop = &records[i].u.agent_prop;

        if (records[i].kind != RP_REC_AGENT_PROP ||
            strcmp(rp_record_file_string(file, prop->key_id), RP_CLOCK_KEY) != 0)
            continue;
        snprintf(text, sizeof text, "%" PRIu64, prop->value);
        return rp_store_put_metadata(writer, RP_STORE_CLOCK_TAG, text, err);
    }
    return 0;
}

static int put_model_of_time(const struct rp_record_file *file, struct rp_store_writer *writer,
                             struct rp_err *err)
{
    static const char *const names[] = {
        [RP_TRACE_TIMING_COUNTS] = "counts",
        [RP_TRACE_TIMING_DETAILED] = "detailed",
        [RP_TRACE_TIMING_OFF] = "off",
        [RP_TRACE_TIMING_WARM] = "warm",
    };
    const struct rp_trace_header *header = rp_record_file_header(file);
    char version[12];
    int rc;

    if (header->timing == RP_TRACE_TIMING_NONE)
        return 0;
    if (header->timing >= sizeof names / sizeof *names)
        return rp_fail(err, RP_BAD_INPUT, "unknown timing model %" PRIu32, header->timing);
    snprintf(version, sizeof version, "%" PRIu32, header->timing_version);
    rc = rp_store_put_metadata(writer, RP_STORE_TIMING_TAG, names[header->timing], err);
    if (rc == 0)
        rc = rp_store_put_metadata(writer, RP_STORE_TIMING_VERSION_TAG, version, err);
    return rc < 0 ? rc : put_clock(file, writer, err);
}

/* This is a counter of an agent. It has a row, or a name among the kept ones. */
struct counter {
    int64_t agent_id, row_id;
    uint32_t name_id, kept;
};

enum { IN_DATABASE = UINT32_MAX };

struct rp_dispatch_rows {
    const struct rp_record_file *file;
    const struct rp_record_to_db_options *opt;
    struct rp_store_writer *writer;
    const struct rp_record **records; /**< of counters and simulations, by dispatch */
    size_t record_count;
    struct counter *counters;
    size_t counter_count;
    int64_t last_row_id;
};

static uint64_t dispatch_id_of(const struct rp_record *record)
{
    return record->kind == RP_REC_COUNTERS ? record->u.counters.dispatch_id
                                           : record->u.simulation.dispatch_id;
}

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_record *x = *(const struct rp_record *const *)a;
    const struct rp_record *y = *(const struct rp_record *const *)b;

    if (dispatch_id_of(x) != dispatch_id_of(y))
        return dispatch_id_of(x) < dispatch_id_of(y) ? -1 : 1;
    return (x > y) - (x < y);
}

int rp_dispatch_rows_open(const struct rp_record_file *file,
                          const struct rp_record_to_db_options *opt, struct rp_store_writer *writer,
                          struct rp_dispatch_rows **ret, struct rp_err *err)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);
    struct rp_dispatch_rows *rows = rp_new(struct rp_dispatch_rows);

    *rows = (struct rp_dispatch_rows){.file = file, .opt = opt, .writer = writer};
    for (size_t i = 0; i < count; i++)
        rows->record_count +=
            records[i].kind == RP_REC_COUNTERS || records[i].kind == RP_REC_SIMULATION;
    rows->records = rp_alloc_zero(rows->record_count, sizeof *rows->records);
    rows->record_count = 0;
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_COUNTERS || records[i].kind == RP_REC_SIMULATION)
            rows->records[rows->record_count++] = &records[i];
    qsort(rows->records, rows->record_count, sizeof *rows->records, by_dispatch);
    *ret = rows;
    return put_model_of_time(file, writer, err);
}

void rp_dispatch_rows_close(struct rp_dispatch_rows *rows)
{
    if (!rows)
        return;
    free(rows->records);
    free(rows->counters);
    free(rows);
}

void rp_kept_counters_free(struct rp_kept_counters *kept)
{
    for (size_t i = 0; i < kept->names.count; i++)
        free(kept->names.items[i]);
    rp_vec_free(&kept->names);
    rp_vec_free(&kept->values);
}

static bool is_written(const struct rp_kept_counters *kept, const char *name)
{
    for (size_t i = 0; kept && i < kept->written_count; i++)
        if (strcmp(kept->written[i], name) == 0)
            return true;
    return !kept;
}

/* Finds the number of a kept counter, which other agents and databases have, too. */
static int kept_name(struct rp_kept_counters *kept, const char *name, uint32_t *ret,
                     struct rp_err *err)
{
    size_t at = 0;
    char *copy;

    while (at < kept->names.count && strcmp(kept->names.items[at], name) != 0)
        at++;
    *ret = (uint32_t)at;
    if (at < kept->names.count)
        return 0;
    copy = strdup(name);
    if (!copy || rp_vec_push(&kept->names, copy) < 0) {
        free(copy);
        return rp_out_of_memory(err);
    }
    return 0;
}

static int new_counter(struct rp_dispatch_rows *rows, uint32_t name_id, int64_t agent_id,
                       struct rp_err *err)
{
    const char *name = rp_record_file_string(rows->file, name_id);
    const struct rp_device_counter_row *known = rp_device_counter_find(name);
    struct counter counter = {.agent_id = agent_id, .name_id = name_id, .kept = IN_DATABASE};
    const bool written = is_written(rows->opt->kept, name);
    struct rp_row_counter_info row = {
        .id = rows->last_row_id + 1,
        .agent_id = agent_id,
        .name = name,
        .block = known ? known->block : NULL,
        .description = known ? known->text : NULL,
    };

    rows->counters =
        rp_realloc_array(rows->counters, rows->counter_count + 1, sizeof *rows->counters);
    if (written)
        counter.row_id = ++rows->last_row_id;
    rows->counters[rows->counter_count++] = counter;
    return written ? rp_store_put_counter(rows->writer, &row, err)
                   : kept_name(rows->opt->kept, name, &rows->counters[rows->counter_count - 1].kept,
                               err);
}

static int keep(struct rp_dispatch_rows *rows, const struct rp_kept_value *value,
                struct rp_err *err)
{
    return rp_vec_push(&rows->opt->kept->values, *value) < 0 ? rp_out_of_memory(err) : 0;
}

/** @param row_id of the dispatch */
static int put_value(struct rp_dispatch_rows *rows, uint32_t name_id, int64_t agent_id,
                     int64_t row_id, double value, struct rp_err *err)
{
    const struct counter *c;
    size_t at = 0;
    int rc = 0;

    while (at < rows->counter_count &&
           (rows->counters[at].name_id != name_id || rows->counters[at].agent_id != agent_id))
        at++;
    if (at == rows->counter_count)
        rc = new_counter(rows, name_id, agent_id, err);
    c = &rows->counters[at];
    if (rc < 0 || c->kept == IN_DATABASE)
        return rc < 0 ? rc : rp_store_put_counter_value(rows->writer, c->row_id, value, err);
    return keep(
        rows,
        &(struct rp_kept_value){
            .database = rows->opt->database, .name = c->kept, .dispatch = row_id, .value = value},
        err);
}

static int64_t whole_ns(double ns)
{
    return ns < 0x1p62 ? (int64_t)ns : INT64_MAX / 2; /* more than a century */
}

static int put_simulation(const struct rp_dispatch_rows *rows,
                          const struct rp_rec_simulation *record, int64_t row_id,
                          struct rp_err *err)
{
    const bool replayed = record->replayed_waves > 0;
    const struct rp_row_simulation row = {
        .id = row_id,
        .waves = (int64_t)record->waves,
        .replayed_waves = (int64_t)record->replayed_waves,
        .error_share = record->error_share,
        .fast_clock_waves = (int64_t)record->fast_clock_waves,
        .shortest_ns = replayed ? -1 : whole_ns(record->between_ns[0]),
        .longest_ns = replayed ? -1 : whole_ns(record->between_ns[1]),
    };

    return rp_store_put_simulation(rows->writer, &row, err);
}

/* Finds the first record of the dispatch. */
static size_t first_of(const struct rp_dispatch_rows *rows, uint64_t dispatch_id)
{
    size_t low = 0, high = rows->record_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dispatch_id_of(rows->records[middle]) < dispatch_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int rp_dispatch_rows_put(struct rp_dispatch_rows *rows, uint64_t dispatch_id, int64_t agent_id,
                         int64_t row_id, struct rp_err *err)
{
    bool simulated = false;
    int rc = 0;

    for (size_t i = first_of(rows, dispatch_id);
         i < rows->record_count && dispatch_id_of(rows->records[i]) == dispatch_id; i++) {
        const struct rp_rec_counters *counted = &rows->records[i]->u.counters;

        if (rows->records[i]->kind == RP_REC_SIMULATION) {
            if (rc == 0 && !simulated)
                rc = put_simulation(rows, &rows->records[i]->u.simulation, row_id, err);
            simulated = true;
            continue;
        }
        for (uint32_t j = 0; j < counted->count && rc == 0; j++)
            rc = put_value(rows, counted->name_id[j], agent_id, row_id, counted->value[j], err);
    }
    return rc;
}
