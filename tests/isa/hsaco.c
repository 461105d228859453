#include "hsaco.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"
#include "device/jit/jit_translate.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/timing_model.h"

#include "device/timing/dispatch_timing.c"

/* LLVM AMDGPU guide, "Relocation Records". */
enum { R_AMDGPU_ABS64 = 3, R_AMDGPU_RELATIVE64 = 13 };

enum { PAGE = 4096, KERNARG_BYTES = 4096, HIDDEN_BYTES = 256, PACKET_BYTES = 64 };

static int sim_range(void *ctx, uint64_t va, int write, uint64_t *ret_begin, uint64_t *ret_end,
                     int64_t *ret_delta)
{
    const struct sim *s = ctx;
    for (unsigned i = 0; i < s->region_count; i++) {
        const struct sim_region *r = &s->region[i];
        if (va >= r->begin && va < r->end && (r->writable || !write)) {
            *ret_begin = r->begin;
            *ret_end = r->end;
            *ret_delta = 0;
            return 1;
        }
    }
    return 0;
}

static void *sim_translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    uint64_t begin, end;
    int64_t delta;
    if (!sim_range(ctx, va, write, &begin, &end, &delta) || end - va < bytes)
        return NULL;
    return (void *)(uintptr_t)va;
}

static void sim_interrupt(void *ctx, uint32_t m0)
{
    struct sim *s = ctx;
    s->last_interrupt = m0;
    s->interrupts++;
}

static uint64_t sim_clock(void *ctx)
{
    (void)ctx;
    return 1000000;
}

void sim_init(struct sim *s)
{
    memset(s, 0, sizeof *s);
    const char *target = getenv("RP_ISA_TARGET"); /* of the code that is to run */
    s->arch = rp_arch_find(target && *target ? target : "gfx942");
    s->host = (struct rp_exec_host){
        .ctx = s,
        .translate = sim_translate,
        .range = sim_range,
        .generation = &s->generation,
        .send_interrupt = sim_interrupt,
        .clock_ticks = sim_clock,
        .lds_aperture = 0x1000000000000,
        .scratch_aperture = 0x2000000000000,
        .observer = &rp_timing_observer,
        .translator = &rp_jit_translator,
    };
}

void sim_release(struct sim *s, unsigned regions)
{
    for (unsigned i = regions; i < s->region_count; i++)
        munmap((void *)(uintptr_t)s->region[i].begin,
               (s->region[i].end - s->region[i].begin + 2 * PAGE - 1) / PAGE * PAGE);
    s->region_count = regions;
    s->generation++;
}

void sim_free(struct sim *s)
{
    sim_release(s, 0);
    rp_exec_invalidate_code(0, UINT64_MAX);
}

void *sim_alloc(struct sim *s, size_t bytes)
{
    size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    uint8_t *p =
        mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || s->region_count == SIM_REGIONS) {
        fprintf(stderr, "sim_alloc: no room for %zu bytes\n", bytes);
        abort();
    }
    mprotect(p + pages, PAGE, PROT_NONE); /* an access the executor did not check shows */
    s->region[s->region_count++] = (struct sim_region){
        .begin = (uint64_t)(uintptr_t)p, .end = (uint64_t)(uintptr_t)p + bytes, .writable = 1};
    s->generation++;
    return p;
}

void sim_protect(struct sim *s, void *p)
{
    for (unsigned i = 0; i < s->region_count; i++)
        if (s->region[i].begin == (uint64_t)(uintptr_t)p)
            s->region[i].writable = 0;
    s->generation++;
}

/* ---- ELF ---- */

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *p = size > 0 ? malloc((size_t)size) : NULL;
    if (p && fread(p, 1, (size_t)size, f) != (size_t)size) {
        free(p);
        p = NULL;
    }
    fclose(f);
    *ret_bytes = (size_t)size;
    return p;
}

static int relocate(struct sim_code *c, const Elf64_Rela *rela, size_t count)
{
    const Elf64_Sym *sym = c->symbols;
    uint64_t base = (uint64_t)(uintptr_t)c->image;
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        switch (ELF64_R_TYPE(rela[i].r_info)) {
        case R_AMDGPU_RELATIVE64:
            value = base + (uint64_t)rela[i].r_addend;
            break;
        case R_AMDGPU_ABS64:
            value = base + sym[ELF64_R_SYM(rela[i].r_info)].st_value + (uint64_t)rela[i].r_addend;
            break;
        default:
            fprintf(stderr, "sim_load: relocation type %u\n",
                    (unsigned)ELF64_R_TYPE(rela[i].r_info));
            return -1;
        }
        memcpy(c->image + rela[i].r_offset, &value, sizeof value);
    }
    return 0;
}

