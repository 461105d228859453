/* The test_device as a whole, through its ioctls, with a queue served by its thread. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "fake_exec.h"

#include "device/driver/ioctls.c"

#define NR(nr, type)  _IOWR('K', nr, type)
#define DRM(nr, type) _IOWR('d', nr, type)

static struct rp_device *test_device(void)
{
    int fd = rp_device_open(0, false, true);
    assert_true(fd >= 0);
    struct rp_device *d = rp_device_get();
    assert_non_null(d);
    int copy = dup(fd);
    assert_true(rp_device_owns(d, fd) && rp_device_owns(d, copy));
    assert_false(rp_device_owns(d, STDERR_FILENO));
    close(fd);
    close(copy);
    return d;
}

static void identity(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    struct rp_kfd_version version = {0};
    struct rp_kfd_aperture aperture = {0};
    struct rp_kfd_apertures_new apertures = {0};
    assert_int_equal(rp_kfd_ioctl(d, _IOR('K', 1, struct rp_kfd_version), &version), 0);
    assert_int_equal(version.major, 1);
    assert_true(version.minor >= 15);
    assert_int_equal(rp_kfd_ioctl(d, NR(0x14, struct rp_kfd_apertures_new), &apertures), 0);
    assert_int_equal(apertures.node_count, 1);
    apertures.apertures_ptr = (uintptr_t)&aperture;
    assert_int_equal(rp_kfd_ioctl(d, NR(0x14, struct rp_kfd_apertures_new), &apertures), 0);
    assert_int_equal(aperture.gpu_id, RP_TOPOLOGY_GPU_ID);
    assert_int_equal(rp_kfd_ioctl(d, NR(0x3f, struct rp_kfd_version), &version), -ENOTTY);
    assert_int_equal(rp_kfd_ioctl(d, NR(0xff, struct rp_kfd_version), &version), -ENOTTY);
}

/* What libdrm asks of a render node or a card before it gives a program a handle. */
static void drm_identity(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    int render = rp_device_open(0, false, true), card = rp_device_open(0, true, true);
    assert_true(rp_device_owns(d, render) && rp_device_owns(d, card));
    assert_int_equal(rp_device_minor_of_fd(render), 128);
    assert_int_equal(rp_device_minor_of_fd(card), 0);
    assert_int_equal(rp_device_gpu_of_fd(card), 0);
    assert_int_equal(rp_device_open(1, true, true), -ENODEV);

    char name[4] = "....";
    struct rp_drm_version version = {.name = (uintptr_t)name, .name_bytes = 3};
    assert_int_equal(rp_drm_ioctl(d, render, DRM(0, struct rp_drm_version), &version), 0);
    assert_int_equal(version.major, 3);
    assert_int_equal(version.name_bytes, 6); /* how many there are */
    assert_memory_equal(name, "amd.", 4);    /* and as many as fit */
    struct rp_drm_client client = {.index = 0};
    assert_int_equal(rp_drm_ioctl(d, card, DRM(5, struct rp_drm_client), &client), 0);
    assert_int_equal(client.pid, getpid());
    client.index = 1;
    assert_int_equal(rp_drm_ioctl(d, card, DRM(5, struct rp_drm_client), &client), -EINVAL);
    assert_int_equal(rp_drm_ioctl(d, render, DRM(0x3f, uint64_t), &version), -EINVAL);
    assert_int_equal(rp_drm_ioctl(d, render, DRM(0, uint32_t), &version), -EINVAL);
    close(render);
    close(card);
}

static int drm_info(struct rp_device *d, uint32_t query, uint32_t which, void *out, uint32_t bytes)
{
    struct rp_drm_info info = {
        .out = (uintptr_t)out, .bytes = bytes, .query = query, .which = which, .more = {1}};
    return rp_drm_ioctl(d, d->gpus[0].fd, DRM(0x45, struct rp_drm_info), &info);
}

