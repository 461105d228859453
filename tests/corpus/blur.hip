#include "host.h"
__global__ void blur(const int *in, int *out, int w, int h)
{
    __shared__ int tile[18][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int r = threadIdx.y; r < 18; r += 16)
        for (int c = threadIdx.x; c < 18; c += 16) {
            int gx = (int)(blockIdx.x * 16) + c - 1, gy = (int)(blockIdx.y * 16) + r - 1;
            tile[r][c] = gx >= 0 && gx < w && gy >= 0 && gy < h ? in[(size_t)gy * w + gx] : 0;
        }
    __syncthreads();
    if (x < w && y < h) {
        int cx = threadIdx.x + 1, cy = threadIdx.y + 1;
        out[(size_t)y * w + x] = 4 * tile[cy][cx] + tile[cy - 1][cx] + tile[cy + 1][cx] + tile[cy][cx - 1] + tile[cy][cx + 1];
    }
}

int main()
{
    int w = 64, h = 48;
    std::vector<int> v(w * h);
    for (int i = 0; i < w * h; i++) v[i] = i * 29 % 83 + 1;
    int *in = up(v), *out = up(std::vector<int>(w * h));
    blur<<<dim3(4, 3), dim3(16, 16)>>>(in, out, w, h);
    OK(hipDeviceSynchronize());
    sum("blur", out, w * h);
}
