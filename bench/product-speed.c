/*
 * How fast whole matrix products of 1024^3 are on one core of this machine, without timing and with
 * detailed timing, by turns: this project's own kernel of matrix instructions, and kernels of a
 * library, which bench/library-speed takes from rocBLAS. A benchmark, not a test: it prints.
 *
 * usage: product-speed <matrix.co of tests/isa> REPETITIONS [NAME TYPE CODE KERNEL ARGUMENTS
 * GRID_X GRID_Y WORKGROUP]... TYPE is f32 or f16, ARGUMENTS a file with those of Tensile's
 * kernels: the addresses of D, C, A and B stand in it from byte 16 on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/timing/timing_model.h"
#include "kernels.h"

enum { N = 1024, WORDS = 8, ARGUMENTS_BYTES = 256, ADDRESSES_AT = 16 };

struct product {
    const char *name;
    uint64_t kernel; /**< its descriptor */
    struct sim_launch launch;
    uint64_t args[ARGUMENTS_BYTES / 8];
    const void *d;
    size_t d_bytes;
};

/* Processor seconds of a launch: its execution, and all of it. */
struct cost {
    double execute_s, all_s;
    uint64_t insts, ticks;
};

static int launch(struct sim *s, const struct product *p, enum rp_timing_mode mode,
                  struct cost *ret)
{
    rp_timing_set_mode(mode);
    const double begin_s = bench_cpu_s();
    if (sim_run(s, p->kernel, &p->launch) != RP_RUN_DONE) {
        fprintf(stderr, "product-speed: %s: %s\n", p->name, s->fault.text);
        return -1;
    }
    ret->all_s = bench_cpu_s() - begin_s;
    ret->execute_s = ret->all_s - (double)s->replay_ns * 1e-9;
    ret->insts = s->counts.wave_insts;
    ret->ticks = s->ticks;
    return 0;
}

static int by_ratio(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same result and the same modelled time show that a change has changed speed only. */
static uint64_t checksum(const struct product *p)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < p->d_bytes; i++)
        sum = (sum ^ ((const uint8_t *)p->d)[i]) * 0x100000001b3u;
    return sum;
}

static void print_row(const struct product *p, const char *timing, const struct cost *c)
{
    printf("%-14s %-9s %8.4f s  %6.1f M wave instructions/s  %6.1f GFLOP/s", p->name, timing,
           c->all_s, (double)c->insts / c->all_s * 1e-6, 2.0 * N * N * N / c->all_s * 1e-9);
}

static int measure(struct sim *s, const struct product *p, int repetitions)
{
    struct cost off = {.all_s = 1e30}, detailed = {.all_s = 1e30};
    double *const ratio = calloc((size_t)repetitions, sizeof *ratio);
    int status = ratio ? 0 : -1;
    for (int i = 0; i < repetitions && !status; i++) {
        struct cost o, d;
        status = launch(s, p, RP_TIMING_OFF, &o) || launch(s, p, RP_TIMING_DETAILED, &d);
        if (status)
            break;
        off = o.all_s < off.all_s ? o : off;
        detailed = d.all_s < detailed.all_s ? d : detailed;
        ratio[i] = d.all_s / o.all_s;
    }
    if (!status) {
        qsort(ratio, (size_t)repetitions, sizeof *ratio, by_ratio);
        print_row(p, "off", &off);
        printf("  %llu of them, checksum %016llx\n", (unsigned long long)off.insts,
               (unsigned long long)checksum(p));
        print_row(p, "detailed", &detailed);
        printf("  %.2f times (simulation %.4f s), modelled %llu ticks\n", ratio[repetitions / 2],
               detailed.all_s - detailed.execute_s, (unsigned long long)detailed.ticks);
    }
    free(ratio);
    return status;
}

