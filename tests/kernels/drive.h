// What the drivers of this folder share: inputs, launches, comparisons, one line per kernel.
//
// A driver includes the kernels it drives, so that one compilation at one optimisation level makes
// both. Expected values are computed on the host, by code written from what a kernel is to compute.
#ifndef DRIVE_H
#define DRIVE_H

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Compiled for gfx90a, which lacks some instructions: those kernels are empty there, and not
// driven.
#ifdef RP_GFX90A
static const bool gfx90a = true;
#else
static const bool gfx90a = false;
#endif

// A HIP call that must succeed.
#define HIP(call)                                                                                  \
    do {                                                                                           \
        hipError_t error_ = (call);                                                                \
        if (error_ != hipSuccess) {                                                                \
            printf("FAILED %s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error_));  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Deterministic pseudo-random inputs (splitmix64).
struct rng {
    uint64_t state;
    explicit rng(uint64_t seed) : state(seed)
    {
    }
    uint64_t u64()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    uint32_t u32()
    {
        return (uint32_t)(u64() >> 32);
    }
    // An integer in [low, high].
    int in(int low, int high)
    {
        return low + (int)(u64() % (uint64_t)((int64_t)high - low + 1));
    }
    // A real number in [low, high).
    double real(double low, double high)
    {
        return low + (high - low) * (double)(u64() >> 11) * 0x1p-53;
    }
};

// n elements made by f(index).
template <typename T, typename F> std::vector<T> make(size_t n, F f)
{
    std::vector<T> v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = f(i);
    return v;
}

// Integers in [low, high] as T: sums and products of few of them are exact in any order.
template <typename T> std::vector<T> whole(size_t n, uint64_t seed, int low, int high)
{
    rng r(seed);
    return make<T>(n, [&](size_t) { return (T)r.in(low, high); });
}

// Real numbers in [low, high), rounded to T.
template <typename T> std::vector<T> real(size_t n, uint64_t seed, double low, double high)
{
    rng r(seed);
    return make<T>(n, [&](size_t) { return (T)r.real(low, high); });
}

// Any bit patterns.
template <typename T> std::vector<T> bits_of(size_t n, uint64_t seed)
{
    rng r(seed);
    return make<T>(n, [&](size_t) { return (T)r.u64(); });
}

// An array on the device between two guard areas, which host() checks for stray writes.
template <typename T> class array
{
    static constexpr size_t guard_bytes = 256;
    size_t n;
    char *base;

    size_t bytes() const
    {
        return n * sizeof(T);
    }

  public:
    explicit array(const std::vector<T> &v) : n(v.size())
    {
        HIP(hipMalloc(&base, bytes() + 2 * guard_bytes));
        HIP(hipMemset(base, 0x5a, bytes() + 2 * guard_bytes));
        set(v);
    }
    // Elements with all bytes 0xcd, which no kernel writes by chance.
    explicit array(size_t count) : n(count)
    {
        HIP(hipMalloc(&base, bytes() + 2 * guard_bytes));
        HIP(hipMemset(base, 0x5a, bytes() + 2 * guard_bytes));
        HIP(hipMemset(base + guard_bytes, 0xcd, bytes()));
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array()
    {
        (void)hipFree(base);
    }
    operator T *() const
    {
        return (T *)(base + guard_bytes);
    }
    void set(const std::vector<T> &v)
    {
        HIP(hipMemcpy(base + guard_bytes, v.data(), bytes(), hipMemcpyHostToDevice));
    }
    std::vector<T> host() const
    {
        std::vector<char> all(bytes() + 2 * guard_bytes);
        HIP(hipMemcpy(all.data(), base, all.size(), hipMemcpyDeviceToHost));
        for (size_t i = 0; i < guard_bytes; i++)
            if (all[i] != 0x5a || all[guard_bytes + bytes() + i] != 0x5a) {
                printf("FAILED a kernel wrote outside of its array of %zu bytes\n", bytes());
                exit(1);
            }
        std::vector<T> v(n);
        memcpy(v.data(), all.data() + guard_bytes, bytes());
        return v;
    }
};

inline int failed_kernels;

// The checks of one kernel: prints "ok NAME" or "FAILED NAME" when it goes out of scope.
class subject
{
    const char *name;
    size_t compared = 0, wrong = 0;

  public:
    explicit subject(const char *kernel) : name(kernel)
    {
    }
    ~subject()
    {
        if (!wrong && compared) {
            printf("ok %s\n", name);
        } else {
            printf("FAILED %s: %zu of %zu values\n", name, wrong, compared);
            failed_kernels++;
        }
        fflush(stdout);
    }
    // Counts one comparison; explains the first few that fail.
    __attribute__((format(printf, 3, 4))) void that(bool holds, const char *format, ...)
    {
        compared++;
        if (holds || wrong++ >= 5)
            return;
        printf("%s: ", name);
        va_list args;
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        printf("\n");
    }
    template <typename T> void equal(const std::vector<T> &got, const std::vector<T> &want)
    {
        that(got.size() == want.size(), "%zu values, expected %zu", got.size(), want.size());
        for (size_t i = 0; i < got.size() && i < want.size(); i++)
            that(memcmp(&got[i], &want[i], sizeof(T)) == 0 || got[i] == want[i],
                 "[%zu] is %s, expected %s", i, text(got[i]).c_str(), text(want[i]).c_str());
    }
    // |got - want| <= absolute + relative * |want|; a NaN or an infinity must be the same.
    template <typename T>
    void near(const std::vector<T> &got, const std::vector<double> &want, double absolute,
              double relative)
    {
        that(got.size() == want.size(), "%zu values, expected %zu", got.size(), want.size());
        for (size_t i = 0; i < got.size() && i < want.size(); i++)
            that(close((double)got[i], want[i], absolute, relative),
                 "[%zu] is %.17g, expected %.17g", i, (double)got[i], want[i]);
    }
    static bool close(double got, double want, double absolute, double relative)
    {
        if (std::isnan(want))
            return std::isnan(got);
        if (std::isinf(want))
            return got == want;
        return std::fabs(got - want) <= absolute + relative * std::fabs(want);
    }

  private:
    template <typename T> static std::string text(const T &value)
    {
        if constexpr (std::is_floating_point<T>::value) {
            char s[40];
            snprintf(s, sizeof s, "%.17g", (double)value);
            return s;
        } else if constexpr (std::is_integral<T>::value) {
            return std::to_string(value);
        } else {
            std::string s = "0x";
            for (size_t i = sizeof(T); i-- > 0;) {
                char hex[3];
                snprintf(hex, sizeof hex, "%02x", ((const unsigned char *)&value)[i]);
                s += hex;
            }
            return s;
        }
    }
};

// Launches a kernel, waits for its end, and takes no error for an answer.
#define LAUNCH(kernel, grid, block, lds_bytes, ...)                                                \
    do {                                                                                           \
        kernel<<<(grid), (block), (lds_bytes)>>>(__VA_ARGS__);                                     \
        HIP(hipGetLastError());                                                                    \
        HIP(hipDeviceSynchronize());                                                               \
    } while (0)

// The exit status of a driver.
inline int drive_end()
{
    return failed_kernels ? 1 : 0;
}

#endif
