/*
 * usage: trace-maker DISPATCHES SEED FILE
 * Writes a rocpd trace (schema 3.0.0) of a made-up program: one thread, six streams in four
 * hardware queues, copies, events, synchronisation. Every time is the earliest that the rules of
 * docs/format/dag.md allow, with the delays below, as in tests/dag/gen_trace.py, which also knows
 * the exact answers but takes hours and tens of gigabytes for ten million dispatches. Prints what
 * `rocm-perf analyze --json` must find.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAMS = 6,
    QUEUES = 4,
    EVENTS = 16,
    SYMBOLS = 12,
    LAUNCH_NS = 5000,
    DISPATCH_NS = 1000,
    EVENT_NS = 2000,
    WAKE_NS = 8000,
};

#define GUID   "01980000-0000-7000-8000-000000000001"
#define SUFFIX "01980000_0000_7000_8000_000000000001"

/* Names of calls and copies; the row's id in rocpd_string is one more. */
enum name {
    LAUNCH,
    COPY_ASYNC,
    COPY_SYNC,
    RECORD,
    WAIT,
    EVENT_SYNC,
    STREAM_SYNC,
    DEVICE_SYNC,
    CREATE,
    TO_DEVICE,
    TO_HOST,
    NAME_COUNT
};

static const char *const names[NAME_COUNT] = {
    [LAUNCH] = "hipLaunchKernel",
    [COPY_ASYNC] = "hipMemcpyAsync",
    [COPY_SYNC] = "hipMemcpyWithStream",
    [RECORD] = "hipEventRecord",
    [WAIT] = "hipStreamWaitEvent",
    [EVENT_SYNC] = "hipEventSynchronize",
    [STREAM_SYNC] = "hipStreamSynchronize",
    [DEVICE_SYNC] = "hipDeviceSynchronize",
    [CREATE] = "hipStreamCreateWithFlags",
    [TO_DEVICE] = "MEMORY_COPY_HOST_TO_DEVICE",
    [TO_HOST] = "MEMORY_COPY_DEVICE_TO_HOST",
};

/* The program runs once for every table: rows lie together, as rocprofv3 writes them. */
enum table { STRINGS, EVENT_ROWS, REGIONS, ARGS, DISPATCHES, COPIES, TABLES };

static const char *const inserts[TABLES] = {
    [EVENT_ROWS] = "INSERT INTO rocpd_event_" SUFFIX " (id, category_id, stack_id, parent_stack_id,"
                   " correlation_id) VALUES (?1, 1, ?2, ?3, 0)",
    [REGIONS] = "INSERT INTO rocpd_region_" SUFFIX " (id, nid, pid, tid, start, end, name_id,"
                " event_id) VALUES (?1, 1, 1, 10, ?2, ?3, ?4, ?5)",
    [ARGS] = "INSERT INTO rocpd_arg_" SUFFIX " (event_id, position, type, name, value)"
             " VALUES (?1, ?2, 'void*', ?3, ?4)",
    [DISPATCHES] =
        "INSERT INTO rocpd_kernel_dispatch_" SUFFIX " (id, nid, pid, tid, agent_id,"
        " kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
        " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z,"
        " grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id) VALUES"
        " (?1, 1, 1, 10, 1, ?2, ?1, ?3, ?4, ?5, ?6, 0, 0, 256, 1, 1, 65536, 1, 1, 1, ?7)",
    [COPIES] = "INSERT INTO rocpd_memory_copy_" SUFFIX " (id, nid, pid, tid, start, end, name_id,"
               " dst_agent_id, src_agent_id, size, stream_id, event_id) VALUES"
               " (?1, 1, 1, 10, ?2, ?3, ?4, ?5, ?6, 4096, ?7, ?8)",
};

#define COMMON "(id INTEGER PRIMARY KEY, guid TEXT NOT NULL DEFAULT '" GUID "'"