static void drm_answers(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    struct rp_drm_device_info gpu;
    uint32_t words[2];
    uint64_t longs[3], later;
    /* Where Linux has them: offsets of struct drm_amdgpu_info_device. */
    assert_int_equal(offsetof(struct rp_drm_device_info, ids_flags), 136);
    assert_int_equal(offsetof(struct rp_drm_device_info, wave_size), 240);
    assert_int_equal(offsetof(struct rp_drm_device_info, high_va_begin), 336);
    assert_int_equal(offsetof(struct rp_drm_device_info, mall_of_gfx11), 408);
    memset(&gpu, 0xaa, sizeof gpu);
    assert_int_equal(drm_info(d, RP_DRM_INFO_DEV_INFO, 0, &gpu, 4), 0); /* no more than asked for */
    assert_int_equal(gpu.device_id, 0x74a1);
    assert_int_equal(gpu.family, 0xaaaaaaaa);
    assert_int_equal(drm_info(d, RP_DRM_INFO_DEV_INFO, 0, &gpu, sizeof gpu), 0);
    assert_int_equal(gpu.active_cus, 304);
    assert_int_equal(gpu.pcie_generation, 5);
    assert_int_equal(gpu.vram_bits, 8192);
    assert_int_equal(drm_info(d, RP_DRM_INFO_FW_VERSION, RP_DRM_FW_MEC, words, sizeof words), 0);
    assert_int_equal(words[0], 177);
    assert_int_equal(drm_info(d, RP_DRM_INFO_VRAM_GTT, 0, longs, sizeof longs), 0);
    assert_int_equal(longs[0], 206141652992);
    assert_int_equal(drm_info(d, RP_DRM_INFO_TIMESTAMP, 0, longs, sizeof longs), 0);
    assert_int_equal(drm_info(d, RP_DRM_INFO_TIMESTAMP, 0, &later, sizeof later), 0);
    assert_true(later >= longs[0]);
    /* No sensors, no VBIOS, no other firmware. */
    assert_int_equal(drm_info(d, 0x1d, 3, words, sizeof words), -EINVAL);
    assert_int_equal(drm_info(d, 0x1b, 3, longs, sizeof longs), -EINVAL);
    assert_int_equal(drm_info(d, RP_DRM_INFO_FW_VERSION, 1, words, sizeof words), -EINVAL);
    assert_int_equal(drm_info(d, RP_DRM_INFO_READ_MMR_REG, 0x100, words, sizeof words), -EINVAL);
}

/* ROCr converts test_device ticks by the slope between two readings: it must be exactly 10 ns. */
static void clock_pairs_have_slope_ten(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    struct rp_kfd_clock_counters first = {.gpu_id = RP_TOPOLOGY_GPU_ID}, now;
    assert_int_equal(rp_kfd_ioctl(d, NR(5, struct rp_kfd_clock_counters), &first), 0);
    for (int i = 0; i < 100; i++) {
        now = (struct rp_kfd_clock_counters){.gpu_id = RP_TOPOLOGY_GPU_ID};
        assert_int_equal(rp_kfd_ioctl(d, NR(5, struct rp_kfd_clock_counters), &now), 0);
        assert_true(now.gpu_ticks > first.gpu_ticks);
        assert_int_equal(now.system_ns - first.system_ns, 10 * (now.gpu_ticks - first.gpu_ticks));
        rp_clock_advance(&d->clock, now.gpu_ticks + (uint64_t)i * 12345);
    }
    uint64_t before = rp_clock_now(&d->clock);
    rp_clock_advance(&d->clock, before - 1);
    assert_int_equal(rp_clock_now(&d->clock), before); /* never back */
}

/* An older caller's argument is shorter than ours: nothing beyond it is touched. */
static void short_arguments(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    uint8_t bytes[sizeof(struct rp_kfd_clock_counters)];
    memset(bytes, 0xaa, sizeof bytes);
    unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, 'K', 5, 16);
    assert_int_equal(rp_kfd_ioctl(d, request, bytes), 0);
    for (size_t i = 16; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0xaa);
}

