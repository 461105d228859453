// Two kernels of two streams, with what the argument says between them. `run --check races` must find what nothing orders.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

#define OK(x)                                                                                      \
    do {                                                                                           \
        if ((x) != hipSuccess) {                                                                   \
            printf("failed: %s\n", #x);                                                            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { N = 1000 };

// Two kernels that draw from one counter are not ordered by it.
__global__ void draw(int *p, int *tickets)
{
    p[threadIdx.x] = atomicAdd(tickets, 1);
}

__global__ void fill(int *p, int first)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        p[i] = first + i;
}
__global__ void count(int *p)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        atomicAdd(&p[i], 1);
}
__global__ void tell(int *p, int *flag)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        p[i] = i;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void listen(const int *p, int *to, int *flag)
{
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT))
        ;
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        to[i] = p[i];
}
// Each message is a value and a flag of one store, as collectives of small sizes send them; no atomic is in it.
__global__ void send(uint64_t *messages)
{
    for (int i = threadIdx.x; i < N / 2; i += blockDim.x)
        __builtin_nontemporal_store(1ull << 32 | i, &messages[i]);
}
__global__ void receive(const uint64_t *messages, int *to)
{
    for (int i = threadIdx.x; i < N / 2; i += blockDim.x) {
        uint64_t got;
        do {
            got = __builtin_nontemporal_load(&messages[i]);
            asm volatile("" ::: "memory"); // Without it a compiler may leave out the loop.
        } while (got >> 32 != 1);
        to[i] = (int)got;
    }
}
// Its loop does more than wait: it counts how often it has looked, and gives up.
__global__ void listen_a_while(const int *p, int *to, int *flag, int *looks)
{
    __shared__ int gave_up;
    if (threadIdx.x == 0)
        gave_up = 0;
    __syncthreads();
    for (int n = 0; !__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); n++) {
        looks[threadIdx.x] = n;
        if (n > 1000000) {
            gave_up = 1;
            break;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        to[i] = gave_up ? 0 : p[i];
}
// The flag is reset when it has come, and read once more: that the loop has waited is not forgotten.
__global__ void receive_and_reset(int *flag, int *p)
{
    int got;
    do {
        got = __builtin_nontemporal_load(flag);
        asm volatile("" ::: "memory");
    } while (got != 1);
    got = *flag;
    asm volatile("" ::"v"(got) : "memory");
    *flag = 0;
    p[threadIdx.x] = got;
}
__global__ void tell_plain(int *flag, int *p)
{
    p[threadIdx.x] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        __builtin_nontemporal_store(1, flag);
}
// Two kernels add under one lock, whose loop stores.
__global__ void add_locked(int *lock, int *sum)
{
    for (bool done = threadIdx.x != 0; !done;)
        if (!atomicCAS(lock, 0, 1)) {
            __threadfence();
            *sum += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}
// As far as another kernel says, histograms are added to: that loop does not wait for it.
__global__ void produce(int *length, int *data)
{
    data[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0)
        *length = 256;
}
__global__ void consume(const int *length, const int *data, int *bins)
{
    for (int i = threadIdx.x; i < *length; i += 256)
        atomicAdd(&bins[data[i] & 15], 1);
}
__global__ void fill_bytes(char *p, int from, int to)
{
    for (int i = from + threadIdx.x; i < to; i += blockDim.x)
        p[i] = (char)i;
}
__global__ void copy(const int *p, int *to)
{
    for (int i = threadIdx.x; i < N; i += blockDim.x)
        to[i] = p[i];
}

static int between(const char *how, hipStream_t a, hipStream_t b, hipEvent_t event)
{
    if (!strcmp(how, "event")) {
        OK(hipEventRecord(event, a));
        OK(hipStreamWaitEvent(b, event, 0));
    } else if (!strcmp(how, "stream")) {
        OK(hipStreamSynchronize(a));
    } else if (!strcmp(how, "device")) {
        OK(hipDeviceSynchronize());
    } else if (!strcmp(how, "host_event")) {
        OK(hipEventRecord(event, a));
        OK(hipEventSynchronize(event));
    } else if (!strcmp(how, "query")) {
        while (hipStreamQuery(a) == hipErrorNotReady)
            ;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "none";
    int *p, *q, *r;
    const bool flags = !strcmp(how, "talk") || !strcmp(how, "talk_a_while");
    hipStream_t a, b;
    hipEvent_t event;
    OK(hipMalloc(&p, N * sizeof(int)));
    OK(hipMalloc(&q, N * sizeof(int)));
    OK(hipMalloc(&r, N * sizeof(int)));
    OK(hipMemset(p, 0, N * sizeof(int)));
    OK(hipMemset(q, 0, N * sizeof(int)));
    OK(hipMemset(r, 0, N * sizeof(int)));
    OK(hipDeviceSynchronize());
    OK(hipStreamCreate(&a));
    OK(hipStreamCreate(&b));
    OK(hipEventCreate(&event));
    if (!strcmp(how, "atomics"))
        count<<<1, 256, 0, a>>>(p);
    else if (!strcmp(how, "reset"))
        tell_plain<<<1, 64, 0, a>>>(r, p);
    else if (!strcmp(how, "lock"))
        add_locked<<<1, 256, 0, a>>>(r, p);
    else if (!strcmp(how, "length"))
        produce<<<1, 256, 0, a>>>(r, p);
    else if (!strcmp(how, "halves"))
        fill_bytes<<<1, 256, 0, a>>>((char *)p, 0, 1001);
    else if (!strcmp(how, "readers"))
        copy<<<1, 256, 0, a>>>(p, r);
    else if (!strcmp(how, "messages"))
        send<<<1, 256, 0, a>>>((uint64_t *)p);
    else if (flags)
        tell<<<1, 256, 0, a>>>(p, r + N - 1);
    else if (!strcmp(how, "counter"))
        draw<<<1, 256, 0, a>>>(p, r);
    else
        fill<<<1, 256, 0, a>>>(p, 1);
    if (!strcmp(how, "chain")) { // two kernels behind the first, each in its own stream, and back
        OK(hipEventRecord(event, a));
        OK(hipStreamWaitEvent(b, event, 0));
        fill<<<1, 256, 0, b>>>(q, 2);
        copy<<<1, 256, 0, a>>>(p, r);
    }
    if (between(how, a, b, event))
        return 1;
    if (!strcmp(how, "two_writers"))
        fill<<<1, 256, 0, b>>>(p, 2);
    else if (!strcmp(how, "reset"))
        receive_and_reset<<<1, 64, 0, b>>>(r, p);
    else if (!strcmp(how, "lock"))
        add_locked<<<1, 256, 0, b>>>(r, p);
    else if (!strcmp(how, "length"))
        consume<<<1, 256, 0, b>>>(r, p, q);
    else if (!strcmp(how, "halves"))
        fill_bytes<<<1, 256, 0, b>>>((char *)p, 1001, 2000);
    else if (!strcmp(how, "copy_kernel"))
        OK(hipMemsetAsync(p, 1, N * sizeof(int), b));
    else if (!strcmp(how, "atomics"))
        count<<<1, 256, 0, b>>>(p);
    else if (!strcmp(how, "counter"))
        draw<<<1, 256, 0, b>>>(p, r);
    else if (!strcmp(how, "messages"))
        receive<<<1, 256, 0, b>>>((const uint64_t *)p, q);
    else if (!strcmp(how, "talk"))
        listen<<<1, 256, 0, b>>>(p, q, r + N - 1);
    else if (!strcmp(how, "talk_a_while"))
        listen_a_while<<<1, 256, 0, b>>>(p, q, r + N - 1, r);
    else
        copy<<<1, 256, 0, !strcmp(how, "same_stream") ? a : b>>>(p, q);
    OK(hipDeviceSynchronize());
    printf("%s\n", how);
    return 0;
}
