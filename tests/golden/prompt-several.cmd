# exit 2
cat > k.hip <<'END'
__attribute__((global)) void first(int *x) { *x = 1; }
__attribute__((global)) void second(int *x) { *x = 2; }
END
rocm-perf prompt --source k.hip
rocm-perf prompt --source k.hip --kernel third
rocm-perf prompt --source k.hip --kernel _Z5firstPi.kd --allow body | tail -n 9
echo '__global__ void k() { oops; }' > bad.hip
rocm-perf prompt --source bad.hip 2>&1 | head -n 2
rocm-perf prompt --source absent.hip
rocm-perf prompt --source k.hip --arch gfx000
rocm-perf prompt --source k.hip --kernel first --profile .
rocm-perf prompt --source k.hip --kernel '('
{ echo '__attribute__((global)) void long_one(int *x) {'; for i in $(seq 99); do echo "    x[$i] += $i;"; done; echo '}'; } >long.hip
rocm-perf prompt --source long.hip --max-tokens 600
rocm-perf prompt
