/* This is the program that `rocm-perf doctor --selftest` and `rocm-perf bench` profile. It links no
 * ROCm, so that it can be built without one: it loads the HIP library that it is told, and declares
 * the few functions that it calls. */
#include <ctype.h>
#include <dlfcn.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TO_DEVICE = 1, TO_HOST = 2, BLOCK = 256 };

typedef void *handle;

/* What is used of HIP 7: X(return type, name, arguments). */
#define HIP_FUNCTIONS                                                                              \
    X(int, hipMalloc, (void **, size_t))                                                           \
    X(int, hipMemcpy, (void *, const void *, size_t, int))                                         \
    X(int, hipMemset, (void *, int, size_t))                                                       \
    X(int, hipModuleLoad, (handle *, const char *))                                                \
    X(int, hipModuleGetFunction, (handle *, handle, const char *))                                 \
    X(int, hipModuleLaunchKernel,                                                                  \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,       \
       void **, void **))                                                                          \
    X(int, hipStreamCreate, (handle *))                                                            \
    X(int, hipStreamWaitEvent, (handle, handle, unsigned))                                         \
    X(int, hipEventCreate, (handle *))                                                             \
    X(int, hipEventRecord, (handle, handle))                                                       \
    X(int, hipEventSynchronize, (handle))                                                          \
    X(int, hipEventElapsedTime, (float *, handle, handle))                                         \
    X(int, hipDeviceSynchronize, (void))                                                           \
    X(int, hipGetDeviceCount, (int *))                                                             \
    X(int, hipSetDevice, (int))                                                                    \
    X(int, hipDeviceGetPCIBusId, (char *, int, int))                                               \
    X(int, hipFree, (void *))                                                                      \
    X(int, hipHostMalloc, (void **, size_t, unsigned))                                             \
    X(int, hipHostFree, (void *))                                                                  \
    X(int, hipMemcpyPeer, (void *, int, const void *, int, size_t))                                \
    X(const char *, hipGetErrorName, (int))

/* Of hipRTC, which compiles where there is no compiler. */
#define HIPRTC_FUNCTIONS                                                                           \
    X(int, hiprtcCreateProgram,                                                                    \
      (handle *, const char *, const char *, int, const char *const *, const char *const *))       \
    X(int, hiprtcCompileProgram, (handle, int, const char *const *))                               \
    X(int, hiprtcGetProgramLogSize, (handle, size_t *))                                            \
    X(int, hiprtcGetProgramLog, (handle, char *))                                                  \
    X(int, hiprtcGetCodeSize, (handle, size_t *))                                                  \
    X(int, hiprtcGetCode, (handle, char *))

static struct {
#define X(type, name, arguments) type(*name) arguments;
    HIP_FUNCTIONS
    HIPRTC_FUNCTIONS
#undef X
} hip;

static handle module;
static FILE *result; /**< the file with what was found, one name and value a line */

static _Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void die(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("selftest: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static void *need(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        die("the library has no %s", name);
    return symbol;
}

static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

    if (!library)
        die("%s", dlerror());
    return library;
}