static int link_dynamic(struct sim_code *c, const Elf64_Dyn *dyn)
{
    const Elf64_Rela *rela = NULL;
    size_t rela_bytes = 0;
    for (; dyn->d_tag != DT_NULL; dyn++) {
        uint8_t *at = c->image + dyn->d_un.d_ptr;
        switch (dyn->d_tag) {
        case DT_SYMTAB:
            c->symbols = at;
            break;
        case DT_STRTAB:
            c->strings = (const char *)at;
            break;
        case DT_HASH: /* nbucket, nchain: as many chains as symbols */
            c->symbol_count = ((const uint32_t *)(const void *)at)[1];
            break;
        case DT_RELA:
            rela = (const Elf64_Rela *)(const void *)at;
            break;
        case DT_RELASZ:
            rela_bytes = dyn->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!c->symbols || !c->strings || !c->symbol_count) {
        fprintf(stderr, "sim_load: no dynamic symbols\n");
        return -1;
    }
    return relocate(c, rela, rela_bytes / sizeof *rela);
}

static int load_segments(struct sim *s, const uint8_t *file, struct sim_code *c)
{
    const Elf64_Ehdr *eh = (const void *)file;
    const Elf64_Phdr *ph = (const void *)(file + eh->e_phoff), *dynamic = NULL;
    size_t end = 0;
    for (unsigned i = 0; i < eh->e_phnum; i++)
        if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr + ph[i].p_memsz > end)
            end = ph[i].p_vaddr + ph[i].p_memsz;
    c->image = sim_alloc(s, end);
    c->image_bytes = end;
    for (unsigned i = 0; i < eh->e_phnum; i++) {
        if (ph[i].p_type == PT_LOAD)
            memcpy(c->image + ph[i].p_vaddr, file + ph[i].p_offset, ph[i].p_filesz);
        if (ph[i].p_type == PT_DYNAMIC)
            dynamic = &ph[i];
    }
    if (!dynamic) {
        fprintf(stderr, "sim_load: no dynamic segment\n");
        return -1;
    }
    return link_dynamic(c, (const void *)(c->image + dynamic->p_vaddr));
}

int sim_load(struct sim *s, const char *path, struct sim_code *ret)
{
    size_t bytes;
    uint8_t *file = read_file(path, &bytes);
    if (!file || bytes < sizeof(Elf64_Ehdr) || memcmp(file, ELFMAG, SELFMAG)) {
        fprintf(stderr, "sim_load: %s is not an ELF code object\n", path);
        free(file);
        return -1;
    }
    struct sim_code c = {0};
    int status = load_segments(s, file, &c);
    free(file);
    if (!status)
        *ret = c;
    return status;
}

void *sim_symbol(const struct sim_code *code, const char *name)
{
    const Elf64_Sym *sym = code->symbols;
    for (size_t i = 0; i < code->symbol_count; i++)
        if (!strcmp(code->strings + sym[i].st_name, name) && sym[i].st_shndx != SHN_UNDEF)
            return code->image + sym[i].st_value;
    return NULL;
}

uint64_t sim_kernel(const struct sim_code *code, const char *kernel)
{
    char name[256];
    snprintf(name, sizeof name, "%s.kd", kernel);
    return (uint64_t)(uintptr_t)sim_symbol(code, name);
}

/* ---- launch ---- */

/* Hidden arguments of code object v5, as far as a kernel without host services reads them. */
static void put_hidden(uint8_t *at, const uint32_t grid[3], const uint32_t block[3],
                       const struct sim *s, const struct sim_launch *l)
{
    for (unsigned d = 0; d < 3; d++) {
        uint32_t count = grid[d] / block[d];
        uint16_t size = (uint16_t)block[d], remainder = (uint16_t)(grid[d] % block[d]);
        memcpy(at + 4 * d, &count, 4);
        memcpy(at + 12 + 2 * d, &size, 2);
        memcpy(at + 18 + 2 * d, &remainder, 2);
    }
    uint16_t dims = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
    memcpy(at + 64, &dims, 2);
    memcpy(at + 120, &l->dynamic_lds_bytes, 4);
    memcpy(at + 192, &(uint32_t){(uint32_t)(s->host.scratch_aperture >> 32)}, 4);
    memcpy(at + 196, &(uint32_t){(uint32_t)(s->host.lds_aperture >> 32)}, 4);
}

