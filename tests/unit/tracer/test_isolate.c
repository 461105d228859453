/**
 * @file test_isolate.c
 * @brief The GPU is brought to rest around a dispatch, or the dispatch is declined and the program
 *        goes on. The test plays the program, the packet processor, and rocm-perf at the other end.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "trace/capture.h"
#include "trace/records.h"
#include "tracer/tracer.h"
#include "unit/cmocka_all.h"
#include "unit/tracer/harness.h"

/* What the tool keeps until the process ends, since threads may be in its hooks: what is wanted,
 * and the signal of a barrier that has not been executed. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:rp_isolate_start\nleak:rp_isolate_code\nleak:rp_isolate_kernel\nleak:keep_\n"
           "leak:rp_signal_pool\n";
}

enum { MOST_MESSAGES = 256, MOST_BLOCKS = 16 };

/* --- rocm-perf ----------------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    int listener;
    char path[96];
    uint32_t kinds[MOST_MESSAGES];
    size_t count;
    uint32_t unwanted; /* atomic: kernels that are loaded from now on */
    char declined[256];
    struct rp_snapshot_region refused[8];
    char reasons[8][96];
    size_t refused_count;
    struct rp_snapshot_region regions[32]; /* before the dispatch */
    size_t region_count;
    struct rp_snapshot_dispatch dispatch;
} peer;

