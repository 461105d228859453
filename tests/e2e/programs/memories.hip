// Programs whose memory around one dispatch is known: each mode fills memory of some class, runs
// kernel `target` and writes to standard output what every buffer held before and holds after, as
//     before|after ADDRESS BYTES FILE
// with the bytes in FILE. They are made by the host (before) and copied back or computed (after),
// never by what captures them.
#include <hip/hip_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(e_));  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static std::string folder;
static int files;

static void tell(const char *state, const void *address, const void *bytes, size_t count)
{
    std::string path = folder + "/" + std::to_string(files++);
    FILE *file = fopen(path.c_str(), "wb");

    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
        exit(1);
    printf("%s %p %zu %s\n", state, address, count, path.c_str());
}

static std::vector<uint32_t> numbers(size_t count, uint32_t seed)
{
    std::vector<uint32_t> v(count);

    for (auto &x : v)
        x = seed = seed * 1664525 + 1013904223;
    return v;
}

static size_t size(const std::vector<uint32_t> &v)
{
    return v.size() * sizeof v[0];
}

__global__ void target_scale(const uint32_t *in, uint32_t *out, uint32_t by, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = in[i] * by + 1;
}

static std::vector<uint32_t> scaled(std::vector<uint32_t> v, uint32_t by)
{
    for (auto &x : v)
        x = x * by + 1;
    return v;
}

static void launch_scale(const uint32_t *in, uint32_t *out, uint32_t n, hipStream_t stream = 0)
{
    target_scale<<<(n + 255) / 256, 256, 0, stream>>>(in, out, 3, n);
    CHECK(hipGetLastError());
}

// --- modes ---------------------------------------------------------------------------------

static void arith()
{
    const uint32_t n = 100003;
    auto in = numbers(n, 1), junk = numbers(n, 2);
    uint32_t *a, *b;

    CHECK(hipMalloc(&a, size(in)));
    CHECK(hipMalloc(&b, size(in)));
    CHECK(hipMemcpy(a, in.data(), size(in), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, junk.data(), size(in), hipMemcpyHostToDevice));
    launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b, junk.data(), size(in));
    tell("after", a, in.data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
}

// Memory of the GPU that it keeps coherent with others, and of the host that it may cache.
static void fine()
{
    const uint32_t n = 20011;
    auto in = numbers(n, 21), junk = numbers(n, 22);
    uint32_t *a, *b;

    CHECK(hipHostMalloc((void **)&a, size(in), hipHostMallocNonCoherent));
    CHECK(hipExtMallocWithFlags((void **)&b, size(in), hipDeviceMallocFinegrained));
    memcpy(a, in.data(), size(in));
    CHECK(hipMemcpy(b, junk.data(), size(in), hipMemcpyHostToDevice));
    launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b, junk.data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
}

// Memory of another GPU. The kernel runs on the second one.
static void peer()
{
    const uint32_t n = 20021;
    auto in = numbers(n, 23), junk = numbers(n, 24);
    uint32_t *a, *b;

    CHECK(hipSetDevice(0));
    CHECK(hipMalloc(&a, size(in)));
    CHECK(hipMemcpy(a, in.data(), size(in), hipMemcpyHostToDevice));
    CHECK(hipSetDevice(1));
    CHECK(hipDeviceEnablePeerAccess(0, 0));
    CHECK(hipMalloc(&b, size(in)));
    CHECK(hipMemcpy(b, junk.data(), size(in), hipMemcpyHostToDevice));
    launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b, junk.data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
}

struct node {
    node *next;
    uint64_t value;
};

__global__ void target_chase(node *list, uint64_t *sum)
{
    *sum = 0;
    for (; list; list = list->next)
        *sum += list->value++;
}