/* Memory that holds a queue, its ring and a signal, made through the ioctls. */
struct gpu_page {
    union rp_aql_packet ring[16];
    struct rp_amd_queue queue __attribute__((aligned(64)));
    struct rp_amd_signal signal __attribute__((aligned(64)));
};

static const uint64_t page_va = 0x200000000ull;

static struct gpu_page *map_page(struct rp_device *d)
{
    struct rp_kfd_alloc args = {.va = page_va,
                                .bytes = sizeof(struct gpu_page),
                                .gpu_id = RP_TOPOLOGY_GPU_ID,
                                .flags = RP_KFD_MEM_GTT | RP_KFD_MEM_WRITABLE};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x16, struct rp_kfd_alloc), &args), 0);
    uint32_t gpu_id = RP_TOPOLOGY_GPU_ID;
    struct rp_kfd_map map = {
        .handle = args.handle, .device_ids_ptr = (uintptr_t)&gpu_id, .device_count = 1};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x18, struct rp_kfd_map), &map), 0);
    assert_int_equal(map.success_count, 1);
    return rp_memory_translate(&d->memory, 0, page_va, sizeof(struct gpu_page), 1);
}

/* Calls that name a GPU refuse one that is not there. */
static void unknown_gpus(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    const uint64_t va = page_va + (1 << 24); /* beside what other tests have mapped */
    uint32_t nobody = RP_TOPOLOGY_GPU_ID + 1;
    struct rp_kfd_alloc alloc = {.va = va, .bytes = 4096, .gpu_id = nobody, .flags = 1};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x16, struct rp_kfd_alloc), &alloc), -EINVAL);
    alloc.gpu_id = RP_TOPOLOGY_GPU_ID;
    assert_int_equal(rp_kfd_ioctl(d, NR(0x16, struct rp_kfd_alloc), &alloc), 0);
    uint32_t ids[2] = {RP_TOPOLOGY_GPU_ID, nobody};
    struct rp_kfd_map map = {
        .handle = alloc.handle, .device_ids_ptr = (uintptr_t)ids, .device_count = 2};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x18, struct rp_kfd_map), &map), -EINVAL);
    assert_int_equal(map.success_count, 1); /* the first of the list was done */
    assert_non_null(rp_memory_translate(&d->memory, 0, va, 4096, 0));
    struct rp_kfd_handle handle = {.handle = alloc.handle};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x17, struct rp_kfd_handle), &handle), 0);
    struct rp_kfd_available_memory available = {.gpu_id = nobody};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x23, struct rp_kfd_available_memory), &available),
                     -EINVAL);
    struct rp_kfd_clock_counters clock = {.gpu_id = nobody};
    assert_int_equal(rp_kfd_ioctl(d, NR(5, struct rp_kfd_clock_counters), &clock), 0);
    assert_int_equal(clock.gpu_ticks, 0); /* the host's clocks alone */
    assert_int_not_equal(clock.system_ns, 0);
    int fd = rp_device_open(0, false, true);
    struct rp_kfd_acquire_vm vm = {.drm_fd = (uint32_t)fd, .gpu_id = nobody};
    assert_int_equal(rp_kfd_ioctl(d, NR(0x15, struct rp_kfd_acquire_vm), &vm), -EINVAL);
    vm.gpu_id = RP_TOPOLOGY_GPU_ID;
    assert_int_equal(rp_kfd_ioctl(d, NR(0x15, struct rp_kfd_acquire_vm), &vm), 0);
    close(fd);
    assert_int_equal(rp_device_open(1, false, true), -ENODEV);
}

