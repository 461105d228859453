# What the captured launch hides: arguments that are 0, other sizes, how often a kernel is launched, and what a clock says.
. "$(dirname "$0")/../lib.sh"
unset ROCM_PERF_DEVICE_TIMING

cat >old.hip <<'EOF'
#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void blend(const float *x, float *y, float a, float b, int mode, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = mode ? x[i] : a * x[i] + b * y[i];
}
int main()
{
    enum { N = 1024 };
    static float h[N];
    float *x, *y;
    double sum = 0;
    for (int i = 0; i < N; i++)
        h[i] = i % 10 + 1;
    if (hipMalloc(&x, sizeof h) || hipMalloc(&y, sizeof h) || hipMemset(y, 0, sizeof h) ||
        hipMemcpy(x, h, sizeof h, hipMemcpyHostToDevice))
        return 1;
    blend<<<N / 64, 64>>>(x, y, 2, 0, 0, N);
    if (hipMemcpy(h, y, sizeof h, hipMemcpyDeviceToHost))
        return 1;
    for (float v : h)
        sum += v;
    printf("sum %g\n", sum);
}
EOF
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"

# judged STATUS NAME SED: what sed makes of the old version
judged() {
    sed "$3" old.hip >"$2.hip"
    ! cmp -s old.hip "$2.hip" || fail "$2: the same text"
    expect "$1" rocm-perf judge --old old.hip --new "$2.hip" --device software -o "result_$2" ./app
    python3 "$SOURCE/tests/validate_schema.py" "$SOURCE/schemas/judge.schema.json" "result_$2/judge.json" >/dev/null ||
        fail "$2: schema"
}

judged 1 no_factor 's/ + b \* y\[i\]//'
head -1 out | grep -q '^wrong: .*(argument 4 is 1 in place of 0)' || { cat out; fail "a factor of 0 that is left out"; }
# No zero is in memory, and what is there where results go is not read in the capture.
sed -i 's/hipMemset(y, 0/hipMemset(y, 63/; s/b \* y\[i\];/b * x[i];/; s/mode ? x\[i\]/mode ? y[i] + x[i]/' old.hip
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
judged 1 no_mode 's/mode ? y\[i\] + x\[i\] : //'
head -1 out | grep -q '^wrong: .*(argument 5 is 1 in place of 0)' || { cat out; fail "a mode that is left out"; }
judged 1 honest 's/y\[i\] = .*/{ float v = x[i]; if (!mode) v = a * v + b * v; else v += y[i]; y[i] = v; }/'
head -1 out | grep -Eq '^(right|same code)' || { cat out; fail "an honest one"; }
# Who launches a kernel less often has not made it faster.
sed -i 's/blend<<</for (int r = 0; r < 3; r++) &/' old.hip
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
judged 1 fewer 's/r < 3/r < 1/; s/if (i < n)/for (; i < n; i += 1 << 20)/'
says out "launched 1 time in place of 3: "
! grep -q accepted out || { cat out; fail "accepted"; }
# What goes by a clock may be right in each run here, and wrong elsewhere.
judged 1 clock 's/if (i < n)/if (i < n \&\& (wall_clock64() \& 0xfffff) != 0x15555)/'
head -1 out | grep -q '^unsafe: .*reads a clock, which the original does not' || { cat out; fail "a clock"; }
# A second size is varied, too, where no argument is 0.
cat >old.hip <<'EOT'
#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void longest(const float *in, float *out, int rows, int n)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float best = -INFINITY;
    if (r >= rows)
        return;
    for (int i = 0; i < n; i++)
        best = fmaxf(best, in[r * n + i]);
    out[r] = best;
}
int main()
{
    enum { ROWS = 200, N = 24 };
    static float h[ROWS * N];
    float *in, *out;
    double sum = 0;
    for (int i = 0; i < ROWS * N; i++)
        h[i] = i * 7919L % 10007 / 100.0f + 0.25f;
    if (hipMalloc(&in, sizeof h) || hipMalloc(&out, ROWS * sizeof *out) ||
        hipMemcpy(in, h, sizeof h, hipMemcpyHostToDevice))
        return 1;
    longest<<<(ROWS + 63) / 64, 64>>>(in, out, ROWS, N);
    if (hipMemcpy(h, out, ROWS * sizeof *h, hipMemcpyDeviceToHost))
        return 1;
    for (int i = 0; i < ROWS; i++)
        sum += h[i];
    printf("sum %g\n", sum);
}
EOT
rocm-perf hipcc -O3 old.hip -o app >&2 || fail "cannot compile"
judged 1 at_most_64 's/i < n;/i < n \&\& i < 64;/'
head -1 out | grep -q '^wrong: .*(argument 4 is 99 in place of 24)' || { cat out; fail "a size that is larger"; }
judged 1 nothing_of_0 's/if (r >= rows)/if (r >= rows || n <= 0)/'
head -1 out | grep -q '^wrong: .*(argument 4 is 0 in place of 24)' || { cat out; fail "a size of 0"; }