static const char schema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
    "CREATE TABLE rocpd_metadata_" SUFFIX " (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string_" SUFFIX " " COMMON ", string TEXT);"
    "CREATE TABLE rocpd_info_process_" SUFFIX " " COMMON ", nid, pid, command TEXT);"
    "CREATE TABLE rocpd_info_agent_" SUFFIX " " COMMON ", nid, pid, type TEXT, absolute_index,"
    " logical_index, type_index, name TEXT);"
    "CREATE TABLE rocpd_info_queue_" SUFFIX " " COMMON ", nid, pid, name TEXT);"
    "CREATE TABLE rocpd_info_kernel_symbol_" SUFFIX " " COMMON ", nid, pid, code_object_id,"
    " kernel_name TEXT, display_name TEXT, kernarg_segment_size, kernarg_segment_alignment,"
    " group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count, accum_vgpr_count);"
    "CREATE TABLE rocpd_event_" SUFFIX " " COMMON ", category_id INTEGER, stack_id INTEGER,"
    " parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB DEFAULT '{}' NOT NULL,"
    " line_info JSONB DEFAULT '{}' NOT NULL, extdata JSONB DEFAULT '{}' NOT NULL);"
    "CREATE TABLE rocpd_arg_" SUFFIX " " COMMON ", event_id INTEGER, position INTEGER, type TEXT,"
    " name TEXT, value TEXT, extdata JSONB DEFAULT '{}' NOT NULL);"
    "CREATE TABLE rocpd_region_" SUFFIX " " COMMON ", nid INTEGER, pid INTEGER, tid INTEGER,"
    " start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER,"
    " extdata JSONB DEFAULT '{}' NOT NULL);"
    "CREATE TABLE rocpd_kernel_dispatch_" SUFFIX " " COMMON ", nid INTEGER, pid INTEGER,"
    " tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER,"
    " stream_id INTEGER, start BIGINT, end BIGINT, private_segment_size INTEGER,"
    " group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,"
    " workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,"
    " region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);"
    "CREATE TABLE rocpd_memory_copy_" SUFFIX " " COMMON ", nid INTEGER, pid INTEGER, tid INTEGER,"
    " start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER,"
    " size INTEGER, stream_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT '{}' NOT NULL);"
    "INSERT INTO rocpd_metadata_" SUFFIX " (tag, value) VALUES ('schema_version', '3'),"
    " ('guid', '" GUID "');"
    "INSERT INTO rocpd_info_process_" SUFFIX " (id, nid, pid, command) VALUES (1, 1, 1, 'made');"
    "INSERT INTO rocpd_info_agent_" SUFFIX " (id, nid, pid, type, absolute_index, logical_index,"
    " type_index, name) VALUES (0, 1, 1, 'CPU', 0, 0, 0, 'cpu'), (1, 1, 1, 'GPU', 1, 1, 0, "
    "'gfx942');";

struct program {
    sqlite3 *db;
    sqlite3_stmt *insert;
    enum table table;
    uint64_t random;
    int64_t calls, events, dispatches, copies, left;
    int64_t host_ns, last_ns, kernel_ns;
    int64_t stream_tail[STREAMS + 1], queue_tail[QUEUES + 1], event_ns[EVENTS]; /* 0: none yet */
};

static void stop(sqlite3 *db, const char *what)
{
    fprintf(stderr, "trace-maker: %s: %s\n", what, db ? sqlite3_errmsg(db) : "out of memory");
    exit(1);
}

static void insert(struct program *p, enum table table, const int64_t *values, int count,
                   const char *name, const char *value)
{
    if (p->table != table)
        return;
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(p->insert, i + 1, values[i]);
    if (name)
        sqlite3_bind_text(p->insert, count + 1, name, -1, SQLITE_STATIC);
    if (value)
        sqlite3_bind_text(p->insert, count + 2, value, -1, SQLITE_STATIC);
    if (sqlite3_step(p->insert) != SQLITE_DONE)
        stop(p->db, "insert");
    sqlite3_reset(p->insert);
}

