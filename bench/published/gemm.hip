// A product by rocBLAS, launched REPETITIONS times: TYPE is s, d, h (f16) or b (bf16), sums of h and b in f32. The library is
// opened from $RP_ROCBLAS: Debian's comes without headers here.
#include "common.h"

#include <dlfcn.h>

// Numbers of rocblas-types.h.
enum { NONE = 111, TRANSPOSED = 112, F16 = 150, F32 = 151, F64 = 152, BF16 = 168, STANDARD = 0 };

template <class F> static F *symbol(void *library, const char *name)
{
    F *found = (F *)dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void check(int status)
{
    if (status) {
        fprintf(stderr, "rocBLAS: status %d\n", status);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 8)
        usage("gemm TYPE N|T N|T M N K REPETITIONS");
    const char *path = getenv("RP_ROCBLAS");
    void *library = dlopen(path ? path : "librocblas.so.5", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const auto create = symbol<int(void **)>(library, "rocblas_create_handle");
    const auto multiply = symbol<int(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                                     const void *, const void *, int, int, void *, int, int, int, int, int, unsigned)>(library, "rocblas_gemm_ex");
    const char type = argv[1][0];
    const bool ta = argv[2][0] == 'T', tb = argv[3][0] == 'T';
    const int m = atoi(argv[4]), n = atoi(argv[5]), k = atoi(argv[6]);
    const size_t bytes = type == 'd' ? 8 : type == 's' ? 4 : 2;
    const int kind = type == 'd' ? F64 : type == 's' ? F32 : type == 'b' ? BF16 : F16, sums = type == 'd' ? F64 : F32;
    const double one_d = 1, zero_d = 0;
    const float one_f = 1, zero_f = 0;
    const void *one = type == 'd' ? (const void *)&one_d : &one_f, *zero = type == 'd' ? (const void *)&zero_d : &zero_f;
    char *a = device<char>(bytes * m * k), *b = device<char>(bytes * n * k), *c = device<char>(bytes * m * n);
    OK(hipMemset(a, 0, bytes * m * k));
    OK(hipMemset(b, 0, bytes * n * k));
    void *handle;
    check(create(&handle));
    for (int i = 0; i < atoi(argv[7]); i++)
        check(multiply(handle, ta ? TRANSPOSED : NONE, tb ? TRANSPOSED : NONE, m, n, k, one, a, kind, ta ? k : m, b, kind, tb ? n : k,
                       zero, c, kind, m, c, kind, m, sums, STANDARD, 0, 0));
    finish();
}