/* Numbers of about one, in an order without short periods; f16 and f32 have the same exactly. */
static void *matrix_new(struct sim *s, bool half, unsigned seed)
{
    uint8_t *const at = sim_alloc(s, (size_t)N * N * (half ? 2 : 4));
    for (unsigned i = 0; i < N * N; i++) {
        const uint32_t random = (i + seed) * 0x9e3779b1u >> 22;
        const uint16_t h = (uint16_t)(0x3800 + random);
        const float f = 0.5f + (float)random / 2048;
        memcpy(at + (size_t)i * (half ? 2 : 4), half ? (const void *)&h : &f, half ? 2 : 4);
    }
    return at;
}

static int own_product(struct sim *s, const char *path, struct product *p)
{
    struct sim_code code;
    if (sim_load(s, path, &code))
        return -1;
    *p = (struct product){
        .name = "own f16",
        .kernel = sim_kernel(&code, "gemm_f16"),
        .launch = {.grid = {N / 64 * N / 64 * 64}, .block = {256}, .args_bytes = 28},
        .d_bytes = (size_t)N * N * 4};
    p->d = sim_alloc(s, p->d_bytes);
    const void *const args[] = {matrix_new(s, true, 0), matrix_new(s, true, 7), p->d};
    memcpy(p->args, args, sizeof args);
    memcpy(&p->args[3], &(int){N}, sizeof(int));
    return 0;
}

static int read_arguments(const char *path, struct product *p)
{
    FILE *const f = fopen(path, "rb");
    p->launch.args_bytes = f ? fread(p->args, 1, sizeof p->args, f) : 0;
    if (f)
        fclose(f);
    if (p->launch.args_bytes >= ADDRESSES_AT + 4 * sizeof(uint64_t))
        return 0;
    fprintf(stderr, "product-speed: %s holds no arguments of a kernel of Tensile\n", path);
    return -1;
}

static int library_product(struct sim *s, char **words, struct product *p)
{
    struct sim_code code;
    char symbol[2048];
    const bool half = !strcmp(words[1], "f16");
    *p = (struct product){.name = words[0], .d_bytes = (size_t)N * N * (half ? 2 : 4)};
    if (sim_load(s, words[2], &code) || read_arguments(words[4], p))
        return -1;
    snprintf(symbol, sizeof symbol, "%s.kd", words[3]);
    p->kernel = (uint64_t)(uintptr_t)sim_symbol(&code, symbol);
    p->d = sim_alloc(s, p->d_bytes);
    const void *const addresses[] = {p->d, p->d, matrix_new(s, half, 0), matrix_new(s, half, 7)};
    memcpy((uint8_t *)p->args + ADDRESSES_AT, addresses, sizeof addresses);
    const uint32_t workgroup = (uint32_t)atoi(words[7]);
    p->launch.grid[0] = (uint32_t)atoi(words[5]);
    p->launch.grid[1] = (uint32_t)atoi(words[6]);
    p->launch.block[0] = workgroup;
    if (p->kernel && workgroup)
        return 0;
    fprintf(stderr, "product-speed: %s has no kernel %s\n", words[2], words[3]);
    return -1;
}

int main(int argc, char **argv)
{
    struct sim s;
    struct product p;
    const int repetitions = argc > 2 ? atoi(argv[2]) : 0;
    if (repetitions < 1 || (argc - 3) % WORDS) {
        fprintf(stderr, "usage: product-speed <matrix.co> REPETITIONS [NAME TYPE CODE KERNEL "
                        "ARGUMENTS GRID_X GRID_Y WORKGROUP]...\n");
        return 2;
    }
    sim_init(&s);
    rp_exec_set_threads(1);
    int status = own_product(&s, argv[1], &p);
    for (int at = 3; !status; at += WORDS) {
        p.launch.args = p.args;
        status = measure(&s, &p, repetitions);
        if (status || at == argc)
            break;
        status = library_product(&s, argv + at, &p);
    }
    sim_free(&s);
    return status ? 1 : 0;
}