static uint64_t below(struct program *p, uint64_t limit)
{
    p->random ^= p->random >> 12; /* xorshift64* */
    p->random ^= p->random << 25;
    p->random ^= p->random >> 27;
    return (p->random * 0x2545f4914f6cdd1dull >> 33) % limit;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int queue_of(int stream)
{
    return 1 + stream % QUEUES;
}

static int64_t add_event(struct program *p, int64_t call, int64_t parent)
{
    const int64_t values[] = {++p->events, call, parent};

    insert(p, EVENT_ROWS, values, 3, NULL, NULL);
    return p->events;
}

/* --- calls --------------------------------------------------------------------------------- */

struct call {
    int64_t id, event, start_ns, args;
    enum name name;
};

static struct call begin_call(struct program *p, enum name name)
{
    int64_t gap_ns = 1 + (int64_t)below(p, 3000);
    struct call call = {.id = ++p->calls, .name = name};

    if (below(p, 500) == 0)
        gap_ns += 20000 + (int64_t)below(p, 180000);
    call.start_ns = p->calls == 1 ? p->host_ns : p->host_ns + gap_ns;
    call.event = add_event(p, call.id, call.id);
    return call;
}

static void add_arg(struct program *p, struct call *call, const char *name, uint64_t number)
{
    const int64_t values[] = {call->event, call->args++};
    char value[24];

    snprintf(value, sizeof value, "0x%" PRIx64, number);
    insert(p, ARGS, values, 2, name, value);
}

static void end_call(struct program *p, const struct call *call, int64_t cost_ns, int64_t waited_ns)
{
    int64_t end_ns = later(call->start_ns + cost_ns, waited_ns ? waited_ns + WAKE_NS : 0);
    const int64_t values[] = {call->id, call->start_ns, end_ns, call->name + 1, call->event};

    insert(p, REGIONS, values, 5, NULL, NULL);
    p->host_ns = end_ns;
    p->last_ns = later(p->last_ns, end_ns);
}

static uint64_t stream_handle(int stream)
{
    return 0x55d0c0000000 + (uint64_t)stream * 0x200;
}

/* --- packets -------------------------------------------------------------------------------- */

static int64_t packet_start(const struct program *p, const struct call *call, int stream, int queue,
                            int64_t gap_ns)
{
    int64_t start_ns = call->start_ns + LAUNCH_NS;

    if (p->stream_tail[stream])
        start_ns = later(start_ns, p->stream_tail[stream] + gap_ns);
    if (queue && p->queue_tail[queue])
        start_ns = later(start_ns, p->queue_tail[queue] + gap_ns);
    return start_ns;
}

static void packet_done(struct program *p, int stream, int queue, int64_t end_ns)
{
    p->stream_tail[stream] = end_ns;
    if (queue)
        p->queue_tail[queue] = end_ns;
    p->last_ns = later(p->last_ns, end_ns);
}

static void launch(struct program *p, int stream)
{
    struct call call = begin_call(p, LAUNCH);
    int queue = queue_of(stream), symbol = 0;
    int64_t start_ns = packet_start(p, &call, stream, queue, DISPATCH_NS), duration_ns;

    add_arg(p, &call, "stream", stream_handle(stream));
    while (symbol < SYMBOLS - 1 && below(p, 3))
        symbol++;
    duration_ns = (4000 + 5000 * (int64_t)symbol) * (90 + (int64_t)below(p, 21)) / 100;
    p->kernel_ns += duration_ns;
    p->dispatches++;
    {
        const int64_t values[] = {p->dispatches,
                                  symbol + 1,
                                  queue,
                                  stream,
                                  start_ns,
                                  start_ns + duration_ns,
                                  add_event(p, call.id, call.id)};
        insert(p, DISPATCHES, values, 7, NULL, NULL);
    }
    packet_done(p, stream, queue, start_ns + duration_ns);
    end_call(p, &call, 3000, 0);
    p->left--;
}

static void copy(struct program *p, int stream, bool wait)
{
    struct call call = begin_call(p, wait ? COPY_SYNC : COPY_ASYNC);
    bool to_device = !wait && below(p, 2);
    int64_t start_ns = packet_start(p, &call, stream, 0, DISPATCH_NS);
    int64_t end_ns = start_ns + 2000 + (int64_t)below(p, wait ? 10000 : 160000);

    add_arg(p, &call, "sizeBytes", 4096);
    add_arg(p, &call, "stream", stream_handle(stream));
    {
        const int64_t values[] = {
            ++p->copies, start_ns,   end_ns, (to_device ? TO_DEVICE : TO_HOST) + 1,
            to_device,   !to_device, stream, add_event(p, call.id, call.id)};
        insert(p, COPIES, values, 8, NULL, NULL);
    }
    packet_done(p, stream, 0, end_ns);
    end_call(p, &call, wait ? 4500 : 4000, wait ? end_ns : 0);
}

/* A marker is reached with the packet before it; one that waits also behind the recorded one. */
static int64_t marker(struct program *p, const struct call *call, int stream, int64_t recorded_ns)
{
    int queue = queue_of(stream);
    int64_t at_ns = packet_start(p, call, stream, queue, 0);

    if (recorded_ns)
        at_ns = later(at_ns, recorded_ns + EVENT_NS);
    packet_done(p, stream, queue, at_ns);
    return at_ns;
}

static int record(struct program *p, int stream)
{
    struct call call = begin_call(p, RECORD);
    int event = (int)below(p, EVENTS);

    add_arg(p, &call, "event", 0x55d0d0000000 + (uint64_t)event * 0x80);
    add_arg(p, &call, "stream", stream_handle(stream));
    p->event_ns[event] = marker(p, &call, stream, 0);
    end_call(p, &call, 800, 0);
    return event;
}

static void depend(struct program *p, int from, int to)
{
    int event = record(p, from);
    struct call call = begin_call(p, WAIT);

    add_arg(p, &call, "stream", stream_handle(to));
    add_arg(p, &call, "event", 0x55d0d0000000 + (uint64_t)event * 0x80);
    add_arg(p, &call, "flags", 0);
    marker(p, &call, to, p->event_ns[event]);
    end_call(p, &call, 900, 0);
}

static void synchronize(struct program *p, enum name name, int stream)
{
    int event = name == EVENT_SYNC ? record(p, stream) : 0;
    struct call call = begin_call(p, name);
    int64_t waited_ns = name == EVENT_SYNC ? p->event_ns[event] : p->stream_tail[stream];

    if (name == EVENT_SYNC)
        add_arg(p, &call, "event", 0x55d0d0000000 + (uint64_t)event * 0x80);
    if (name == STREAM_SYNC)
        add_arg(p, &call, "stream", stream_handle(stream));
    for (int s = 0; name == DEVICE_SYNC && s <= STREAMS; s++)
        waited_ns = later(waited_ns, p->stream_tail[s]);
    end_call(p, &call, name == DEVICE_SYNC ? 1500 : 1200, waited_ns);
}

/* --- the program ---------------------------------------------------------------------------- */

static void step(struct program *p)
{
    int stream = 1 + (int)below(p, STREAMS);
    uint64_t x = below(p, 1000);

    if (x < 50)
        copy(p, stream, false);
    else if (x < 52)
        copy(p, stream, true);
    else if (x < 132)
        depend(p, stream, 1 + (int)below(p, STREAMS));
    else if (x < 136)
        synchronize(p, EVENT_SYNC, stream);
    else if (x < 139)
        synchronize(p, STREAM_SYNC, stream);
    else if (x < 140)
        synchronize(p, DEVICE_SYNC, stream);
    else
        launch(p, stream);
}

static struct program run(sqlite3 *db, enum table table, int64_t dispatches, uint64_t seed)
{
    struct program p = {.db = db, .table = table, .left = dispatches};

    p.random = seed * 0x9e3779b97f4a7c15ull + 1;
    p.host_ns = p.last_ns = 1000000000000;
    if (inserts[table] && sqlite3_prepare_v2(db, inserts[table], -1, &p.insert, NULL) != SQLITE_OK)
        stop(db, "prepare");
    for (int s = 1; s <= STREAMS; s++) {
        struct call call = begin_call(&p, CREATE);
        add_arg(&p, &call, "stream", 0x7ffd00001000 + (uint64_t)s * 8);
        add_arg(&p, &call, "flags", 1);
        end_call(&p, &call, 5000, 0);
    }
    for (int s = 1; s <= STREAMS; s++)
        launch(&p, s); /* so that every stream is known */
    while (p.left > 0)
        step(&p);
    synchronize(&p, DEVICE_SYNC, 0);
    sqlite3_finalize(p.insert);
    return p;
}

static void put_names(sqlite3 *db)
{
    for (int i = 0; i < NAME_COUNT + SYMBOLS + QUEUES; i++) {
        char sql[512];
        int k = i - NAME_COUNT;
        if (i < NAME_COUNT)
            snprintf(sql, sizeof sql,
                     "INSERT INTO rocpd_string_" SUFFIX " (id, string) VALUES (%d, '%s')", i + 1,
                     names[i]);
        else if (k < SYMBOLS)
            snprintf(sql, sizeof sql,
                     "INSERT INTO rocpd_info_kernel_symbol_" SUFFIX " VALUES (%d, '" GUID
                     "', 1, 1, 1, 'k%02d.kd', 'k%02d', 0, 8, 0, 0, 16, 16, 0)",
                     k + 1, k, k);
        else
            snprintf(sql, sizeof sql,
                     "INSERT INTO rocpd_info_queue_" SUFFIX " (id, nid, pid, name) VALUES"
                     " (%d, 1, 1, 'Queue')",
                     k - SYMBOLS + 1);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
            stop(db, sql);
    }
}

int main(int argc, char **argv)
{
    int64_t dispatches = argc == 4 ? strtoll(argv[1], NULL, 10) : 0;
    struct program p = {0};
    sqlite3 *db;

    if (dispatches < STREAMS) {
        fprintf(stderr, "usage: trace-maker DISPATCHES SEED FILE (at least %d dispatches)\n",
                STREAMS);
        return 2;
    }
    remove(argv[3]);
    if (sqlite3_open(argv[3], &db) != SQLITE_OK ||
        sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK)
        stop(db, argv[3]);
    put_names(db);
    for (int table = EVENT_ROWS; table < TABLES; table++)
        p = run(db, (enum table)table, dispatches, strtoull(argv[2], NULL, 10));
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        stop(db, "commit");
    sqlite3_close(db);
    printf("{\"dispatches\": %" PRId64 ", \"copies\": %" PRId64 ", \"calls\": %" PRId64
           ", \"makespan_ns\": %" PRId64 ", \"kernel_time_ns\": %" PRId64
           ", \"launch_ns\": %d, \"dispatch_ns\": %d, \"event_ns\": %d, \"wake_ns\": %d}\n",
           p.dispatches, p.copies, p.calls, p.last_ns - 1000000000000, p.kernel_ns, LAUNCH_NS,
           DISPATCH_NS, EVENT_NS, WAKE_NS);
    return 0;
}