static bool take(int fd, void *to, size_t bytes)
{
    return bytes == 0 || recv(fd, to, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

static void answer(int fd, uint32_t kind)
{
    const struct {
        struct rp_snapshot_selection selection;
        uint64_t number;
    } wish = {{.mode = RP_SNAPSHOT_NUMBERS, .number_count = 1}, 1};
    const uint32_t yes = !__atomic_load_n(&peer.unwanted, __ATOMIC_ACQUIRE);

    if (kind == RP_SNAPSHOT_HELLO)
        assert_int_equal(send(fd, &wish, sizeof(wish), MSG_NOSIGNAL), sizeof(wish));
    if (kind == RP_SNAPSHOT_KERNEL)
        assert_int_equal(send(fd, &yes, sizeof(yes), MSG_NOSIGNAL), sizeof(yes));
}

static void note(uint32_t kind, const char *bytes, uint64_t count, bool after)
{
    const size_t region_bytes = sizeof(struct rp_snapshot_region);

    peer.kinds[peer.count++ % MOST_MESSAGES] = kind;
    if (kind == RP_SNAPSHOT_DECLINED)
        snprintf(peer.declined, sizeof(peer.declined), "%.*s", (int)count, bytes);
    if (kind == RP_SNAPSHOT_BEGIN)
        memcpy(&peer.dispatch, bytes, sizeof(peer.dispatch));
    if (kind == RP_SNAPSHOT_REGION && !after && peer.region_count < 32)
        memcpy(&peer.regions[peer.region_count++], bytes, region_bytes);
    if (kind == RP_SNAPSHOT_REFUSED && peer.refused_count < 8) {
        memcpy(&peer.refused[peer.refused_count], bytes, region_bytes);
        snprintf(peer.reasons[peer.refused_count++], sizeof(peer.reasons[0]), "%.*s",
                 (int)(count - region_bytes), bytes + region_bytes);
    }
}

static void *listen_to_tool(void *data)
{
    const int fd = accept(peer.listener, NULL, NULL);
    struct rp_snapshot_message m;
    bool after = false;

    (void)data;
    while (fd >= 0 && take(fd, &m, sizeof(m))) {
        char *bytes = malloc(m.bytes + 1);
        const bool whole = take(fd, bytes, m.bytes);

        if (whole) {
            after = after || m.kind == RP_SNAPSHOT_AFTER;
            note(m.kind, bytes, m.bytes, after);
            answer(fd, m.kind);
        }
        free(bytes);
        if (!whole)
            break;
    }
    close(fd);
    return NULL;
}

static void start_peer(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memset(&peer, 0, sizeof(peer));
    snprintf(peer.path, sizeof(peer.path), "%s/socket", tool_folder);
    strcpy(address.sun_path, peer.path);
    peer.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer.listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(peer.listener, 1), 0);
    assert_int_equal(pthread_create(&peer.thread, NULL, listen_to_tool, NULL), 0);
    setenv(RP_SNAPSHOT_SOCKET_VARIABLE, peer.path, 1);
    setenv(RP_SNAPSHOT_PATIENCE_VARIABLE, "300", 1);
}

static size_t count_of(uint32_t kind)
{
    size_t n = 0;

    for (size_t i = 0; i < peer.count; i++)
        n += peer.kinds[i] == kind;
    return n;
}

/* --- memory of the runtime ----------------------------------------------------------------- */

static struct {
    void *base;
    size_t bytes;
    rp_hsa_agent owner;
} blocks[MOST_BLOCKS];
static size_t block_count;
static rp_hsa_agent copied_from[64]; /* atomic count: whose memory copies read */
static size_t copy_count;
static const void *uncopyable;

static void *add_block(size_t bytes, rp_hsa_agent owner)
{
    void *base = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

    memset(base, (int)block_count + 1, bytes);
    assert_true(block_count < MOST_BLOCKS);
    blocks[block_count].base = base;
    blocks[block_count].bytes = bytes;
    blocks[block_count++].owner = owner;
    return base;
}

/* A pool is the agent that it belongs to. */
static rp_hsa_status pool_allocate(rp_hsa_pool pool, size_t bytes, uint32_t flags, void **ret)
{
    (void)flags;
    *ret = add_block(bytes, (rp_hsa_agent)pool);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status pool_free(void *base)
{
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].base == base)
            blocks[i].base = NULL;
    free(base);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status allow_access(uint32_t count, const rp_hsa_agent *agents, const uint32_t *flags,
                                  const void *base)
{
    (void)count, (void)agents, (void)flags, (void)base;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status pointer_info(const void *pointer, struct rp_hsa_pointer_info *ret,
                                  void *(*allocate)(size_t bytes), uint32_t *ret_count,
                                  rp_hsa_agent **ret_agents)
{
    (void)allocate, (void)ret_count, (void)ret_agents;
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].base == pointer && blocks[i].owner) {
            ret->type = 1;
            ret->owner = blocks[i].owner;
            return RP_HSA_SUCCESS;
        }
    ret->type = 0;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status pool_get_info(rp_hsa_pool pool, uint32_t what, void *ret)
{
    (void)pool;
    if (what == RP_AMD_POOL_ALLOC_ALLOWED)
        *(bool *)ret = true;
    else
        *(uint32_t *)ret = 0; /* the global segment, no flags */
    return RP_HSA_SUCCESS;
}

/* A second GPU, of the same kind. */
enum { SECOND_GPU = 0x3000 };
static rp_hsa_status (*plain_agent)(rp_hsa_agent, uint32_t, void *);

static rp_hsa_status agent_get_info(rp_hsa_agent agent, uint32_t what, void *ret)
{
    return plain_agent(agent == SECOND_GPU ? FAKE_GPU : agent, what, ret);
}

static rp_hsa_status iterate_agents(rp_hsa_status (*visit)(rp_hsa_agent, void *), void *data)
{
    visit(FAKE_CPU, data);
    visit(FAKE_GPU, data);
    visit(SECOND_GPU, data);
    return RP_HSA_SUCCESS;
}

/* Virtual memory that one agent can read; a copy by another one would fault. */
static struct {
    void *base;
    rp_hsa_agent reader;
} mapped[8];
static size_t mapped_count;
static bool faulted;

static rp_hsa_status vmem_map(void *base, size_t bytes, size_t offset, uint64_t handle,
                              uint64_t flags)
{
    (void)bytes, (void)offset, (void)handle, (void)flags;
    mapped[mapped_count].base = base;
    mapped[mapped_count++].reader = 0;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status vmem_set_access(void *base, size_t bytes, const struct rp_hsa_access *accesses,
                                     size_t count)
{
    (void)bytes;
    for (size_t i = 0; i < mapped_count && count; i++)
        if (mapped[i].base == base)
            mapped[i].reader = accesses[0].agent;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status vmem_get_access(void *base, uint32_t *ret_permissions, rp_hsa_agent agent)
{
    for (size_t i = 0; i < mapped_count; i++)
        if (mapped[i].base == base) {
            *ret_permissions = mapped[i].reader == agent ? 3 : 0;
            return RP_HSA_SUCCESS;
        }
    return RP_HSA_STATUS_ERROR;
}

static bool can_read(const void *base, rp_hsa_agent agent)
{
    for (size_t i = 0; i < mapped_count; i++)
        if (mapped[i].base == base)
            return mapped[i].reader == agent;
    return true;
}

static rp_hsa_status iterate_pools(rp_hsa_agent agent, rp_hsa_status (*visit)(rp_hsa_pool, void *),
                                   void *data)
{
    return visit((rp_hsa_pool)agent, data);
}

static rp_hsa_status ipc_attach(const void *handle, size_t bytes, uint32_t count,
                                const rp_hsa_agent *agents, void **ret)
{
    (void)count, (void)agents;
    *ret = add_block(bytes, *(const rp_hsa_agent *)handle);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status async_copy(void *dst, rp_hsa_agent dst_agent, const void *src,
                                rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    (void)dst_agent, (void)dep_count, (void)deps;
    if (src == uncopyable)
        return RP_HSA_STATUS_ERROR;
    faulted = faulted || !can_read(src, src_agent);
    copied_from[copy_count++ % 64] = src_agent;
    memcpy(dst, src, bytes);
    __atomic_fetch_sub(&((struct rp_amd_signal *)(uintptr_t)completion)->value, 1,
                       __ATOMIC_ACQ_REL);
    return RP_HSA_SUCCESS;
}

/* --- code ---------------------------------------------------------------------------------- */

static rp_hsa_status (*plain_table)(uint16_t, uint16_t, size_t, void *);
static rp_hsa_status (*plain_info)(rp_hsa_code_object, uint32_t, void *);

static rp_hsa_status object_info(rp_hsa_code_object object, uint32_t what, void *ret)
{
    static const char elf[] = "\177ELF and so on";

    if (what == RP_LOADER_INFO_MEMORY_BASE)
        *(uint64_t *)ret = (uint64_t)(uintptr_t)elf;
    else if (what == RP_LOADER_INFO_MEMORY_SIZE)
        *(uint64_t *)ret = sizeof(elf);
    else
        return plain_info(object, what, ret);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status extension_table(uint16_t extension, uint16_t major, size_t bytes, void *ret)
{
    struct rp_hsa_loader *loader = ret;
    rp_hsa_status status = plain_table(extension, major, bytes, ret);

    if (status == RP_HSA_SUCCESS) {
        plain_info = loader->code_object_get_info;
        loader->code_object_get_info = object_info;
    }
    return status;
}

static rp_hsa_status executable_destroy(rp_hsa_executable executable)
{
    (void)executable;
    return RP_HSA_SUCCESS;
}

/* --- the packet processor ------------------------------------------------------------------ */

/* While somebody waits, it executes what is in these queues, a packet at a time. */
static struct fake_queue *working[2];
static size_t may_execute;      /* so many packets of working[0], then it is stuck */
static void (*on_wait)(void);   /* and this happens, once */
static uint64_t executed_types; /* of working[0]: four bits a packet, the oldest in front */

static void work(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct fake_queue *queue = working[i];

        if (!queue || queue->count == 0 || (i == 0 && may_execute == 0))
            continue;
        if (i == 0) {
            may_execute--;
            executed_types = executed_types << 4 | (queue->packets[0].header & RP_AQL_TYPE_MASK);
        }
        fake_execute(queue, 1);
    }
}

static int64_t wait_and_work(rp_hsa_signal signal, uint32_t condition, int64_t value,
                             uint64_t timeout, uint32_t state)
{
    void (*once)(void) = on_wait;

    (void)condition, (void)value, (void)timeout, (void)state;
    on_wait = NULL;
    if (once)
        once();
    work();
    return __atomic_load_n(&((struct rp_amd_signal *)(uintptr_t)signal)->value, __ATOMIC_ACQUIRE);
}

/* --- the program --------------------------------------------------------------------------- */

static struct fake_queue *queue, *other;
static rp_hsa_signal done;
static uint64_t kernarg[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(tool_folder, sizeof(tool_folder), "/tmp/rp-test-isolate-XXXXXX");
    assert_non_null(mkdtemp(tool_folder));
    setenv("ROCM_PERF_TRACE_DIR", tool_folder, 1);
    start_peer();
    fake_reset();
    memcpy(&plain_table, &fake.core->fn[98], sizeof(plain_table));
    fake.core->fn[98] = (void *)extension_table;
    memcpy(&plain_agent, &fake.core->fn[6], sizeof(plain_agent));
    fake.core->fn[6] = (void *)agent_get_info;
    fake.core->fn[44] = (void *)wait_and_work;
    fake.core->fn[84] = (void *)executable_destroy;
    fake.amd->fn[11] = (void *)pool_get_info;
    fake.amd->fn[12] = (void *)iterate_pools;
    fake.amd->fn[13] = (void *)pool_allocate;
    fake.amd->fn[14] = (void *)pool_free;
    fake.amd->fn[15] = (void *)async_copy;
    fake.amd->fn[19] = (void *)allow_access;
    fake.amd->fn[28] = (void *)pointer_info;
    fake.amd->fn[31] = (void *)ipc_attach;
    fake.amd->fn[59] = (void *)vmem_map;
    fake.amd->fn[61] = (void *)vmem_set_access;
    fake.amd->fn[62] = (void *)vmem_get_access;
    fake.core->fn[5] = (void *)iterate_agents;
    mapped_count = 0;
    faulted = false;
    block_count = copy_count = 0;
    uncopyable = NULL;
    executed_types = 0;
    on_wait = NULL;
    assert_true(OnLoad(&fake.root, 3, 0, NULL));
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    queue = create_queue();
    other = create_queue();
    working[0] = queue;
    working[1] = other;
    may_execute = SIZE_MAX;
    done = fake_signal(1);
    return 0;
}

static void end_peer(void)
{
    CORE(1, hsa_shut_down)();
    OnUnload();
    rp_snapshot_link_close(&rp_the_tool.isolate.link); /* as the end of the process does */
    shutdown(peer.listener, SHUT_RDWR);
    pthread_join(peer.thread, NULL);
    close(peer.listener);
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    fake_free();
    for (size_t i = 0; i < block_count; i++)
        free(blocks[i].base);
    unsetenv(RP_SNAPSHOT_SOCKET_VARIABLE);
    unsetenv(RP_SNAPSHOT_PATIENCE_VARIABLE);
    snprintf(command, sizeof(command), "rm -r %s", tool_folder);
    return system(command) == 0 ? 0 : -1;
}

static void launch(void)
{
    struct rp_hsa_packet packet = fake_dispatch(fake_kernel_object(0), done);

    packet.kernarg = (uint64_t)(uintptr_t)kernarg;
    fake_submit(queue, &packet, 1);
}

static int64_t value_of(rp_hsa_signal signal)
{
    return __atomic_load_n(&((struct rp_amd_signal *)(uintptr_t)signal)->value, __ATOMIC_ACQUIRE);
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Everything the program has submitted ends, and it can allocate: nothing is held. */
static void goes_on(void)
{
    void *base;

    may_execute = SIZE_MAX;
    while (queue->count || other->count)
        work();
    fake_run_handlers();
    assert_int_equal(value_of(done), 0);
    assert_int_equal(AMD(13, hsa_amd_memory_pool_allocate)(FAKE_GPU, 64, 0, &base), RP_HSA_SUCCESS);
    assert_int_equal(AMD(14, hsa_amd_memory_pool_free)(base), RP_HSA_SUCCESS);
    CORE(38, hsa_signal_destroy)(done);
    destroy_queue(queue);
    destroy_queue(other);
    end_peer();
}

/* --- tests --------------------------------------------------------------------------------- */

/* Work in both queues; what is before and after, and in which order. */
static void it_comes_to_rest_and_is_captured(void **state)
{
    static const uint32_t head[] = {RP_SNAPSHOT_HELLO, RP_SNAPSHOT_KERNEL, RP_SNAPSHOT_KERNEL,
                                    RP_SNAPSHOT_BEGIN, RP_SNAPSHOT_CODE,   RP_SNAPSHOT_KERNARG};
    rp_hsa_signal mine = fake_signal(1), its = fake_signal(1);
    const struct rp_hsa_packet before = fake_dispatch(0x99, mine),
                               beside = fake_dispatch(0x99, its);
    void *base;

    (void)state;
    AMD(13, hsa_amd_memory_pool_allocate)(FAKE_GPU, 8192, 0, &base);
    fake_submit(queue, &before, 1);
    fake_submit(other, &beside, 1);
    launch();
    assert_int_equal(value_of(done), 0); /* once, and not before the memory was taken */
    assert_int_equal(value_of(mine), 0);
    assert_int_equal(value_of(its), 0);
    CORE(38, hsa_signal_destroy)(mine);
    CORE(38, hsa_signal_destroy)(its);
    /* What was there, a barrier, one more when others are at rest, the dispatch, a barrier: types
     * of AQL packets. */
    assert_int_equal(executed_types, RP_AQL_KERNEL_DISPATCH << 16 | RP_AQL_BARRIER_AND << 12 |
                                         RP_AQL_BARRIER_AND << 8 | RP_AQL_KERNEL_DISPATCH << 4 |
                                         RP_AQL_BARRIER_AND);
    goes_on();
    assert_memory_equal(peer.kinds, head, sizeof(head));
    assert_int_equal(count_of(RP_SNAPSHOT_AFTER), 1);
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
    assert_int_equal(count_of(RP_SNAPSHOT_DECLINED), 0);
    assert_int_equal(peer.kinds[peer.count - 1], RP_SNAPSHOT_END);
    assert_int_equal(count_of(RP_SNAPSHOT_REGION), 2 * peer.region_count); /* each twice */
    assert_int_equal(peer.dispatch.match, 1);
    assert_int_equal(peer.dispatch.gpu, 0);
    assert_int_equal(peer.dispatch.stream, UINT32_MAX); /* no HIP */
    assert_int_equal(peer.refused_count, 0);
}

static void declined(const char *why, double from)
{
    assert_true(now_s() - from < 5); /* two waits of 0.3 s, on a busy machine */
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 0);
    assert_int_equal(count_of(RP_SNAPSHOT_DECLINED), 1);
    assert_string_equal(peer.declined, why);
}

/* A kernel in another queue that waits for the thread that launches. */
static void another_queue_that_is_stuck(void **state)
{
    rp_hsa_signal its = fake_signal(1);
    const struct rp_hsa_packet beside = fake_dispatch(0x99, its);
    const double from = now_s();

    (void)state;
    working[1] = NULL;
    fake_submit(other, &beside, 1);
    launch();
    assert_int_equal(value_of(its), 1);
    working[1] = other;
    declined("other queues or copies do not come to rest", from);
    assert_int_equal(value_of(its), 0);
    free((void *)(uintptr_t)its); /* the runtime is gone */
}

static void its_own_queue_that_is_stuck(void **state)
{
    const struct rp_hsa_packet before = fake_dispatch(0x99, 0);
    const double from = now_s();

    (void)state;
    may_execute = 0;
    fake_submit(queue, &before, 1);
    launch();
    assert_int_equal(value_of(done), 1);
    declined("what is before it in its queue does not come to rest", from);
}

/* The last barrier before it is stuck: it is still handed over, behind. */
static void a_queue_that_gets_stuck(void **state)
{
    const double from = now_s();

    (void)state;
    may_execute = 1;
    launch();
    assert_int_equal(value_of(done), 1);
    assert_int_equal(queue->count, 2);
    declined("what is before it in its queue does not come to rest", from);
}

/* It runs on; when it ends, the program hears of it. */
static void a_kernel_that_does_not_end(void **state)
{
    const double from = now_s();

    (void)state;
    may_execute = 2; /* the barriers before it */
    launch();
    assert_int_equal(value_of(done), 1);
    assert_int_equal(queue->count, 2);
    declined("the kernel does not end", from);
    assert_int_equal(count_of(RP_SNAPSHOT_BEGIN), 1);
    assert_int_equal(count_of(RP_SNAPSHOT_AFTER), 0);
}

/* --- kernels that only wait ---------------------------------------------------------------- */

static int64_t waits_ns; /* what the software device says */

static int64_t only_waits_ns(void)
{
    waits_ns += waits_ns > 0 ? 100000000 : 0;
    return waits_ns;
}

static void do_nothing(bool whatever)
{
    (void)whatever;
}

static const struct rp_device_table waiting_device = {
    .only_waits_ns = only_waits_ns, .hold_nothing = do_nothing, .settle_callbacks = do_nothing};

static void launch_on_a_device_that_knows(int64_t begun_ns)
{
    waits_ns = begun_ns;
    rp_the_tool.device = &waiting_device;
    may_execute = 2; /* the barriers before it */
    launch();
    rp_the_tool.device = NULL;
}

/* Nothing else begins while it is captured: it is not waited for as long as one that works. */
static void a_kernel_that_only_waits(void **state)
{
    const double from = now_s();

    (void)state;
    rp_the_tool.isolate.kernel_patience_ms = rp_the_tool.isolate.held_patience_ms = 3600 * 1000;
    rp_the_tool.isolate.waiting_patience_ms = 15000;
    launch_on_a_device_that_knows(1000000000);
    declined("the kernel does nothing but wait, perhaps for another kernel or GPU, which cannot "
             "begin while this one is captured",
             from);
}

/* One that works has its patience, however long others of its waves wait. */
static void a_kernel_that_works(void **state)
{
    const double from = now_s();

    (void)state;
    rp_the_tool.isolate.waiting_patience_ms = 1;
    launch_on_a_device_that_knows(0);
    declined("the kernel does not end", from);
}

/* --- code that is unloaded ----------------------------------------------------------------- */

static void launch_plain(void)
{
    const struct rp_hsa_packet packet = fake_dispatch(fake_kernel_object(0), 0);

    fake_submit(queue, &packet, 1);
    fake_execute(queue, queue->count);
}

/* The loader puts the next code object where the last one was: kernels have the same addresses. */
static void another_kernel_at_the_address(void **state)
{
    (void)state;
    assert_non_null(rp_the_tool.isolate.codes);
    assert_int_equal(CORE(84, hsa_executable_destroy)(FAKE_EXECUTABLE), RP_HSA_SUCCESS);
    assert_null(rp_the_tool.isolate.codes); /* nor is its file kept */
    launch_plain();
    __atomic_store_n(&peer.unwanted, 1, __ATOMIC_RELEASE);
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    launch_plain();
    __atomic_store_n(&peer.unwanted, 0, __ATOMIC_RELEASE);
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    __atomic_store_n(&peer.unwanted, 1, __ATOMIC_RELEASE); /* now without a word of the old one */
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    launch_plain();
    __atomic_store_n(&peer.unwanted, 0, __ATOMIC_RELEASE);
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    assert_int_equal(rp_the_tool.isolate.select.matches, 0);
    launch();
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
    assert_int_equal(peer.dispatch.match, 1);
}

/* --- copies that share a signal ------------------------------------------------------------ */

static const void *slow; /* copies of it are not made until finish_copy() */

static rp_hsa_status async_copy_or_not(void *dst, rp_hsa_agent dst_agent, const void *src,
                                       rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                       const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    return src == slow
               ? RP_HSA_SUCCESS
               : async_copy(dst, dst_agent, src, src_agent, bytes, dep_count, deps, completion);
}

static void finish_copy(rp_hsa_signal signal)
{
    __atomic_fetch_sub(&((struct rp_amd_signal *)(uintptr_t)signal)->value, 1, __ATOMIC_ACQ_REL);
}

static void copy_row(rp_hsa_signal signal, rp_hsa_status status)
{
    static char from, to;

    slow = status == RP_HSA_SUCCESS ? &from : NULL;
    uncopyable = &from;
    assert_int_equal(
        AMD(15, hsa_amd_memory_async_copy)(&to, FAKE_CPU, &from, FAKE_GPU, 1, 0, NULL, signal),
        status);
}

static rp_hsa_signal begin_rows(int64_t rows)
{
    const rp_hsa_signal signal = fake_signal(1);

    rp_the_tool.hsa.hsa_amd_memory_async_copy = async_copy_or_not;
    CORE(102, hsa_signal_silent_store_relaxed)(signal, rows); /* as HIP does it */
    for (int64_t i = 0; i < rows; i++)
        copy_row(signal, RP_HSA_SUCCESS);
    return signal;
}

/* They are over, or the program can only know that they are. */
static void copies_that_share_a_signal(void **state)
{
    const rp_hsa_signal rows = begin_rows(3), destroyed = begin_rows(2), again = begin_rows(2);
    const rp_hsa_signal twice = fake_signal(1);

    (void)state;
    finish_copy(rows);
    copy_row(rows, RP_HSA_STATUS_ERROR); /* and it was none */
    finish_copy(rows);
    finish_copy(rows);
    CORE(38, hsa_signal_destroy)(destroyed);
    CORE(41, hsa_signal_store_relaxed)(again, 2);
    copy_row(again, RP_HSA_SUCCESS);
    copy_row(again, RP_HSA_SUCCESS);
    finish_copy(again);
    finish_copy(again);
    copy_row(twice, RP_HSA_SUCCESS); /* 1, 0, -1 */
    copy_row(twice, RP_HSA_SUCCESS);
    finish_copy(twice);
    assert_false(rp_shared_copies_are_over(&rp_the_tool));
    finish_copy(twice);
    launch();
    CORE(38, hsa_signal_destroy)(rows);
    CORE(38, hsa_signal_destroy)(again);
    CORE(38, hsa_signal_destroy)(twice);
    goes_on();
    assert_string_equal(peer.declined, "");
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
}

/* The last row is under way. */
static void a_row_that_is_not_copied(void **state)
{
    const rp_hsa_signal rows = begin_rows(3);
    const double from = now_s();

    (void)state;
    finish_copy(rows);
    finish_copy(rows);
    launch();
    CORE(38, hsa_signal_destroy)(rows);
    declined("other queues or copies do not come to rest", from);
}

/* --- other threads ------------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    uint32_t started, submitted, allocated; /* atomic */
    void *base;
} second;

static void *submit_and_allocate(void *data)
{
    const struct rp_hsa_packet packet = fake_dispatch(0x99, 0);

    (void)data;
    __atomic_store_n(&second.started, 1, __ATOMIC_RELEASE);
    fake_submit(other, &packet, 1);
    __atomic_store_n(&second.submitted, 1, __ATOMIC_RELEASE);
    AMD(13, hsa_amd_memory_pool_allocate)(FAKE_GPU, 64, 0, &second.base);
    __atomic_store_n(&second.allocated, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Within the capture, once the gate is closed: a copy of memory is under way. */
static rp_hsa_status copy_while_others_try(void *dst, rp_hsa_agent dst_agent, const void *src,
                                           rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                           const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000000};

    if (!__atomic_load_n(&second.started, __ATOMIC_ACQUIRE)) {
        assert_int_equal(pthread_create(&second.thread, NULL, submit_and_allocate, NULL), 0);
        while (!__atomic_load_n(&second.started, __ATOMIC_ACQUIRE))
            ;
        nanosleep(&pause, NULL);
    }
    assert_false(__atomic_load_n(&second.submitted, __ATOMIC_ACQUIRE));
    return async_copy(dst, dst_agent, src, src_agent, bytes, dep_count, deps, completion);
}

static void other_threads_are_held_and_released(void **state)
{
    (void)state;
    memset(&second, 0, sizeof(second));
    working[1] = NULL; /* that queue is the other thread's */
    rp_the_tool.hsa.hsa_amd_memory_async_copy = copy_while_others_try;
    launch();
    assert_true(second.started);
    pthread_join(second.thread, NULL);
    assert_true(second.submitted && second.allocated);
    assert_int_equal(other->count, 1);
    working[1] = other;
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
}

/* It may be one of those threads that the kernel waits for. */
static void a_kernel_that_waits_for_a_thread(void **state)
{
    const double from = now_s();

    (void)state;
    memset(&second, 0, sizeof(second));
    working[1] = NULL;
    rp_the_tool.hsa.hsa_amd_memory_async_copy = copy_while_others_try;
    rp_the_tool.isolate.kernel_patience_ms = 60000;
    may_execute = 2;
    launch();
    assert_int_equal(value_of(done), 1);
    pthread_join(second.thread, NULL);
    assert_true(second.submitted && second.allocated);
    working[1] = other;
    declined("the kernel does not end while other threads of the program are held: it may wait for "
             "them",
             from);
}

/* --- the end of the program ---------------------------------------------------------------- */

static uint32_t copying; /* atomic */

static rp_hsa_status copy_slowly(void *dst, rp_hsa_agent dst_agent, const void *src,
                                 rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                 const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000000};

    __atomic_store_n(&copying, 1, __ATOMIC_RELEASE);
    nanosleep(&pause, NULL);
    return async_copy(dst, dst_agent, src, src_agent, bytes, dep_count, deps, completion);
}

static void *launch_here(void *data)
{
    (void)data;
    launch();
    return NULL;
}

/* Nothing is taken from under it. */
static void the_end_waits_for_a_capture(void **state)
{
    pthread_t thread;
    void *base;

    (void)state;
    copying = 0;
    AMD(13, hsa_amd_memory_pool_allocate)(FAKE_GPU, 4096, 0, &base);
    rp_the_tool.hsa.hsa_amd_memory_async_copy = copy_slowly;
    rp_the_tool.isolate.patience_ms = 60000;
    assert_int_equal(pthread_create(&thread, NULL, launch_here, NULL), 0);
    while (!__atomic_load_n(&copying, __ATOMIC_ACQUIRE))
        ;
    CORE(1, hsa_shut_down)();
    assert_int_equal(value_of(done), 0);
    pthread_join(thread, NULL);
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
}

/* --- memory of others ---------------------------------------------------------------------- */

static const struct rp_snapshot_region *region_at(const void *base)
{
    for (size_t i = 0; i < peer.region_count; i++)
        if (peer.regions[i].base == (uint64_t)(uintptr_t)base)
            return &peer.regions[i];
    return NULL;
}

static bool was_copied_by_second(void)
{
    for (size_t i = 0; i < copy_count && i < 64; i++)
        if (copied_from[i] == SECOND_GPU)
            return true;
    return false;
}

/* Memory of another GPU is read by that GPU; memory of another process as what the runtime says it
 * is. What cannot be read is refused by name, and the rest is captured. */
static void memory_of_others(void **state)
{
    static const rp_hsa_agent gpu = FAKE_GPU, nobody = 0;
    void *on_peer, *attached, *unknown, *broken;

    (void)state;
    AMD(13, hsa_amd_memory_pool_allocate)(SECOND_GPU, 4096, 0, &on_peer);
    AMD(31, hsa_amd_ipc_memory_attach)(&gpu, 4096, 1, &gpu, &attached);
    AMD(31, hsa_amd_ipc_memory_attach)(&nobody, 8192, 1, &gpu, &unknown);
    AMD(31, hsa_amd_ipc_memory_attach)(&gpu, 4096, 1, &gpu, &broken);
    uncopyable = broken;
    launch();
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
    assert_non_null(region_at(on_peer));
    assert_true(was_copied_by_second());
    assert_int_equal(region_at(on_peer)->memory_class, RP_MEMORY_POOL);
    assert_non_null(region_at(attached));
    assert_int_equal(region_at(attached)->memory_class, RP_MEMORY_IPC);
    assert_null(region_at(unknown));
    assert_null(region_at(broken));
    assert_int_equal(peer.refused_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const bool is_unknown = peer.refused[i].base == (uint64_t)(uintptr_t)unknown;

        assert_true(is_unknown || peer.refused[i].base == (uint64_t)(uintptr_t)broken);
        assert_int_equal(peer.refused[i].memory_class, RP_MEMORY_IPC);
        assert_string_equal(peer.reasons[i], is_unknown
                                                 ? "the runtime does not say whose memory it is"
                                                 : "the runtime cannot copy it");
    }
}

static void *map_at(rp_hsa_agent owner, rp_hsa_agent reader, uint64_t handle, uint64_t offset)
{
    const struct rp_hsa_access access = {.permissions = 3, .agent = reader};
    void *base = add_block(4096, owner);

    assert_int_equal(AMD(59, hsa_amd_vmem_map)(base, 4096, offset, handle, 0), RP_HSA_SUCCESS);
    if (reader)
        assert_int_equal(AMD(61, hsa_amd_vmem_set_access)(base, 4096, &access, 1), RP_HSA_SUCCESS);
    return base;
}

static void *map_for(rp_hsa_agent owner, rp_hsa_agent reader)
{
    static uint64_t handle = 1;

    return map_at(owner, reader, ++handle << 12, 0);
}

/* Pieces of one memory; two of them overlap. Captured as two, what one writes the other would not
 * see in a replay. */
static void one_memory_at_two_addresses(void **state)
{
    enum { HANDLE = 0x77000 };
    const void *parts[3];
    char reason[96];
    const void *later, *sooner;

    (void)state;
    parts[0] = map_at(FAKE_GPU, FAKE_GPU, HANDLE, 8192);
    parts[1] = map_at(FAKE_GPU, FAKE_GPU, HANDLE, 0);
    parts[2] = map_at(FAKE_GPU, FAKE_GPU, HANDLE, 8192);
    map_at(FAKE_GPU, 0, HANDLE, 0); /* nobody can reach that one */
    sooner = parts[0] < parts[2] ? parts[0] : parts[2];
    later = parts[0] < parts[2] ? parts[2] : parts[0];
    launch();
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
    assert_non_null(region_at(parts[1]));
    assert_non_null(region_at(sooner));
    assert_null(region_at(later));
    assert_int_equal(peer.refused_count, 2);
    snprintf(reason, sizeof(reason), "it is the same memory as 0x%" PRIx64 ", mapped once more",
             (uint64_t)(uintptr_t)sooner);
    for (size_t i = 0; i < 2; i++)
        if (peer.refused[i].base == (uint64_t)(uintptr_t)later)
            assert_string_equal(peer.reasons[i], reason);
        else
            assert_string_equal(peer.reasons[i], "it is mapped, and no agent has access to it");
}

/* The owner has no access: who has reads it, of the host as well. */
static void memory_that_its_owner_cannot_reach(void **state)
{
    static const rp_hsa_agent gpu = FAKE_GPU, second_gpu = SECOND_GPU;
    void *device, *host, *nobody, *attached;

    (void)state;
    device = map_for(FAKE_GPU, SECOND_GPU);
    host = map_for(FAKE_CPU, FAKE_GPU);
    nobody = map_for(FAKE_GPU, 0);
    AMD(31, hsa_amd_ipc_memory_attach)(&gpu, 4096, 1, &second_gpu, &attached);
    mapped[mapped_count].base = attached;
    mapped[mapped_count++].reader = SECOND_GPU;
    launch();
    goes_on();
    assert_int_equal(count_of(RP_SNAPSHOT_END), 1);
    assert_false(faulted);
    assert_true(was_copied_by_second());
    assert_non_null(region_at(device));
    assert_non_null(region_at(host));
    assert_non_null(region_at(attached));
    assert_null(region_at(nobody));
    assert_int_equal(peer.refused_count, 1);
    assert_string_equal(peer.reasons[0], "it is mapped, and no agent has access to it");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(it_comes_to_rest_and_is_captured),
        TEST(another_queue_that_is_stuck),
        TEST(its_own_queue_that_is_stuck),
        TEST(a_kernel_that_does_not_end),
        TEST(another_kernel_at_the_address),
        TEST(a_queue_that_gets_stuck),
        TEST(a_kernel_that_waits_for_a_thread),
        TEST(the_end_waits_for_a_capture),
        TEST(copies_that_share_a_signal),
        TEST(a_row_that_is_not_copied),
        TEST(other_threads_are_held_and_released),
        TEST(memory_of_others),
        TEST(memory_that_its_owner_cannot_reach),
        TEST(one_memory_at_two_addresses),
        TEST(a_kernel_that_only_waits),
        TEST(a_kernel_that_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