static void chase()
{
    const size_t n = 1000;
    node *half[2];
    uint64_t *sum, total = 0, zero = 77;
    std::vector<node> host[2] = {std::vector<node>(n), std::vector<node>(n)};

    for (auto &h : half)
        CHECK(hipMalloc(&h, n * sizeof(node)));
    CHECK(hipMalloc(&sum, sizeof *sum));
    for (size_t i = 0; i < 2 * n; i++) { // it goes to and fro between the two
        size_t k = i / 2 * 7 % n, next = (i + 1) / 2 * 7 % n;

        host[i % 2][k] = {i + 1 == 2 * n ? nullptr : half[(i + 1) % 2] + next, i * i};
        total += i * i;
    }
    for (int h = 0; h < 2; h++)
        CHECK(hipMemcpy(half[h], host[h].data(), n * sizeof(node), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(sum, &zero, sizeof zero, hipMemcpyHostToDevice));
    target_chase<<<1, 1>>>(half[0], sum);
    CHECK(hipDeviceSynchronize());
    tell("before", sum, &zero, sizeof zero);
    tell("after", sum, &total, sizeof total);
    for (int h = 0; h < 2; h++) {
        tell("before", half[h], host[h].data(), n * sizeof(node));
        for (auto &x : host[h])
            x.value++;
        tell("after", half[h], host[h].data(), n * sizeof(node));
    }
}

__global__ void target_histogram(const uint32_t *in, uint32_t *bins, uint32_t n)
{
    extern __shared__ uint32_t local[];
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    for (uint32_t b = threadIdx.x; b < 256; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    if (i < n)
        atomicAdd(&local[in[i] >> 24], 1);
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < 256; b += blockDim.x)
        atomicAdd(&bins[b], local[b]);
}

// In place: earlier dispatches of the same kernel have left counts. The third one is wanted.
static void histogram()
{
    const uint32_t n = 5000;
    auto in = numbers(n, 4);
    std::vector<uint32_t> bins(256);
    uint32_t *a, *b;

    CHECK(hipMalloc(&a, size(in)));
    CHECK(hipMalloc(&b, size(bins)));
    CHECK(hipMemcpy(a, in.data(), size(in), hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, size(bins)));
    for (int i = 0; i < 5; i++)
        target_histogram<<<(n + 127) / 128, 128, 1024>>>(a, b, n);
    CHECK(hipDeviceSynchronize());
    for (uint32_t x : in)
        bins[x >> 24] += 2;
    tell("before", b, bins.data(), size(bins));
    for (uint32_t x : in)
        bins[x >> 24]++;
    tell("after", b, bins.data(), size(bins));
}

__device__ uint32_t variable[1000];
__constant__ uint32_t constant[64];

__global__ void target_variable()
{
    uint32_t i = threadIdx.x;

    variable[i] = variable[i] * 2 + constant[i % 64];
}

static void variables()
{
    auto v = numbers(1000, 5), c = numbers(64, 6);
    void *v_at, *c_at;

    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), v.data(), size(v)));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(constant), c.data(), size(c)));
    CHECK(hipGetSymbolAddress(&v_at, HIP_SYMBOL(variable)));
    CHECK(hipGetSymbolAddress(&c_at, HIP_SYMBOL(constant)));
    target_variable<<<1, 1000>>>();
    CHECK(hipDeviceSynchronize());
    tell("before", v_at, v.data(), size(v));
    tell("before", c_at, c.data(), size(c));
    for (size_t i = 0; i < 1000; i++)
        v[i] = v[i] * 2 + c[i % 64];
    tell("after", v_at, v.data(), size(v));
}

static void managed()
{
    const uint32_t n = 50000;
    auto in = numbers(n, 7);
    uint32_t *a, *b;

    CHECK(hipMallocManaged(&a, size(in)));
    CHECK(hipMallocManaged(&b, size(in)));
    memcpy(a, in.data(), size(in));
    memset(b, 9, size(in));
    auto before = std::vector<uint32_t>(b, b + n);
    launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b, before.data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
}

