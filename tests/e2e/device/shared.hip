// What two processes can share besides hipIpcMemHandle_t (memory.hip): events, and physical memory
// of the virtual memory API by file descriptor.
#include "check.h"

#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static const int N = 5000;
static const size_t BYTES = (size_t)2 << 20;

__global__ void increment(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += 1;
}

// Runs until the host says so.
__global__ void hold(volatile int *go)
{
    while (!*go)
        ;
}

static void launch(int *data)
{
    increment<<<(N + 255) / 256, 256>>>(data, N);
    HIP(hipGetLastError());
    HIP(hipDeviceSynchronize());
}

// ---- the line between the two processes

static void say(int line, char word)
{
    CHECK(write(line, &word, 1) == 1);
}

static void hear(int line, char expected)
{
    char word = 0;
    CHECK(read(line, &word, 1) == 1 && word == expected);
}

union fd_message {
    cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int line, int fd)
{
    fd_message control = {};
    char word = 'd';
    iovec vec = {&word, 1};
    msghdr message = {};
    message.msg_iov = &vec;
    message.msg_iovlen = 1;
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    CHECK(sendmsg(line, &message, 0) == 1);
}

static int receive_fd(int line)
{
    fd_message control = {};
    char word;
    int fd;
    iovec vec = {&word, 1};
    msghdr message = {};
    message.msg_iov = &vec;
    message.msg_iovlen = 1;
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    CHECK(recvmsg(line, &message, 0) == 1 && control.head.cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

// ---- events

static void event_owner(int line)
{
    hipEvent_t event, local;
    hipIpcEventHandle_t handle;
    int *go;
    HIP(hipEventCreate(&local));
    CHECK(hipIpcGetEventHandle(&handle, local) != hipSuccess); // not made for it
    (void)hipGetLastError();
    HIP(hipEventDestroy(local));
    HIP(hipHostMalloc(&go, sizeof *go));
    *go = 0;
    HIP(hipEventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming));
    HIP(hipIpcGetEventHandle(&handle, event));
    hold<<<1, 1>>>(go);
    HIP(hipEventRecord(event, 0));
    CHECK(write(line, &handle, sizeof handle) == (ssize_t)sizeof handle);
    hear(line, 'n'); // seen to be not ready over there
    CHECK(hipEventQuery(event) == hipErrorNotReady);
    (void)hipGetLastError();
    *(volatile int *)go = 1;
    HIP(hipEventSynchronize(event));
    HIP(hipEventQuery(event));
    say(line, 'd');
    hear(line, 's');
    HIP(hipDeviceSynchronize());
    HIP(hipEventDestroy(event));
    HIP(hipHostFree(go));
}

static void event_user(int line)
{
    hipEvent_t event;
    hipIpcEventHandle_t handle;
    hipStream_t stream;
    int *data, value = -1;
    CHECK(read(line, &handle, sizeof handle) == (ssize_t)sizeof handle);
    HIP(hipIpcOpenEventHandle(&event, handle));
    HIP(hipStreamCreate(&stream));
    HIP(hipMalloc(&data, N * sizeof(int)));
    HIP(hipMemset(data, 0, N * sizeof(int)));
    CHECK(hipEventQuery(event) == hipErrorNotReady);
    (void)hipGetLastError();
    say(line, 'n');
    HIP(hipStreamWaitEvent(stream, event, 0));
    increment<<<(N + 255) / 256, 256, 0, stream>>>(data, N);
    HIP(hipEventSynchronize(event));
    HIP(hipStreamSynchronize(stream));
    HIP(hipMemcpy(&value, data, sizeof value, hipMemcpyDeviceToHost));
    CHECK(value == 1);
    hear(line, 'd');
    HIP(hipEventQuery(event));
    HIP(hipEventDestroy(event));
    say(line, 's');
}

// ---- physical memory

static hipMemAllocationProp properties()
{
    hipMemAllocationProp prop = {};
    prop.type = hipMemAllocationTypePinned;
    prop.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
    prop.location.type = hipMemLocationTypeDevice;
    return prop;
}

static int *map(hipMemGenericAllocationHandle_t handle, hipMemAccessFlags flags)
{
    void *at;
    hipMemAccessDesc access = {};
    access.location = properties().location;
    access.flags = flags;
    HIP(hipMemAddressReserve(&at, BYTES, 0, nullptr, 0));
    HIP(hipMemMap(at, BYTES, 0, handle, 0));
    HIP(hipMemSetAccess(at, BYTES, &access, 1));
    return (int *)at;
}

static void unmap(int *at)
{
    HIP(hipMemUnmap(at, BYTES));
    HIP(hipMemAddressFree(at, BYTES));
}

static void expect(const int *device, int offset)
{
    std::vector<int> values(N);
    HIP(hipMemcpy(values.data(), device, N * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK(values[i] == 3 * i + offset);
}

static void memory_owner(int line)
{
    hipMemAllocationProp prop = properties();
    hipMemGenericAllocationHandle_t handle;
    std::vector<int> values(N);
    int fd = -1;
    HIP(hipMemCreate(&handle, BYTES, &prop, 0));
    int *data = map(handle, hipMemAccessFlagsProtReadWrite);
    for (int i = 0; i < N; i++)
        values[i] = 3 * i;
    HIP(hipMemcpy(data, values.data(), N * sizeof(int), hipMemcpyHostToDevice));
    launch(data);
    HIP(hipMemExportToShareableHandle(&fd, handle, hipMemHandleTypePosixFileDescriptor, 0));
    send_fd(line, fd);
    close(fd);
    hear(line, 'i');
    expect(data, 2);
    launch(data);
    unmap(data);
    HIP(hipMemRelease(handle));
    int *other; // must not be given the same memory
    HIP(hipMalloc(&other, BYTES));
    HIP(hipMemset(other, 0x77, BYTES));
    HIP(hipDeviceSynchronize());
    say(line, 'r');
}

static void memory_user(int line)
{
    hipMemGenericAllocationHandle_t handle, none;
    int fd = receive_fd(line), zero[2];
    HIP(hipSetDevice(0));
    HIP(hipMemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                        hipMemHandleTypePosixFileDescriptor));
    close(fd);
    int *data = map(handle, hipMemAccessFlagsProtReadWrite);
    expect(data, 1);
    launch(data);
    // The processor's view, where it has one, is of the same bytes.
    int *again = map(handle, hipMemAccessFlagsProtRead);
    expect(again, 2);
    unmap(again);
    say(line, 'i');
    hear(line, 'r'); // freed over there
    expect(data, 3);
    launch(data);
    expect(data, 4);
    unmap(data);
    HIP(hipMemRelease(handle));
    // A descriptor of something else is an error.
    CHECK(pipe(zero) == 0);
    CHECK(hipMemImportFromShareableHandle(&none, (void *)(uintptr_t)zero[0],
                                          hipMemHandleTypePosixFileDescriptor) != hipSuccess);
}

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    void (*owner)(int) = what == "events" ? event_owner : memory_owner;
    void (*user)(int) = what == "events" ? event_user : memory_user;
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(ends[!i]);
            alarm(50);
            (i ? user : owner)(ends[i]);
            exit(7);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (pid_t child : children) {
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    return 0;
}