/* hsa_kernel_dispatch_packet_t, which -O0 kernels read. */
static void put_packet(uint8_t *at, const struct rp_launch *l)
{
    memcpy(at + 2, &l->setup_dimensions, 2);
    memcpy(at + 4, l->workgroup_size, 6);
    memcpy(at + 12, l->grid_size, 12);
    memcpy(at + 24, &l->private_segment_bytes, 4);
    memcpy(at + 28, &l->group_segment_bytes, 4);
    memcpy(at + 32, &l->kernel_object_va, 8);
    memcpy(at + 40, &l->kernarg_va, 8);
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* What recorded waves moved by their counts, and by their accesses. */
static void sum_record(const struct rp_wave_record *r, uint64_t *ret_counted,
                       uint64_t *ret_accessed)
{
    *ret_counted = *ret_accessed = 0;
    for (uint64_t g = 0; g < r->plan.count + r->plan.probes; g++)
        for (uint32_t i = 0; i < r->group[g].wave_count; i++) {
            const struct rp_rec_wave *w = &r->group[g].wave[i];
            *ret_counted += w->bytes;
            for (uint32_t k = 0; k < w->access_count; k++)
                *ret_accessed += (uint64_t)w->access[k].lanes * w->access[k].lane_bytes *
                                 (w->access[k].flags & RP_REC_ATOMIC ? 2 : 1);
        }
}

enum { SIM_CALL_LIMIT = 1000000 };

static enum rp_run_state run(struct sim *s, const struct rp_launch *launch)
{
    uint64_t limit = s->instruction_limit ? s->instruction_limit : 1ull << 32;
    uint64_t budget = s->budget ? s->budget : 1000000;
    struct rp_dispatch *d = rp_dispatch_new(&s->host, s->arch, launch);
    if (!d)
        abort();
    enum rp_run_state state;
    unsigned calls = 0; /* waiting is not counted in instructions: it would never end */
    while ((state = rp_dispatch_run(d, budget)) == RP_RUN_MORE &&
           rp_dispatch_counts(d)->wave_insts < limit && ++calls < SIM_CALL_LIMIT)
        if (s->between)
            s->between(s, s->between_arg);
    s->counts = *rp_dispatch_counts(d);
    s->fault = *rp_dispatch_fault(d);
    s->slices = d->next_order;
    s->busy_ns = rp_dispatch_busy_ns(d);
    s->counted = s->counters ? rp_dispatch_count(d, s->counters) : RP_COUNT_NOTHING;
    if (s->replay_counters && state == RP_RUN_DONE) {
        uint64_t ticks;
        if (rp_dispatch_ticks(d, s->arch, &ticks) < 0)
            abort();
        rp_dispatch_count(d, s->replay_counters);
    }
    if (s->done && state == RP_RUN_DONE)
        s->done(s, d);
    const struct rp_dispatch_timing *t = d->observed;
    if (t && t->record)
        sum_record(t->record, &s->record_bytes, &s->access_bytes);
    const int64_t before_ns = cpu_ns();
    s->replayed = dispatch_simulate(d, s->arch, NULL, &s->stats) == 0;
    s->replay_ns = cpu_ns() - before_ns;
    s->ticks = s->replayed ? rp_timing_simulated_ticks(s->arch, &s->counts, &s->stats)
                           : rp_timing_dispatch_ticks(s->arch, &s->counts);
    rp_dispatch_free(d);
    return state;
}

enum rp_run_state sim_run(struct sim *s, uint64_t kernel_va, const struct sim_launch *l)
{
    uint32_t grid[3], block[3];
    for (unsigned d = 0; d < 3; d++) {
        grid[d] = l->grid[d] ? l->grid[d] : 1;
        block[d] = l->block[d] ? l->block[d] : 1;
    }
    unsigned regions = s->region_count;
    uint8_t *memory = sim_alloc(s, KERNARG_BYTES);
    size_t hidden = (l->args_bytes + 7) / 8 * 8;
    uint8_t *args = memory + PACKET_BYTES + s->args_shift;
    if (PACKET_BYTES + s->args_shift + hidden + HIDDEN_BYTES > KERNARG_BYTES)
        abort();
    if (l->args_bytes)
        memcpy(args, l->args, l->args_bytes);
    put_hidden(args + hidden, grid, block, s, l);
    uint32_t static_lds = 0, static_private = 0;
    if (kernel_va) {
        memcpy(&static_lds, (void *)(uintptr_t)kernel_va, 4);
        memcpy(&static_private, (void *)(uintptr_t)(kernel_va + 4), 4);
    }
    struct rp_launch launch = {
        .packet_va = (uint64_t)(uintptr_t)memory,
        .queue_va = (uint64_t)(uintptr_t)memory, /* never read by these kernels */
        .kernel_object_va = kernel_va,
        .kernarg_va = (uint64_t)(uintptr_t)args,
        .dispatch_id = 1,
        .setup_dimensions = 3,
        .workgroup_size = {(uint16_t)block[0], (uint16_t)block[1], (uint16_t)block[2]},
        .grid_size = {grid[0], grid[1], grid[2]},
        .private_segment_bytes = static_private + l->private_bytes,
        .group_segment_bytes = static_lds + l->dynamic_lds_bytes,
        .counting = l->counting,
    };
    put_packet(memory, &launch);
    enum rp_run_state state = run(s, &launch);
    munmap(memory, 2 * PAGE);
    s->region_count = regions;
    s->generation++;
    return state;
}