// Two pieces mapped behind a hole; the kernel reads one and writes the other.
static void mapped()
{
    hipMemAllocationProp what = {};
    hipMemAccessDesc access = {};
    hipMemGenericAllocationHandle_t handle[2];
    size_t granule;
    char *base;

    what.type = hipMemAllocationTypePinned;
    what.location = {.type = hipMemLocationTypeDevice, .id = 0};
    access = {.location = what.location, .flags = hipMemAccessFlagsProtReadWrite};
    CHECK(hipMemGetAllocationGranularity(&granule, &what, hipMemAllocationGranularityRecommended));
    CHECK(hipMemAddressReserve((void **)&base, 8 * granule, 0, nullptr, 0));
    for (int i = 0; i < 2; i++) {
        char *at = base + (i ? 5 : 2) * granule;

        CHECK(hipMemCreate(&handle[i], granule, &what, 0));
        CHECK(hipMemMap(at, granule, 0, handle[i], 0));
        CHECK(hipMemSetAccess(at, granule, &access, 1));
    }
    auto in = numbers(granule / 4, 8);
    uint32_t *a = (uint32_t *)(base + 2 * granule), *b = (uint32_t *)(base + 5 * granule);

    CHECK(hipMemcpy(a, in.data(), granule, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, granule));
    launch_scale(a, b, granule / 4);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), granule);
    tell("before", b, std::vector<uint32_t>(granule / 4).data(), granule);
    tell("after", b, scaled(in, 3).data(), granule);
    for (int i = 0; i < 2; i++) {
        CHECK(hipMemUnmap(base + (i ? 5 : 2) * granule, granule));
        CHECK(hipMemRelease(handle[i]));
    }
    CHECK(hipMemAddressFree(base, 8 * granule));
}

