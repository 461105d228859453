// frames_one_by_one: the frames of a video go through pageable memory and each waits for the one
// before to be copied, filtered and copied back. The fix uses pinned memory and two streams.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

const int width = 1280, height = 720, frames = 12;

// Unsharp mask along the rows of a frame of 8-bit pixels, four in each thread.
__host__ __device__ inline unsigned char sharpen(int left, int here, int right)
{
    int value = here + (2 * here - left - right) / 4;
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
}

__global__ __launch_bounds__(256) void sharpen_frame(const uchar4 *in, uchar4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i % (width / 4);
    uchar4 p = in[i];
    int left = x > 0 ? in[i - 1].w : p.x, right = x < width / 4 - 1 ? in[i + 1].x : p.w;
    out[i] = make_uchar4(sharpen(left, p.x, p.y), sharpen(p.x, p.y, p.z), sharpen(p.y, p.z, p.w),
                         sharpen(p.z, p.w, right));
}

int main()
{
    const size_t bytes = (size_t)width * height;
    const int groups = (int)(bytes / 4 / 256);
    unsigned char *in, *out;
#ifdef FIXED
    CHECK(hipHostMalloc((void **)&in, frames * bytes));
    CHECK(hipHostMalloc((void **)&out, frames * bytes));
#else
    std::vector<unsigned char> pageable_in(frames * bytes), pageable_out(frames * bytes);
    in = pageable_in.data();
    out = pageable_out.data();
#endif
    for (size_t i = 0; i < frames * bytes; i++)
        in[i] = (unsigned char)(i * 2654435761u >> 20);
    hipStream_t stream[2];
    uchar4 *din[2], *dout[2];
    for (int i = 0; i < 2; i++) {
        CHECK(hipStreamCreate(&stream[i]));
        CHECK(hipMalloc(&din[i], bytes));
        CHECK(hipMalloc(&dout[i], bytes));
    }
    for (int f = 0; f < frames; f++) {
        unsigned char *from = in + f * bytes, *to = out + f * bytes;
#ifdef FIXED
        int s = f % 2;
        CHECK(hipMemcpyAsync(din[s], from, bytes, hipMemcpyHostToDevice, stream[s]));
        sharpen_frame<<<groups, 256, 0, stream[s]>>>(din[s], dout[s]);
        CHECK(hipGetLastError());
        CHECK(hipMemcpyAsync(to, dout[s], bytes, hipMemcpyDeviceToHost, stream[s]));
#else
        CHECK(hipMemcpy(din[0], from, bytes, hipMemcpyHostToDevice)); // planted: copy_bound
        sharpen_frame<<<groups, 256>>>(din[0], dout[0]);
        CHECK(hipGetLastError());
        CHECK(hipMemcpy(to, dout[0], bytes, hipMemcpyDeviceToHost));
#endif
    }
    CHECK(hipDeviceSynchronize());
    for (size_t i = 0; i < frames * bytes; i += 7) {
        int x = (int)(i % width);
        unsigned char want = sharpen(in[x > 0 ? i - 1 : i], in[i], in[x < width - 1 ? i + 1 : i]);
        if (out[i] != want) {
            std::fprintf(stderr, "pixel %zu: %d, not %d\n", i, out[i], want);
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK(hipStreamDestroy(stream[i]));
        CHECK(hipFree(din[i]));
        CHECK(hipFree(dout[i]));
    }
#ifdef FIXED
    CHECK(hipHostFree(in));
    CHECK(hipHostFree(out));
#endif
    std::puts("ok");
    return 0;
}
