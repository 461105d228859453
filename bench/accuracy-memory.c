/* Latencies and bandwidths of memory, and BabelStream. */
#include <string.h>

#include "accuracy.h"
#include "arch/arch.h"

enum { ROUND_BYTES = 16 << 10 };

static const double GIB = 1073741824.0;

/* A ring of pointers, @p stride bytes apart. */
static void *make_ring(struct accuracy *b, size_t lines, size_t stride)
{
    uint8_t *ring = sim_alloc(&b->sim, lines * stride);
    for (size_t i = 0; i < lines; i++) {
        uint8_t *next = ring + (i + 1) % lines * stride;
        memcpy(ring + i * stride, &next, sizeof next);
    }
    return ring;
}

/* Clocks per step of a chase through a ring, beyond the first @p skipped steps. */
static double chase(struct accuracy *b, const char *kernel, size_t lines, size_t stride,
                    int skipped, int steps)
{
    struct {
        void *at, *out;
        int steps;
    } args = {make_ring(b, lines, stride), b->c, skipped};
    const double before =
        skipped ? accuracy_clocks(b, &b->timing, kernel, 1, 1, &args, sizeof args) : 0;
    args.steps = skipped + steps;
    return (accuracy_clocks(b, &b->timing, kernel, 1, 1, &args, sizeof args) - before) / steps;
}

static double chase_lds(struct accuracy *b)
{
    struct {
        void *out;
        int steps;
    } args = {b->c, 1024};
    const double before = accuracy_clocks(b, &b->timing, "chase_lds", 1, 64, &args, sizeof args);
    args.steps = 5120;
    return (accuracy_clocks(b, &b->timing, "chase_lds", 1, 64, &args, sizeof args) - before) / 4096;
}

/* Bytes per second of all CUs, each with @p rounds * 16 KiB of its own, so many laps more. */
static double rate(struct accuracy *b, bool writes, int rounds, int laps, int more_rounds,
                   int more_laps)
{
    uint8_t *memory =
        sim_alloc(&b->sim, (size_t)ACCURACY_BLOCKS * ROUND_BYTES * (rounds + more_rounds));
    double took[2], bytes[2];
    for (int k = 0; k < 2; k++) {
        const int r = rounds + k * more_rounds, l = laps + k * more_laps;
        const struct {
            void *from, *out;
            int rounds, laps;
        } read = {memory, b->c, r, l};
        const struct {
            void *to;
            int rounds, laps;
        } write = {memory, r, l};
        took[k] = writes ? accuracy_clocks(b, &b->timing, "write_blocks", ACCURACY_BLOCKS, 1024,
                                           &write, sizeof write)
                         : accuracy_clocks(b, &b->timing, "read_blocks", ACCURACY_BLOCKS, 1024,
                                           &read, sizeof read);
        bytes[k] = (double)ACCURACY_BLOCKS * ROUND_BYTES * r * l;
    }
    return (bytes[1] - bytes[0]) / (took[1] - took[0]) * b->clock_hz;
}

/* BabelStream: bytes per second as it counts them, from the duration of the kernel. */
static double stream(struct accuracy *b, const char *kernel, unsigned arrays, const void *args,
                     size_t args_bytes)
{
    const bool dot = strcmp(kernel, "stream_dot") == 0;
    accuracy_clocks(b, &b->timing, kernel, dot ? 4 * ACCURACY_BLOCKS : ACCURACY_STREAM / 1024, 1024,
                    args, args_bytes);
    return arrays * 8.0 * ACCURACY_STREAM / accuracy_seconds(b);
}

static void add(struct accuracy_group *g, const char *number, const char *what, const char *unit,
                const char *source, double published, double modelled)
{
    accuracy_add(g, (struct accuracy_row){number, what, unit, source, published, modelled});
}