static void queue_runs_to_its_event(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    struct gpu_page *page = map_page(d);
    struct rp_kfd_create_event event = {.auto_reset = 1};
    fake_exec = (struct fake_exec){.turns = 2, .ticks = 50};
    assert_int_equal(rp_kfd_ioctl(d, NR(8, struct rp_kfd_create_event), &event), 0);
    assert_int_not_equal(event.page_offset, 0); /* the thunk gives no mailbox otherwise */
    for (int i = 0; i < 16; i++)
        page->ring[i].header = RP_AQL_INVALID;
    struct rp_kfd_create_queue queue = {
        .ring_base = page_va,
        .ring_bytes = sizeof page->ring,
        .read_pointer = page_va + offsetof(struct gpu_page, queue.read_dispatch_id),
        .write_pointer = page_va + offsetof(struct gpu_page, queue.write_dispatch_id),
        .gpu_id = RP_TOPOLOGY_GPU_ID,
        .type = 0, /* PM4 compute */
        .percentage = 100,
    };
    assert_int_equal(rp_kfd_ioctl(d, NR(2, struct rp_kfd_create_queue), &queue), -EINVAL);
    queue.type = RP_KFD_QUEUE_COMPUTE_AQL;
    assert_int_equal(rp_kfd_ioctl(d, NR(2, struct rp_kfd_create_queue), &queue), 0);
    page->signal.value = 1;
    page->signal.event_id = event.event_id;
    page->signal.mailbox_va = page_va + offsetof(struct gpu_page, signal.queue_va);
    page->ring[0].dispatch.completion = page_va + offsetof(struct gpu_page, signal);
    __atomic_store_n(&page->ring[0].header, RP_AQL_DISPATCH, __ATOMIC_RELEASE);
    __atomic_store_n(&page->queue.write_dispatch_id, 1, __ATOMIC_RELEASE);
    struct rp_kfd_event_data data = {.event_id = event.event_id};
    struct rp_kfd_wait_events wait = {
        .events_ptr = (uintptr_t)&data, .count = 1, .wait_for_all = 1, .timeout_ms = 10000};
    assert_int_equal(rp_kfd_ioctl(d, NR(0xc, struct rp_kfd_wait_events), &wait), 0);
    assert_int_equal(wait.result, RP_KFD_WAIT_COMPLETE);
    assert_int_equal(page->signal.value, 0);
    assert_int_equal(page->signal.end_ticks - page->signal.start_ticks, 50);
    struct rp_kfd_queue_id id = {.queue_id = queue.queue_id};
    assert_int_equal(rp_kfd_ioctl(d, NR(3, struct rp_kfd_queue_id), &id), 0);
    assert_int_equal(rp_kfd_ioctl(d, NR(3, struct rp_kfd_queue_id), &id), -EINVAL);
}

/* Idle, the serving thread must cost next to nothing. */
static void idle_is_cheap(void **state)
{
    (void)state;
    test_device();
    struct timespec pause = {.tv_nsec = 300 * 1000 * 1000}, begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    int64_t used_ns = (end.tv_sec - begin.tv_sec) * 1000000000ll + end.tv_nsec - begin.tv_nsec;
    print_message("idle: %d us of processor time in 300 ms\n", (int)(used_ns / 1000));
    assert_true(used_ns < 60 * 1000 * 1000);
}

static int child_of_fork(void)
{
    struct rp_kfd_version version = {0};
    if (rp_device_get())
        return 1; /* the parent's device is not the child's */
    int fd = rp_device_open(0, false, true);
    struct rp_device *own = rp_device_get();
    if (fd < 0 || !own || own->pid != getpid())
        return 2;
    return rp_kfd_ioctl(own, _IOR('K', 1, struct rp_kfd_version), &version) ? 3 : 0;
}

static void forked_child_starts_anew(void **state)
{
    (void)state;
    struct rp_device *d = test_device();
    struct gpu_page *page = rp_memory_translate(&d->memory, 0, page_va, sizeof *page, 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_of_fork());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ptr_equal(rp_device_get(), d);
    assert_ptr_equal(rp_memory_translate(&d->memory, 0, page_va, sizeof *page, 1), page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
        cmocka_unit_test(drm_identity),
        cmocka_unit_test(drm_answers),
        cmocka_unit_test(clock_pairs_have_slope_ten),
        cmocka_unit_test(short_arguments),
        cmocka_unit_test(queue_runs_to_its_event),
        cmocka_unit_test(unknown_gpus),
        cmocka_unit_test(idle_is_cheap),
        cmocka_unit_test(forked_child_starts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
