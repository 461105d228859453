# Programs of several files that build tools make: the compiler's call with the other objects, or a script beside
# CMake's compile_commands.json, builds candidates; a build tool's own call does not. Nothing in the build's tree is
# touched.
. "$(dirname "$0")/../lib.sh"
mkdir bin project project/src project/inc
printf '#!/bin/sh\nexec "%s/rocm-perf" hipcc "$@"\n' "$BUILD" >bin/hipcc
chmod +x bin/hipcc
PATH="$PWD/bin:$PATH"
cd project
cat >CMakeLists.txt <<'END_CMAKE'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(kernels STATIC src/kernels.cpp)
target_include_directories(kernels PUBLIC inc)
target_compile_definitions(kernels PRIVATE SCALE=2.0f)
add_executable(app src/main.cpp src/say.cpp)
target_link_libraries(app PRIVATE kernels)
END_CMAKE
cat >Makefile <<'END_MAKE'
CXXFLAGS = -O2 -Iinc -DSCALE=2.0f
app: obj/main.o obj/say.o obj/kernels.o
	@hipcc -o $@ $^
obj/%.o: src/%.cpp inc/parts.h
	@mkdir -p obj && \
	hipcc $(CXXFLAGS) \
	    -MMD -c $< -o $@
END_MAKE
printf 'void run(float *a, float *out, int n);\nvoid say(float value);\n' >inc/parts.h
printf '#include <cstdio>\n#include "parts.h"\nvoid say(float value) { printf("%%g\\n", value); }\n' >src/say.cpp
cat >src/kernels.cpp <<'END_SOURCE'
#include <hip/hip_runtime.h>
#include "parts.h"
__global__ void column_sums(const float *a, float *out, int n)
{
    float sum = 0;
    int t = threadIdx.x;
    for (int i = 0; i < n; i++)
        sum += a[i * 64 + t] * SCALE;
    out[t] = sum;
}
void run(float *a, float *out, int n)
{
    column_sums<<<1, 64>>>(a, out, n);
}
END_SOURCE
cat >src/main.cpp <<'END_SOURCE'
#include <hip/hip_runtime.h>
#include "parts.h"
int main()
{
    enum { N = 100 };
    static float in[N * 64];
    float *a, *out, sums[64];
    for (int i = 0; i < N * 64; i++)
        in[i] = i % 7;
    if (hipMalloc(&a, sizeof in) || hipMalloc(&out, sizeof sums) ||
        hipMemcpy(a, in, sizeof in, hipMemcpyHostToDevice))
        return 1;
    run(a, out, N);
    if (hipMemcpy(sums, out, sizeof sums, hipMemcpyDeviceToHost))
        return 1;
    say(sums[3]);
}
END_SOURCE
sum() { find . -type f ! -path './o-*' ! -name 'kernels_opt.*' ! -name out ! -name err | sort | xargs sha256sum; }
optimize() {
    rocm-perf optimize --source src/kernels.cpp --device software --timing detailed --max-iters 1 --max-rounds 1 "$@"
}
# usage: builds FOLDER PROGRAM BUILD...: the candidate is built, of this program
builds() {
    local folder=$1 program=$2
    shift 2
    sum >../before
    expect 1 optimize "$program" --build "$*" --dry-run -o "$folder"
    says out "undecided: not measured (--dry-run)"
    sum | cmp -s - ../before || fail "$*: it has changed the tree"
}

cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$PWD/../bin/hipcc" >../log &&
    cmake --build build >>../log || { cat ../log; fail "cmake"; }
# How the source is compiled is known without --build, and not how the program is made.
expect 2 optimize build/app -o o-none
says err "build/compile_commands.json says how"
says err "give that with --build 'hipcc {source} main.o -o {output}'"
for tool in make 'ninja -C build' 'cmake --build build --target app'; do
    expect 2 optimize build/app --build "$tool" -o o-none
    says err "--build: ${tool%% *} compiles the files that its own rules name, and no candidate"
    says err "or a script, as './build-one {source} {output}', beside --compile-commands build/compile_commands.json"
done
cat >build-one <<'END_SCRIPT'
#!/bin/sh
set -e
hipcc -O3 -Iinc -DSCALE=2.0f -c "$1" -o "$2.o"
hipcc "$2.o" build/CMakeFiles/app.dir/src/main.cpp.o build/CMakeFiles/app.dir/src/say.cpp.o -o "$2"
rm "$2.o"
END_SCRIPT
chmod +x build-one
builds o-script build/app ./build-one '{source}' '{output}'

# A makefile, to the end.
make >../log || { cat ../log; fail "make"; }
sum >../before
rocm-perf run --device software ./app >../expected || fail "the program"
expect 0 optimize ./app --build 'hipcc -O2 -Iinc -DSCALE=2.0f {source} obj/main.o obj/say.o -o {output}' -o o-objects
says out "1 accepted"
python3 -c 'import json; kernel = json.load(open("o-objects/optimize.json"))["accepted"][0]["program"]
assert kernel["kernel_before_ns"] > 1.02 * kernel["kernel_after_ns"], kernel'
sum | cmp -s - ../before || fail "the compiler's call: it has changed the tree"
cp src/kernels_opt.cpp src/kernels.cpp
make >../log && rocm-perf run --device software ./app >../printed || fail "the result"
cmp ../printed ../expected || fail "the result prints something else"
rm Makefile

# A script: its flags are said, or the message says how.
printf '#!/bin/sh\nexec hipcc -O2 -Iinc -DSCALE=2.0f "$1" src/main.cpp src/say.cpp -o "$2"\n' >b.sh
chmod +x b.sh
./b.sh src/kernels.cpp app
rm -r build
expect 1 optimize ./app --build './b.sh {source} {output}' -o o-guessed
says out "--flags '-I inc -DX', or --compile-commands FILE"
expect 1 optimize ./app --build './b.sh {source} {output}' --flags '-O2 -Iinc -DSCALE=2.0f' --dry-run -o o-flags
says out "undecided: not measured (--dry-run)"
# One that compiles the file by its name: what it makes holds no candidate.
printf '#!/bin/sh\nexec hipcc -O2 -Iinc -DSCALE=2.0f src/kernels.cpp src/main.cpp src/say.cpp -o "$2"\n' >b.sh
expect 1 optimize ./app --build './b.sh {source} {output}' --flags '-O2 -Iinc -DSCALE=2.0f' -o o-fixed
says out "does --build compile {source}"