/* Microseconds of the copy of 1,048,576 doubles that the launch's clocks were chosen by. */
static double copy_us(struct accuracy *b)
{
    const struct {
        double *from, *to;
        int n;
    } args = {b->a, b->c, 1 << 20};
    accuracy_clocks(b, &b->timing, "vec_copy", (1 << 20) / 256, 256, &args, 20);
    return accuracy_seconds(b) * 1e6;
}

void accuracy_latencies(struct accuracy *b, struct accuracy_group *g)
{
    static const char mt4g[] = "mt4g", cc[] = "Chips and Cheese", sc25[] = "SC25",
                      clocks[] = "clocks";
    add(g, "1", "LDS latency", clocks, mt4g, 51.3, chase_lds(b));
    add(g, "2", "scalar L1 latency", clocks, mt4g, 48, chase(b, "chase_scalar", 64, 64, 64, 4096));
    add(g, "3", "vector L1 latency", clocks, mt4g, 116, chase(b, "chase", 64, 128, 64, 4096));
    add(g, "4", "L2 latency", clocks, sc25, 209, chase(b, "chase", 4096, 128, 4096, 4096));
    add(g, "12", "Infinity Cache latency", "ns", cc, 218,
        chase(b, "chase", 65536, 128, 65536, 65536) / b->clock_hz * 1e9);
    add(g, "5", "HBM latency, mean", clocks, mt4g, 900, chase(b, "chase", 16384, 4224, 1024, 8192));
    add(g, "8", "L2 read", "GiB/s", mt4g, 14365, rate(b, false, 4, 3, 0, 6) / GIB);
    add(g, "9", "L2 write", "GiB/s", mt4g, 6562, rate(b, true, 2, 3, 0, 6) / GIB);
    add(g, "10", "HBM read", "GB/s", sc25, 4141, rate(b, false, 8, 1, 8, 0) / 1e9);
    add(g, "11", "HBM write", "GB/s", sc25, 4587, rate(b, true, 8, 1, 8, 0) / 1e9);
    add(g, "13", "Infinity Cache read", "TB/s", sc25, 5.02, rate(b, false, 16, 2, 0, 2) / 1e12);
    add(g, "", "copy of 8 MiB, median duration", "us", "rocprof-compute sample", 6.8, copy_us(b));
}

void accuracy_streams(struct accuracy *b, struct accuracy_group *g)
{
    const struct {
        double *x, *y, *z;
        size_t n;
    } abc = {b->a, b->b, b->c, ACCURACY_STREAM};
    const struct {
        double *x, *y;
    } ac = {b->a, b->c}, bc = {b->b, b->c};
    static const char floor_of[] = "AMD acceptance floor", run[] = "AMD acceptance example";
    const double copy = stream(b, "stream_copy", 2, &ac, sizeof ac) * 1e-9;
    const double mul = stream(b, "stream_mul", 2, &bc, sizeof bc) * 1e-9;
    const double sum = stream(b, "stream_add", 3, &abc, 24) * 1e-9;
    const double triad = stream(b, "stream_triad", 3, &abc, 24) * 1e-9;
    const double dot = stream(b, "stream_dot", 2, &abc, sizeof abc) * 1e-9;
    add(g, "14", "BabelStream Copy", "GB/s", floor_of, 4177.285, copy);
    add(g, "15", "BabelStream Mul", "GB/s", floor_of, 4067.069, mul);
    add(g, "16", "BabelStream Add", "GB/s", floor_of, 3920.853, sum);
    add(g, "17", "BabelStream Triad", "GB/s", floor_of, 3885.301, triad);
    add(g, "18", "BabelStream Dot", "GB/s", floor_of, 3660.781, dot);
    add(g, "", "BabelStream Copy", "GB/s", run, 4255.995, copy);
    add(g, "", "BabelStream Mul", "GB/s", run, 4115.972, mul);
    add(g, "", "BabelStream Add", "GB/s", run, 3956.390, sum);
    add(g, "", "BabelStream Triad", "GB/s", run, 3948.062, triad);
    add(g, "", "BabelStream Dot", "GB/s", run, 3878.410, dot);
}