#define X(type, name, arguments)                                                                   \
    symbol = need(library, #name);                                                                 \
    memcpy(&hip.name, &symbol, sizeof symbol);
static void load_hip(const char *path)
{
    void *library = load(path), *symbol;

    HIP_FUNCTIONS
}

static void load_hiprtc(const char *path)
{
    void *library = load(path), *symbol;

    HIPRTC_FUNCTIONS
}
#undef X

static void check(int status, const char *what)
{
    if (status)
        die("%s: %s", what, hip.hipGetErrorName(status));
}
#define CHECK(call, ...) check(hip.call(__VA_ARGS__), #call)

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *host_memory(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (!memory)
        die("memory has ended");
    return memory;
}

static void *device_memory(size_t bytes)
{
    void *memory = NULL;

    CHECK(hipMalloc, &memory, bytes);
    return memory;
}

static handle kernel_named(const char *name)
{
    handle kernel = NULL;

    CHECK(hipModuleGetFunction, &kernel, module, name);
    return kernel;
}

static void launch(handle kernel, unsigned blocks, handle stream, void **args)
{
    CHECK(hipModuleLaunchKernel, kernel, blocks, 1, 1, BLOCK, 1, 1, 0, stream, args, NULL);
}

static void put_value(const char *name, double value)
{
    fprintf(result, "%s %.17g\n", name, value);
}

/* --- known: launches, copies, a dependency between two streams ------------------------------ */

struct known {
    unsigned blocks, rounds, launches;
    size_t count, bytes; /**< work-items; bytes of their numbers */
    float *host, *in, *out, *last;
    handle kernel, after, streams[2], begin, end, produced;
};

static void known_prepare(struct known *k)
{
    k->count = (size_t)k->blocks * BLOCK;
    k->bytes = k->count * sizeof(float);
    k->host = host_memory(k->bytes);
    k->in = device_memory(k->bytes);
    k->out = device_memory(k->bytes);
    k->last = device_memory(k->bytes);
    k->kernel = kernel_named("selftest_known");
    k->after = kernel_named("selftest_after");
    CHECK(hipStreamCreate, &k->streams[0]);
    CHECK(hipStreamCreate, &k->streams[1]);
    CHECK(hipEventCreate, &k->begin);
    CHECK(hipEventCreate, &k->end);
    CHECK(hipEventCreate, &k->produced);
    for (size_t i = 0; i < k->count; i++)
        k->host[i] = (float)(i % 1000);
    CHECK(hipMemcpy, k->in, k->host, k->bytes, TO_DEVICE);
}

/* Times each launch by events and by the host, which waits for it. */
static void known_launches(struct known *k)
{
    void *args[] = {&k->out, &k->in, &k->rounds};

    for (unsigned i = 0; i < k->launches; i++) {
        const int64_t begin_ns = clock_ns(CLOCK_BOOTTIME);
        float event_ms = 0;

        CHECK(hipEventRecord, k->begin, k->streams[0]);
        launch(k->kernel, k->blocks, k->streams[0], args);
        CHECK(hipEventRecord, k->end, k->streams[0]);
        CHECK(hipEventSynchronize, k->end);
        const int64_t end_ns = clock_ns(CLOCK_BOOTTIME);
        CHECK(hipEventElapsedTime, &event_ms, k->begin, k->end);
        fprintf(result, "launch %.17g %lld %lld\n", (double)event_ms, (long long)begin_ns,
                (long long)end_ns);
    }
}

/* A kernel of the second stream waits for one of the first. */
static void known_streams(struct known *k)
{
    void *first[] = {&k->out, &k->in, &k->rounds}, *second[] = {&k->last, &k->out};

    CHECK(hipMemset, k->out, 0, k->bytes);
    CHECK(hipDeviceSynchronize);
    launch(k->kernel, k->blocks, k->streams[0], first);
    CHECK(hipEventRecord, k->produced, k->streams[0]);
    CHECK(hipStreamWaitEvent, k->streams[1], k->produced, 0);
    launch(k->after, k->blocks, k->streams[1], second);
    CHECK(hipDeviceSynchronize);
}

static void known_check(struct known *k)
{
    size_t wrong = 0;

    CHECK(hipMemcpy, k->host, k->last, k->bytes, TO_HOST);
    for (size_t i = 0; i < k->count; i++)
        wrong += k->host[i] != (float)((i ^ 1) % 1000) + 1.0f;
    put_value("wrong", (double)wrong);
    put_value("numbers", (double)k->count);
}

static unsigned number(char **args, unsigned at)
{
    char *end;
    const unsigned long value = args[at] ? strtoul(args[at], &end, 10) : 0;

    if (!args[at] || *end || value > UINT32_MAX)
        die("argument %u is no number", at);
    return (unsigned)value;
}

static void run_known(char **args)
{
    struct known k = {
        .blocks = number(args, 0), .rounds = number(args, 1), .launches = number(args, 2)};

    known_prepare(&k);
    known_launches(&k);
    known_streams(&k);
    known_check(&k);
}

/* --- change: memory for a capture ----------------------------------------------------------- */

static void run_change(char **args)
{
    unsigned blocks = number(args, 0), times = 3;
    const size_t count = (size_t)blocks * BLOCK;
    uint32_t *host = host_memory(count * sizeof *host);
    uint32_t *memory = device_memory(count * sizeof *memory);
    void *arguments[] = {&memory, &times};
    size_t wrong = 0;

    for (size_t i = 0; i < count; i++)
        host[i] = (uint32_t)i * 7 + 1;
    CHECK(hipMemcpy, memory, host, count * sizeof *host, TO_DEVICE);
    launch(kernel_named("selftest_change"), blocks, NULL, arguments);
    CHECK(hipMemcpy, host, memory, count * sizeof *host, TO_HOST);
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != ((uint32_t)i * 7 + 1) * 3 + (uint32_t)i;
    put_value("wrong", (double)wrong);
    fprintf(result, "memory %llu\n", (unsigned long long)(uintptr_t)memory);
}

/* --- rates: kernels whose work is known, timed by events ------------------------------------ */

struct rate {
    unsigned blocks;
    handle begin, end;
};

/* Says the shortest time of the launches in ms. The first one is not timed: it loads the code. */
static void rate_of(struct rate *rate, const char *name, unsigned launches, void **args)
{
    handle kernel = kernel_named(name);
    float best_ms = 0;

    for (unsigned i = 0; i <= launches; i++) {
        float ms = 0;

        CHECK(hipEventRecord, rate->begin, NULL);
        launch(kernel, rate->blocks, NULL, args);
        CHECK(hipEventRecord, rate->end, NULL);
        CHECK(hipEventSynchronize, rate->end);
        CHECK(hipEventElapsedTime, &ms, rate->begin, rate->end);
        if (i && (i == 1 || ms < best_ms))
            best_ms = ms;
    }
    put_value(name, (double)best_ms);
}

static void expect(const float *device, size_t count, float value)
{
    float got[4] = {0};
    size_t wrong = 0;

    for (unsigned i = 0; i < 4; i++)
        CHECK(hipMemcpy, &got[i], device + (count - 1) * i / 3, sizeof *got, TO_HOST);
    for (unsigned i = 0; i < 4; i++)
        wrong += got[i] != value;
    put_value("wrong", (double)wrong);
}

static float *ones(size_t count)
{
    float *host = host_memory(count * sizeof *host);
    float *device = device_memory(count * sizeof *device);

    for (size_t i = 0; i < count; i++)
        host[i] = 1;
    CHECK(hipMemcpy, device, host, count * sizeof *host, TO_DEVICE);
    free(host);
    return device;
}

static void rate_copy(struct rate *rate, unsigned megabytes, unsigned launches)
{
    const size_t count = (size_t)megabytes << 18;
    struct rate copy = *rate;
    float *from = ones(count), *to = device_memory(count * sizeof *to);
    void *args[] = {&to, &from};

    copy.blocks = (unsigned)(count / 4 / BLOCK);
    rate_of(&copy, "selftest_copy", launches, args);
    expect(to, count, 1);
}

/* args: blocks, launches, MiB of the copy, rounds in L2, in LDS, of FMA, of matrix products (0:
 * none) */
static void run_rates(char **args)
{
    struct rate rate = {.blocks = number(args, 0)};
    const unsigned launches = number(args, 1);
    unsigned rounds[] = {number(args, 3), number(args, 4), number(args, 5), number(args, 6)};
    const size_t count = (size_t)rate.blocks * BLOCK;
    float *from = ones((1 << 20) / sizeof *from), *out = device_memory(count * 16);
    void *cache[] = {&out, &from, &rounds[0]}, *lds[] = {&out, &rounds[1]},
         *fma[] = {&out, &rounds[2]}, *matrix[] = {&out, &rounds[3]};

    CHECK(hipEventCreate, &rate.begin);
    CHECK(hipEventCreate, &rate.end);
    rate_copy(&rate, number(args, 2), launches);
    rate_of(&rate, "selftest_cache", launches, cache);
    expect(out, count * 4, (float)rounds[0] * 8);
    rate_of(&rate, "selftest_lds", launches, lds);
    expect(out, 1, (float)rounds[1] * 8);
    rate_of(&rate, "selftest_fma", launches, fma);
    expect(out, 1, 28);
    if (!rounds[3])
        return;
    rate_of(&rate, "selftest_matrix", launches, matrix);
    expect(out, count, (float)rounds[3] * 56);
}

/* --- counted: one launch each of kernels whose counts are known ------------------------------ */

/* args: blocks and rounds of the known kernel, MiB of the copy, rounds of matrix products (0: none)
 */
static void run_counted(char **args)
{
    struct known k = {.blocks = number(args, 0), .rounds = number(args, 1)};
    const size_t count = (size_t)number(args, 2) << 18;
    unsigned rounds = number(args, 3);

    known_prepare(&k);
    float *from = ones(count), *to = device_memory(count * sizeof *to);
    void *known[] = {&k.out, &k.in, &k.rounds}, *copy[] = {&to, &from},
         *matrix[] = {&k.out, &rounds};
    launch(k.kernel, k.blocks, NULL, known);
    launch(kernel_named("selftest_copy"), (unsigned)(count / 4 / BLOCK), NULL, copy);
    if (rounds)
        launch(kernel_named("selftest_matrix"), k.blocks, NULL, matrix);
    CHECK(hipDeviceSynchronize);
    expect(to, count, 1);
}

/* --- overlap: the same small kernel on several streams -------------------------------------- */

/* args: blocks, rounds, streams */
static void run_overlap(char **args)
{
    enum { MOST = 16 };
    struct known k = {.blocks = number(args, 0), .rounds = number(args, 1)};
    const unsigned count = number(args, 2);
    handle streams[MOST];
    float *outs[MOST];

    if (count > MOST)
        die("there are more than %d streams", MOST);
    known_prepare(&k);
    for (unsigned i = 0; i < count; i++) {
        void *args_of[] = {&outs[i], &k.in, &k.rounds};

        CHECK(hipStreamCreate, &streams[i]);
        outs[i] = device_memory(k.bytes);
        launch(k.kernel, k.blocks, streams[i],
               args_of); /* Each stream has its queue from here on. */
    }
    CHECK(hipDeviceSynchronize);
    for (unsigned i = 0; i < count; i++) {
        void *args_of[] = {&outs[i], &k.in, &k.rounds};

        launch(k.kernel, k.blocks, streams[i], args_of);
    }
    CHECK(hipDeviceSynchronize);
}

/* --- approximate: results of approximations, bit by bit ------------------------------------- */

static float spread(size_t i, size_t count)
{
    const uint32_t step = UINT32_C(0x7f7fffff) / (uint32_t)count,
                   bits = (uint32_t)i * step + step / 2;
    float value;

    memcpy(&value, &bits, sizeof value); /* Every size of number, small and large ones alike. */
    return value;
}

static void run_approximate(char **args)
{
    enum { FUNCTIONS = 7 };
    const char *path = args[1];
    unsigned blocks = number(args, 0), count = blocks * BLOCK;
    float *host = host_memory(FUNCTIONS * count * sizeof *host);
    float *in = device_memory(count * sizeof *in),
          *out = device_memory(FUNCTIONS * count * sizeof *out);
    void *arguments[] = {&out, &in, &count};
    FILE *file = path ? fopen(path, "wb") : NULL;

    for (size_t i = 0; i < count; i++)
        host[i] = spread(i, count);
    CHECK(hipMemcpy, in, host, count * sizeof *host, TO_DEVICE);
    launch(kernel_named("selftest_approximate"), blocks, NULL, arguments);
    CHECK(hipMemcpy, host, out, FUNCTIONS * count * sizeof *host, TO_HOST);
    if (!file || fwrite(host, sizeof *host, FUNCTIONS * count, file) != FUNCTIONS * count ||
        fclose(file) != 0)
        die("cannot write the results");
    put_value("numbers", FUNCTIONS * (double)count);
}

/* --- compile, with hipRTC ------------------------------------------------------------------- */

static char *read_source(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = host_memory(1 << 20);

    if (!file || fread(text, 1, (1 << 20) - 1, file) == 0)
        die("cannot read %s", path);
    fclose(file);
    return text;
}

static void write_code(handle program, const char *path)
{
    size_t bytes = 0;
    FILE *file = fopen(path, "wb");

    if (hip.hiprtcGetCodeSize(program, &bytes) || !bytes || !file)
        die("cannot write %s", path);
    char *code = host_memory(bytes);
    if (hip.hiprtcGetCode(program, code) || fwrite(code, 1, bytes, file) != bytes ||
        fclose(file) != 0)
        die("cannot write %s", path);
}

static void print_log(handle program)
{
    size_t bytes = 0;

    if (hip.hiprtcGetProgramLogSize(program, &bytes) || !bytes)
        return;
    char *text = host_memory(bytes + 1);
    if (!hip.hiprtcGetProgramLog(program, text))
        fputs(text, stderr);
}

/* args: source, code object, "--offload-arch=gfx942" */
static void run_compile(char **args)
{
    const char *options[] = {args[2], "-O3", "-g"};
    char *source = read_source(args[0]);
    handle program = NULL;
    int status = hip.hiprtcCreateProgram(&program, source, args[0], 0, NULL, NULL);

    if (!status)
        status = hip.hiprtcCompileProgram(program, 3, options);
    if (status) {
        print_log(program);
        die("hipRTC ends with status %d", status);
    }
    write_code(program, args[1]);
}

/* --- bench: launches and copies of a plan, which a tracer times ------------------------------ */

enum { BENCH_PLACES = 2 };

struct bench {
    void *places[BENCH_PLACES]; /**< the first arguments of every kernel */
    int gpus;
};

static void bench_place(struct bench *b, unsigned at, size_t bytes)
{
    if (b->places[at])
        CHECK(hipFree, b->places[at]);
    b->places[at] = device_memory(bytes);
}

static void bench_launch(struct bench *b, const char *name, unsigned blocks, unsigned threads,
                         unsigned times, unsigned rounds)
{
    void *args[] = {&b->places[0], &b->places[1], &times, &rounds};
    handle kernel = NULL;

    if (hip.hipModuleGetFunction(&kernel, module, name)) /* Not every GPU has all instructions. */
        return;
    CHECK(hipModuleLaunchKernel, kernel, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
}

static void bench_copy(const struct bench *b, const char *way, size_t bytes)
{
    const bool peer = strcmp(way, "peer") == 0;
    void *here, *there = NULL;

    if (peer && b->gpus < 2)
        return;
    here = device_memory(bytes);
    if (peer) {
        CHECK(hipSetDevice, 1);
        there = device_memory(bytes);
        CHECK(hipMemcpyPeer, there, 1, here, 0, bytes);
        CHECK(hipDeviceSynchronize);
        CHECK(hipFree, there);
        CHECK(hipSetDevice, 0);
    } else {
        CHECK(hipHostMalloc, &there, bytes, 0);
        memset(there, 1, bytes);
        if (strcmp(way, "in") == 0)
            CHECK(hipMemcpy, here, there, bytes, TO_DEVICE);
        else
            CHECK(hipMemcpy, there, here, bytes, TO_HOST);
        CHECK(hipHostFree, there);
    }
    CHECK(hipFree, here);
}

/* A number of one of the GPU's sensors, as hwmon has it; -1: the driver does not say. */
static double bench_sensor(const char *folder, const char *name)
{
    long long value = -1;
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (file && fscanf(file, "%lld", &value) != 1)
        value = -1;
    if (file)
        fclose(file);
    return (double)value;
}

/* Clock, power and temperature of the first GPU while it works. */
static void bench_state(const char *of)
{
    char bus[64] = "", pattern[128];
    glob_t found = {0};

    if (hip.hipDeviceGetPCIBusId(bus, sizeof bus, 0))
        return;
    for (char *c = bus; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    snprintf(pattern, sizeof pattern, "/sys/bus/pci/devices/%s/hwmon/hwmon*", bus);
    if (glob(pattern, 0, NULL, &found) == 0) {
        const char *folder = found.gl_pathv[0];
        const double average = bench_sensor(folder, "power1_average");

        fprintf(result, "state %s %.0f %.0f %.0f\n", of, bench_sensor(folder, "freq1_input"),
                average >= 0 ? average : bench_sensor(folder, "power1_input"),
                bench_sensor(folder, "temp1_input"));
    }
    globfree(&found);
}

static void bench_line(struct bench *b, const char *line)
{
    unsigned numbers[4];
    unsigned long long bytes;
    char name[64];

    if (sscanf(line, "launch %63s %u %u %u %u", name, &numbers[0], &numbers[1], &numbers[2],
               &numbers[3]) == 5)
        bench_launch(b, name, numbers[0], numbers[1], numbers[2], numbers[3]);
    else if (sscanf(line, "place %u %llu", &numbers[0], &bytes) == 2 && numbers[0] < BENCH_PLACES)
        bench_place(b, numbers[0], bytes);
    else if (sscanf(line, "copy %63s %llu", name, &bytes) == 2)
        bench_copy(b, name, bytes);
    else if (sscanf(line, "state %63s", name) == 1)
        bench_state(name);
    else if (strcmp(line, "wait\n") == 0)
        CHECK(hipDeviceSynchronize);
    else
        die("the plan has a line that says nothing: %s", line);
}

/* args: the file with the plan */
static void run_bench(char **args)
{
    FILE *plan = args[0] ? fopen(args[0], "r") : NULL;
    struct bench b = {0};
    char line[256];

    if (!plan)
        die("cannot read the plan");
    CHECK(hipGetDeviceCount, &b.gpus);
    while (fgets(line, sizeof line, plan))
        bench_line(&b, line);
    CHECK(hipDeviceSynchronize);
    fclose(plan);
}

static const struct {
    const char *name;
    void (*run)(char **args);
} modes[] = {
    {"known", run_known},     {"change", run_change},   {"rates", run_rates},
    {"counted", run_counted}, {"overlap", run_overlap}, {"approximate", run_approximate},
    {"bench", run_bench},
};

/* LIBRARY compile SOURCE CODE OPTION; LIBRARY MODE CODE RESULT NUMBERS... */
int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[2], "compile") == 0) {
        load_hiprtc(argv[1]);
        run_compile(argv + 3);
        return 0;
    }
    for (size_t i = 0; argc > 5 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[2], modes[i].name) != 0)
            continue;
        load_hip(argv[1]);
        CHECK(hipModuleLoad, &module, argv[3]);
        result = fopen(argv[4], "w");
        if (!result)
            die("cannot write %s", argv[4]);
        modes[i].run(argv + 5);
        return fclose(result) == 0 ? 0 : 1;
    }
    die("rocm-perf doctor --selftest and rocm-perf bench start this program");
}