static void async()
{
    const uint32_t n = 70000;
    auto in = numbers(n, 10);
    hipStream_t stream;
    uint32_t *a, *b, *gone;

    CHECK(hipStreamCreate(&stream));
    CHECK(hipMallocAsync((void **)&gone, size(in), stream));
    CHECK(hipMallocAsync((void **)&a, size(in), stream));
    CHECK(hipFreeAsync(gone, stream));
    CHECK(hipMallocAsync((void **)&b, size(in), stream));
    CHECK(hipMemcpyAsync(a, in.data(), size(in), hipMemcpyHostToDevice, stream));
    CHECK(hipMemsetAsync(b, 1, size(in), stream));
    launch_scale(a, b, n, stream);
    CHECK(hipStreamSynchronize(stream));
    tell("before", a, in.data(), size(in));
    tell("before", b, std::vector<uint32_t>(n, 0x01010101).data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
}

// Memory of the host that the GPU writes: allocated, and registered at an odd address.
static void host()
{
    const uint32_t n = 30000;
    auto in = numbers(n, 11);
    uint32_t *a, *b, *b_on_gpu;
    char *pages = (char *)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    b = (uint32_t *)(pages + 4096 + 64);
    CHECK(hipHostMalloc((void **)&a, size(in)));
    memcpy(a, in.data(), size(in));
    memset(b, 3, size(in));
    auto before = std::vector<uint32_t>(b, b + n);
    CHECK(hipHostRegister(b, size(in), hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer((void **)&b_on_gpu, b, 0));
    launch_scale(a, b_on_gpu, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b_on_gpu, before.data(), size(in));
    tell("after", b_on_gpu, scaled(in, 3).data(), size(in));
}

__global__ void other(uint32_t *at, uint32_t n)
{
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        at[i]++;
}

// Other streams and threads keep writing their own memory, also by copies, all the time: whatever
// state it has in the capture, before and after are the same, as only the dispatch ran between.
static void streams()
{
    const uint32_t n = 20000;
    auto in = numbers(n, 12);
    std::vector<std::thread> threads;
    uint32_t *a, *b, *noise[3];

    CHECK(hipMalloc(&a, size(in)));
    CHECK(hipMalloc(&b, size(in)));
    CHECK(hipMemcpy(a, in.data(), size(in), hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, size(in)));
    CHECK(hipDeviceSynchronize());
    for (auto &x : noise) {
        CHECK(hipMalloc(&x, 1 << 16));
        CHECK(hipMemset(x, 0, 1 << 16));
    }
    CHECK(hipDeviceSynchronize()); // The streams below do not wait for the default one.
    for (int t = 0; t < 3; t++)
        threads.emplace_back([=] {
            std::vector<uint32_t> here(1 << 14);
            hipStream_t stream;

            CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
            for (int i = 0; i < 30; i++) {
                other<<<1, 64, 0, stream>>>(noise[t], 1 << 14);
                CHECK(hipMemcpyAsync(here.data(), noise[t], 1 << 16, hipMemcpyDeviceToHost, stream));
                if (i % 4 == 0)
                    CHECK(hipStreamSynchronize(stream));
            }
            CHECK(hipStreamSynchronize(stream));
            for (uint32_t x : here)
                if (x != 30)
                    exit(3);
        });
    usleep(20000);
    for (int i = 0; i < 4; i++)
        launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    for (auto &t : threads)
        t.join();
    tell("before", a, in.data(), size(in));
    tell("before", b, scaled(in, 3).data(), size(in)); // the second dispatch is wanted
    tell("after", b, scaled(in, 3).data(), size(in));
    for (auto x : noise)
        printf("same %p %d\n", (void *)x, 1 << 16);
}

__global__ void target_print(uint32_t *out)
{
    out[threadIdx.x] = 5;
    printf("thread %d\n", (int)threadIdx.x);
}

static void print()
{
    uint32_t *b;

    CHECK(hipMalloc(&b, 256));
    CHECK(hipMemset(b, 0, 256));
    target_print<<<1, 64>>>(b);
    CHECK(hipDeviceSynchronize());
    tell("before", b, std::vector<uint32_t>(64).data(), 256);
    tell("after", b, std::vector<uint32_t>(64, 5).data(), 256);
}

using half4 = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
using float4_ = __attribute__((__vector_size__(4 * sizeof(float)))) float;

// c += a * b, a wave for each tile of 16 x 16: lane L has row (or column) L % 16 and four of k at
// L / 16 * 4 of its operands, and four rows at L / 16 * 4 of the result.
__global__ void target_gemm(const _Float16 *a, const _Float16 *b, float *c, int n)
{
    const int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
    const int quarter = lane / 16 * 4;
    float4_ sum;

    for (int i = 0; i < 4; i++)
        sum[i] = c[(row + quarter + i) * n + col + lane % 16];
    for (int k = 0; k < n; k += 16) {
        half4 x, y;

        for (int i = 0; i < 4; i++) {
            x[i] = a[(row + lane % 16) * n + k + quarter + i];
            y[i] = b[(k + quarter + i) * n + col + lane % 16];
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
    }
    for (int i = 0; i < 4; i++)
        c[(row + quarter + i) * n + col + lane % 16] = sum[i];
}

// Small whole numbers: sums are exact in whatever order. The second of three is wanted.
static void gemm()
{
    const int n = 64;
    std::vector<_Float16> a(n * n), b(n * n);
    std::vector<float> product(n * n), c(n * n);
    _Float16 *a_at, *b_at;
    float *c_at;

    for (int i = 0; i < n * n; i++) {
        a[i] = (_Float16)(i * 7 % 11 - 5);
        b[i] = (_Float16)(i * 5 % 13 - 6);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                product[i * n + j] += (float)a[i * n + k] * (float)b[k * n + j];
    CHECK(hipMalloc(&a_at, n * n * 2));
    CHECK(hipMalloc(&b_at, n * n * 2));
    CHECK(hipMalloc(&c_at, n * n * 4));
    CHECK(hipMemcpy(a_at, a.data(), n * n * 2, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b_at, b.data(), n * n * 2, hipMemcpyHostToDevice));
    CHECK(hipMemset(c_at, 0, n * n * 4));
    for (int i = 0; i < 3; i++)
        target_gemm<<<dim3(n / 16, n / 16), 64>>>(a_at, b_at, c_at, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a_at, a.data(), n * n * 2);
    tell("before", b_at, b.data(), n * n * 2);
    tell("before", c_at, product.data(), n * n * 4);
    for (float &x : product)
        x *= 2;
    tell("after", c_at, product.data(), n * n * 4);
}

// The kernel reads memory of another process and writes its own. The other one makes no dispatch.
static void attached()
{
    const uint32_t n = 5000;
    auto in = numbers(n, 13);
    hipIpcMemHandle_t handle;
    uint32_t *a, *b;
    int there[2], back[2];
    char end;

    if (pipe(there) || pipe(back))
        exit(1);
    if (fork() == 0) {
        CHECK(hipMalloc(&a, size(in)));
        CHECK(hipMemcpy(a, in.data(), size(in), hipMemcpyHostToDevice));
        CHECK(hipIpcGetMemHandle(&handle, a));
        if (write(there[1], &handle, sizeof handle) != sizeof handle || read(back[0], &end, 1) != 1)
            _exit(1);
        _exit(0);
    }
    if (read(there[0], &handle, sizeof handle) != sizeof handle)
        exit(1);
    CHECK(hipIpcOpenMemHandle((void **)&a, handle, hipIpcMemLazyEnablePeerAccess));
    CHECK(hipMalloc(&b, size(in)));
    CHECK(hipMemset(b, 0, size(in)));
    launch_scale(a, b, n);
    CHECK(hipDeviceSynchronize());
    tell("before", a, in.data(), size(in));
    tell("before", b, std::vector<uint32_t>(n).data(), size(in));
    tell("after", a, in.data(), size(in));
    tell("after", b, scaled(in, 3).data(), size(in));
    CHECK(hipIpcCloseMemHandle(a));
    if (write(back[1], "", 1) != 1)
        exit(1);
}

__global__ void target_shape(uint32_t *at, uint32_t rounds)
{
    uint32_t i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, x = at[i];

    for (uint32_t r = 0; r < rounds; r++)
        x = x * 1664525 + 1013904223;
    at[i] = x;
}

// Dispatches that differ in all that a selection may name.
static void shapes()
{
    hipStream_t streams[2];
    uint32_t *a;

    for (auto &s : streams)
        CHECK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    CHECK(hipMalloc(&a, 1 << 16));
    CHECK(hipMemset(a, 0, 1 << 16));
    CHECK(hipDeviceSynchronize());
    target_shape<<<4, 64>>>(a, 1);                        // 1
    target_shape<<<16, 64, 0, streams[0]>>>(a, 1);        // 2
    CHECK(hipDeviceSynchronize());
    target_shape<<<16, 64, 0, streams[1]>>>(a, 1);        // 3
    CHECK(hipDeviceSynchronize());
    target_shape<<<8, 128, 0, streams[0]>>>(a, 1);        // 4
    target_shape<<<8, 128, 0, streams[0]>>>(a, 20000);    // 5: the longest
    CHECK(hipDeviceSynchronize());
    target_shape<<<4, 64>>>(a, 2);                        // 6
    target_shape<<<dim3(8, 2), 64>>>(a, 1);               // 7
    target_shape<<<4, 64, 256>>>(a, 1);                   // 8: with LDS
    CHECK(hipDeviceSynchronize());
}

// Registered memory that goes without a word, and mapped memory from which access is taken away again.
static void gone()
{
    hipMemAllocationProp what = {};
    hipMemAccessDesc access = {};
    hipMemGenericAllocationHandle_t handle;
    size_t granule;
    char *base, *pages = (char *)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *a;

    CHECK(hipHostRegister(pages, 1 << 20, hipHostRegisterMapped));
    // In its middle nothing but a reservation, so that nothing else takes the place.
    if (mmap(pages + (256 << 10), 512 << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        exit(1);
    printf("registered %p\n", (void *)pages);
    what.type = hipMemAllocationTypePinned;
    what.location = {.type = hipMemLocationTypeDevice, .id = 0};
    CHECK(hipMemGetAllocationGranularity(&granule, &what, hipMemAllocationGranularityRecommended));
    CHECK(hipMemAddressReserve((void **)&base, granule, 0, nullptr, 0));
    CHECK(hipMemCreate(&handle, granule, &what, 0));
    CHECK(hipMemMap(base, granule, 0, handle, 0));
    access = {.location = what.location, .flags = hipMemAccessFlagsProtReadWrite};
    CHECK(hipMemSetAccess(base, granule, &access, 1));
    access.flags = hipMemAccessFlagsProtNone;
    CHECK(hipMemSetAccess(base, granule, &access, 1));
    printf("mapped %p\n", (void *)base);
    CHECK(hipMalloc(&a, 4096));
    launch_scale(a, a, 1024);
    CHECK(hipDeviceSynchronize());
}

__global__ void target_wait(volatile uint32_t *flag, uint32_t *out)
{
    while (*flag == 0)
        ;
    *out = 6;
}

// The kernel ends when the thread that launches it says so afterwards.
static void waits()
{
    uint32_t *flag, *out, result;

    CHECK(hipHostMalloc((void **)&flag, 4, hipHostMallocCoherent));
    CHECK(hipMalloc(&out, 4));
    *(volatile uint32_t *)flag = 0;
    target_wait<<<1, 1>>>(flag, out);
    CHECK(hipGetLastError());
    *(volatile uint32_t *)flag = 1;
    CHECK(hipMemcpy(&result, out, 4, hipMemcpyDeviceToHost));
    printf("result %u\n", result);
}

// A kernel before it in another queue does not end before the launching thread goes on.
static void busy()
{
    uint32_t *flag, *out, *a;
    hipStream_t stream;

    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    CHECK(hipHostMalloc((void **)&flag, 4, hipHostMallocCoherent));
    CHECK(hipMalloc(&out, 4));
    CHECK(hipMalloc(&a, 4096));
    *(volatile uint32_t *)flag = 0;
    target_wait<<<1, 1, 0, stream>>>(flag, out);
    launch_scale(a, a, 1024);
    *(volatile uint32_t *)flag = 1;
    CHECK(hipDeviceSynchronize());
    printf("went on\n");
}

// A page that is nobody's. The error is the program's own to see.
__global__ void target_fault(uint32_t *at)
{
    *at = 1;
}

static void fault()
{
    target_fault<<<1, 1>>>((uint32_t *)0x1234000);
    printf("error: %s\n", hipGetErrorName(hipDeviceSynchronize()));
    fflush(stdout);
    exit(1);
}

// Adds the same numbers in an order that the clock decides: near the same sum, and never quite.
// Behind the sums are keys, which as numbers are as large.
__global__ void target_turns(const float *in, float *sums, uint32_t n)
{
    uint32_t from = (uint32_t)(clock64() * 2654435761u >> 7) % n;
    float sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += in[(from + i + threadIdx.x * 7) % n];
    sums[threadIdx.x] = sum;
    ((uint32_t *)sums)[64 + threadIdx.x] = 0x45000000 + threadIdx.x * 12345;
}

// Whatever the clock says.
__global__ void target_clock(uint64_t *out)
{
    *out = (uint64_t)clock64() * 0x9e3779b97f4a7c15;
}

static void varying()
{
    std::vector<float> in(500);
    float *a, *b;

    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i * i % 101) / 7;
    CHECK(hipMalloc(&a, in.size() * 4));
    CHECK(hipMalloc(&b, 512));
    CHECK(hipMemcpy(a, in.data(), in.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemset(b, 0, 512));
    target_turns<<<1, 64>>>(a, b, 500);
    target_clock<<<1, 1>>>((uint64_t *)b);
    CHECK(hipDeviceSynchronize());
}

__device__ uint32_t copied[256];

// Copies what is wanted, the same each time, and counts.
__global__ void target_copies(const uint32_t *in, const uint32_t *wanted, uint32_t *out, uint32_t *count)
{
    if (wanted[threadIdx.x] == 1)
        out[threadIdx.x] = in[threadIdx.x];
    copied[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        count[0]++;
}

static void copies()
{
    std::vector<uint32_t> in(256), wanted(256, 1);
    uint32_t *memory[4];

    for (size_t i = 0; i < in.size(); i++)
        in[i] = (uint32_t)(i * 2654435761u);
    for (auto &m : memory) {
        CHECK(hipMalloc(&m, 1024));
        CHECK(hipMemset(m, 0, 1024));
    }
    CHECK(hipMemcpy(memory[0], in.data(), 1024, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(memory[1], wanted.data(), 1024, hipMemcpyHostToDevice));
    for (int i = 0; i < 2; i++)
        target_copies<<<1, 256>>>(memory[0], memory[1], memory[2], memory[3]);
    CHECK(hipDeviceSynchronize());
}

// Sorts what is sorted, and decides of each pixel by its colours.
__global__ void target_sorts(uint32_t *keys, uchar4 *pixels, uint32_t *count)
{
    __shared__ uint32_t all[256];
    const uint32_t t = threadIdx.x;
    const uchar4 p = pixels[t];
    uint32_t rank = 0;

    all[t] = keys[t];
    __syncthreads();
    for (uint32_t i = 0; i < 256; i++)
        rank += all[i] < all[t] || (all[i] == all[t] && i < t);
    keys[rank] = all[t];
    pixels[t].w = p.x * 3 + p.y * 5 + p.z > 900 ? 255 : 7;
    if (t == 0)
        count[0]++;
}

static void sorts()
{
    std::vector<uint32_t> in(256);
    uint32_t *keys, *pixels, *count;

    CHECK(hipMalloc(&keys, 1024));
    CHECK(hipMalloc(&pixels, 1024));
    CHECK(hipMalloc(&count, 4));
    CHECK(hipMemset(count, 0, 4));
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (uint32_t)(i * i * 13 % 4099);
    CHECK(hipMemcpy(keys, in.data(), 1024, hipMemcpyHostToDevice));
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (uint32_t)(i * 2654435761u);
    CHECK(hipMemcpy(pixels, in.data(), 1024, hipMemcpyHostToDevice));
    for (int i = 0; i < 2; i++)
        target_sorts<<<1, 256>>>(keys, (uchar4 *)pixels, count);
    CHECK(hipDeviceSynchronize());
}

typedef float (*function)(float);

__device__ float twice(float x) { return x * 2; }
__device__ float half_of(float x) { return x / 2 + 1; }

__device__ float shown(float x)
{
    printf("%f\n", x);
    return x;
}

__global__ void fill_functions(function *table, bool prints)
{
    table[0] = twice;
    table[1] = prints ? shown : half_of;
}

// Calls what the table says.
__global__ void target_calls(function *table, const float *in, float *out)
{
    out[threadIdx.x] = table[threadIdx.x & 1](in[threadIdx.x]);
}

// Likewise; one of the functions asks the host.
__global__ void target_prints(function *table, const float *in, float *out)
{
    out[threadIdx.x] = table[threadIdx.x & 1](in[threadIdx.x]);
}

static void call_table(bool prints)
{
    std::vector<float> in(64);
    function *table;
    float *a, *b;

    for (size_t i = 0; i < in.size(); i++)
        in[i] = (float)(i * i % 101) / 7;
    CHECK(hipMalloc(&table, 16));
    CHECK(hipMalloc(&a, 256));
    CHECK(hipMalloc(&b, 256));
    CHECK(hipMemcpy(a, in.data(), 256, hipMemcpyHostToDevice));
    fill_functions<<<1, 1>>>(table, prints);
    (prints ? target_prints : target_calls)<<<1, 64>>>(table, a, b);
    CHECK(hipDeviceSynchronize());
}

static void calls() { call_table(false); }
static void prints() { call_table(true); }

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } modes[] = {{"copies", copies}, {"sorts", sorts}, {"calls", calls}, {"prints", prints}, {"varying", varying}, {"arith", arith},         {"chase", chase},   {"histogram", histogram},
                 {"variables", variables}, {"managed", managed}, {"mapped", mapped},
                 {"async", async},         {"host", host},     {"streams", streams},
                 {"print", print},         {"waits", waits},   {"busy", busy},
                 {"fault", fault},         {"gemm", gemm},     {"gone", gone},
                 {"shapes", shapes},       {"fine", fine},     {"peer", peer},
                 {"attached", attached}};

    if (argc < 3)
        return 2;
    folder = argv[2];
    for (auto &mode : modes)
        if (strcmp(mode.name, argv[1]) == 0) {
            mode.run();
            return 0;
        }
    return 2;
}
