// Launches kernels of code objects: load FILE KERNEL CALLS [FILE KERNEL CALLS]...; each has its own module.
// A kernel takes a pointer to 256 ints and an int, and leaves the int in p[5]. LOAD_TURN names a file that
// counts the runs: then of two triples only one is launched, in turns.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

static int turn_of(const char *path)
{
    int turn = 0;
    FILE *f = fopen(path, "r");

    if (f) {
        if (fscanf(f, "%d", &turn) != 1)
            turn = 0;
        fclose(f);
    }
    f = fopen(path, "w");
    fprintf(f, "%d\n", turn + 1);
    fclose(f);
    return turn;
}

int main(int argc, char **argv)
{
    const char *turns = getenv("LOAD_TURN");
    const int turn = turns ? turn_of(turns) % 2 : 0;
    int *d, h[256];

    if (hipMalloc(&d, sizeof h))
        return 1;
    for (int i = 1; i + 2 < argc; i += 3) {
        hipModule_t module;
        hipFunction_t function;
        int value = 70 + i;
        void *args[] = {&d, &value};

        if (turns && (i / 3) % 2 != turn)
            continue;
        if (hipModuleLoad(&module, argv[i]) || hipModuleGetFunction(&function, module, argv[i + 1]))
            return 2;
        for (int n = atoi(argv[i + 2]); n > 0; n--)
            if (hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, args, 0))
                return 3;
        if (hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost) || h[5] != value)
            return 4;
    }
    puts("PASS");
    return 0;
}
