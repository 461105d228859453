/*
 * Findings of the checks: each once, with the places in code objects that rocm-perf finds source
 * lines of, in a file of this process that is written when a dispatch with a new one ends, and
 * again at the end.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/check/check.h"
#include "device/exec/executor.h"
#include "device/isa/mem_access.h"
#include "trace/check_record.h"

/* ---- instructions ---- */

enum { MOST_SITES = 1 << 20, LEAST_SLOTS = 1 << 12, MOST_OBJECTS = 256, MOST_FINDINGS = 1000 };

enum { UNKNOWN = 0, NO, YES };

struct site {
    uint64_t pc;
    uint32_t raw; /**< of the instruction: where a module was, another one may be loaded */
    uint8_t polls, begins_atomic; /**< enum above */
    uint8_t use[16];  /**< of each dword that it loads: 1 + enum rp_site_use; 0: unknown */
    int16_t object;   /**< -1: unknown; -2: not looked for */
    uint64_t address; /**< in the object */
    char text[100];
};

struct entry {
    struct rp_finding f;
    uint64_t kernel_va, dispatch, count;
    uint32_t group[2][3];
    int16_t kernel_object;
    uint64_t kernel_address;
};

struct object {
    uint64_t base; /**< distance of its addresses in memory from those in the file */
    char file[64]; /**< its copy; "": there is none */
};

/* All of the process, under the lock of watch_waves.c. */
static struct {
    struct site *site; /**< [0] is none */
    uint32_t site_count, site_capacity;
    uint32_t *slot, slot_count; /**< by a hash of the pc; a power of two */
    struct entry *found;
    uint32_t found_count, taken;
    uint64_t left_out;     /**< how often there was no room for one: it may be the same one */
    uint64_t not_compared; /**< dispatches, workgroups, accesses and the like */
    struct object object[MOST_OBJECTS];
    int object_count;
    unsigned what; /**< is checked */
    const char *folder;
    pid_t pid;
    bool changed;
} all;

unsigned rp_check_what(void)
{
    return all.what;
}

unsigned rp_check_parse(const char *text)
{
    static const char *const words[] = {"races", "uninit", "bounds", "waits"};
    unsigned what = 0;
    while (*text) {
        const size_t length = strcspn(text, ",");
        unsigned bit = 0;
        for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
                bit = 1u << i;
        if (!bit || (text[length] && !text[length + 1]))
            return 0;
        what |= bit;
        text += length + (text[length] == ',');
    }
    return what;
}

static uint32_t site_new(uint64_t pc, uint32_t raw)
{
    if (all.site_count + 1 >= all.site_capacity) {
        const uint32_t more = all.site_capacity ? 2 * all.site_capacity : 1024;
        struct site *grown = more <= MOST_SITES ? realloc(all.site, more * sizeof *grown) : NULL;
        if (!grown)
            return 0;
        all.site = grown;
        all.site_capacity = more;
    }
    all.site[++all.site_count] = (struct site){.pc = pc, .raw = raw, .object = -2};
    return all.site_count;
}

/* Returns where the instruction at a pc is, or would be. */
static uint32_t *slot_of(uint64_t pc)
{
    const uint32_t hash = (uint32_t)(pc * 0x9e3779b97f4a7c15u >> 32);
    for (uint32_t i = hash;; i++) {
        uint32_t *slot = &all.slot[i & (all.slot_count - 1)];
        if (!*slot || all.site[*slot].pc == pc)
            return slot;
    }
}

/* At least half of the slots are free. */
static bool slots_make_room(void)
{
    uint32_t *const before = all.slot;
    const uint32_t count = all.slot_count;
    if (2 * (all.site_count + 1) <= count)
        return true;
    const uint32_t more = count ? 2 * count : LEAST_SLOTS;
    uint32_t *const made = calloc(more, sizeof *made);
    if (!made)
        return false;
    all.slot = made;
    all.slot_count = more;
    for (uint32_t i = 0; i < count; i++)
        if (before[i])
            *slot_of(all.site[before[i]].pc) = before[i];
    free(before);
    return true;
}

uint32_t rp_check_site(uint64_t pc, const struct rp_insn *in, const struct rp_wave *w)
{
    const uint32_t raw = in->raw[0] + 31 * in->raw[1];
    (void)w;
    if (!slots_make_room())
        return 0;
    uint32_t *slot = slot_of(pc);
    if (*slot && all.site[*slot].raw == raw)
        return *slot;
    const uint32_t site = site_new(pc, raw);
    if (site) {
        *slot = site;
        rp_isa_print(in, pc, all.site[site].text, sizeof all.site[site].text);
    }
    return site;
}

/* ---- what code around a load says of it ---- */

enum { FARTHEST = 64 };

/* Decodes the instruction at @p pc. Returns its size in bytes, 0: there is none. */
static unsigned decode(struct rp_wave *w, uint64_t pc, struct rp_insn *ret)
{
    uint32_t words[4] = {0};
    size_t count = 0;
    for (; count < 4; count++) {
        const void *at = rp_mem_find(rp_mem_of(w), pc + 4 * count, 4, 0);
        if (!at)
            break;
        memcpy(&words[count], at, 4);
    }
    return count ? rp_isa_decode(words, count, ret) : 0;
}

static bool is_branch(const struct rp_insn *in)
{
    return in->op == RP_OP_s_branch || !strncmp(rp_isa_mnemonic(in->op), "s_cbranch_", 10);
}

static bool overlap(const struct rp_opnd *a, const struct rp_opnd *b)
{
    return a->kind != RP_OPND_NONE && a->kind == b->kind &&
           (a->kind == RP_OPND_VGPR || a->kind == RP_OPND_AGPR || a->kind == RP_OPND_SGPR) &&
           a->index < b->index + b->dwords && b->index < a->index + a->dwords;
}

/* Tests whether the instruction can give the load another address in the next turn. */
static bool changes_address(const struct rp_insn *in, const struct rp_insn *load)
{
    const bool constant = in->fmt == RP_FMT_VOP1 &&
                          (in->src[0].kind == RP_OPND_CONST || in->src[0].kind == RP_OPND_SGPR);
    if (constant)
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (i != 1 && (overlap(&in->dst, &load->src[i]) || overlap(&in->sdst, &load->src[i])))
            return true;
    return false;
}

/* A loop waits if it stores nothing, nor by an atomic that returns nothing, and loads the same
 * again. */
static bool loop_waits(struct rp_wave *w, uint64_t from, uint64_t to, const struct rp_insn *load)
{
    struct rp_insn in;
    for (uint64_t pc = from; pc < to;) {
        const unsigned bytes = decode(w, pc, &in);
        const uint8_t access = rp_op_rows[in.op].access;
        const bool adds = access == RP_ACCESS_ATOMIC && in.dst.kind == RP_OPND_NONE;
        if (!bytes || access == RP_ACCESS_STORE || adds || in.op == RP_OP_s_barrier ||
            changes_address(&in, load))
            return false;
        pc += bytes;
    }
    return true;
}

/* Tests whether a loop behind the load has the same load: the first turn stands before it. */
static bool loads_again(struct rp_wave *w, uint64_t from, uint64_t to, const struct rp_insn *load)
{
    struct rp_insn in;
    for (uint64_t pc = from; pc < to;) {
        const unsigned bytes = decode(w, pc, &in);
        if (!bytes)
            return false;
        if (in.op == load->op && in.offset == load->offset && in.flags == load->flags &&
            in.src[0].index == load->src[0].index && in.src[2].index == load->src[2].index)
            return true;
        pc += bytes;
    }
    return false;
}

/* Tests whether the load stands in a loop that does nothing but wait, or before one. */
static bool polls(struct rp_wave *w, uint64_t pc)
{
    struct rp_insn load, in;
    unsigned bytes = decode(w, pc, &load);
    uint64_t at = pc + bytes;
    for (unsigned i = 0; bytes && i < FARTHEST; i++, at += bytes) {
        bytes = decode(w, at, &in);
        if (!bytes || in.op == RP_OP_s_endpgm || in.op == RP_OP_s_barrier)
            return false;
        const uint64_t target = at + bytes + (uint64_t)((int64_t)in.offset * 4);
        if (is_branch(&in) && target <= at && at - target < 8 * FARTHEST &&
            (target <= pc || loads_again(w, target, at, &load)) && loop_waits(w, target, at, &load))
            return true;
    }
    return false;
}

/* Tests whether an atomic that compares follows, of the same address: it is only asked for loads of
 * what others access by atomics. A uniform address may be loaded from by a scalar load. */
static bool begins_atomic(struct rp_wave *w, uint64_t pc)
{
    struct rp_insn load, in;
    unsigned bytes = decode(w, pc, &load);
    uint64_t at = pc + bytes;
    for (unsigned i = 0; bytes && i < FARTHEST; i++, at += bytes) {
        bytes = decode(w, at, &in);
        if (!bytes || in.op == RP_OP_s_endpgm || in.op == RP_OP_s_barrier)
            return false;
        const bool alike = load.fmt == RP_FMT_SMEM ? in.fmt == RP_FMT_FLAT : in.fmt == load.fmt;
        if (rp_op_rows[in.op].access == RP_ACCESS_CMPSWAP && alike && in.offset == load.offset)
            return true;
    }
    return false;
}

bool rp_site_polls(uint32_t site, struct rp_wave *w)
{
    struct site *s = &all.site[site];
    if (s->polls == UNKNOWN)
        s->polls = polls(w, s->pc) ? YES : NO;
    return s->polls == YES;
}

bool rp_site_begins_atomic(uint32_t site, struct rp_wave *w)
{
    struct site *s = &all.site[site];
    if (s->begins_atomic == UNKNOWN)
        s->begins_atomic = begins_atomic(w, s->pc) ? YES : NO;
    return s->begins_atomic == YES;
}

/* ---- what becomes of what is loaded ---- */

enum { MOST_PATHS = 64, MOST_FOLLOWED = 1024, INDEX_REACH = 16 };

/* Paths from a load on, each up to the first use of one of its registers. */
struct paths {
    struct rp_wave *wave;
    struct rp_opnd loaded; /**< the register */
    uint64_t from[MOST_PATHS];
    unsigned count, done, followed;
    bool indexed; /**< M0 chooses registers */
    enum rp_site_use worst;
};

static void add_path(struct paths *p, uint64_t pc)
{
    for (unsigned i = 0; i < p->count; i++)
        if (p->from[i] == pc)
            return;
    if (p->count == MOST_PATHS)
        p->worst = RP_USE_COMPUTES;
    else
        p->from[p->count++] = pc;
}

static bool is_read(const struct paths *p, const struct rp_insn *in, unsigned k)
{
    struct rp_opnd src = in->src[k];
    if (p->indexed && src.kind == RP_OPND_VGPR)
        src.dwords = INDEX_REACH;
    return overlap(&src, &p->loaded);
}

/* Returns how the instruction reads the register; RP_USE_NONE: it does not. */
static enum rp_site_use use_of(const struct paths *p, const struct rp_insn *in)
{
    const bool stores = rp_op_rows[in->op].access == RP_ACCESS_STORE && in->fmt == RP_FMT_FLAT;
    enum rp_site_use use = RP_USE_NONE;
    for (unsigned k = 0; k < 4; k++) {
        if (!is_read(p, in, k))
            continue;
        if (stores && k == 1 && use <= RP_USE_STORES)
            use = in->seg == RP_SEG_GLOBAL ? RP_USE_STORES : RP_USE_KEEPS;
        else if (in->op == RP_OP_v_readlane_b32)
            use = RP_USE_KEEPS; /* Compilers keep scalar registers in lanes. */
        else if (in->op != RP_OP_v_cndmask_b32)
            use = RP_USE_COMPUTES;
        else if (use == RP_USE_NONE)
            use = RP_USE_SELECTS;
    }
    return use;
}

static bool leaves(const struct rp_insn *in)
{
    return in->op == RP_OP_s_setpc_b64 || in->op == RP_OP_s_swappc_b64 ||
           in->op == RP_OP_s_call_b64 || in->op == RP_OP_s_cbranch_g_fork ||
           in->op == RP_OP_s_cbranch_i_fork || in->op == RP_OP_s_cbranch_join;
}

/* Some lanes, or a part of each, keep what was there. v_writelane is not meant: compilers keep
 * scalars in lanes of a register with it, and read those lanes alone. */
static bool keeps_some(const struct rp_insn *in)
{
    enum { ALL = 0xf, DWORD = 6 };
    return (in->flags & RP_IF_SDWA && in->dst_sel != DWORD) ||
           (in->flags & RP_IF_DPP &&
            (in->row_mask != ALL || in->bank_mask != ALL || !in->bound_ctrl));
}

/* Follows one path, which begins behind the load or where a branch goes to. */
static void follow(struct paths *p, uint64_t pc, uint64_t load)
{
    struct rp_insn in;
    p->indexed = false;
    while (pc != load) {
        const unsigned bytes = p->followed++ < MOST_FOLLOWED ? decode(p->wave, pc, &in) : 0;
        const enum rp_site_use use = !bytes || leaves(&in) ? RP_USE_COMPUTES : use_of(p, &in);
        if (use > p->worst)
            p->worst = use;
        if (use || (overlap(&in.dst, &p->loaded) && !keeps_some(&in)) || in.op == RP_OP_s_endpgm)
            return;
        pc += bytes;
        if (is_branch(&in))
            add_path(p, pc + (uint64_t)((int64_t)in.offset * 4));
        if (in.op == RP_OP_s_branch)
            return;
        p->indexed =
            in.op == RP_OP_s_set_gpr_idx_on || (p->indexed && in.op != RP_OP_s_set_gpr_idx_off);
    }
}

static enum rp_site_use find_use(struct rp_wave *w, uint64_t pc, unsigned dword)
{
    struct rp_insn load;
    struct paths p = {.wave = w};
    const unsigned bytes = decode(w, pc, &load);
    if (!bytes || dword >= load.dst.dwords)
        return RP_USE_COMPUTES;
    p.loaded = load.dst;
    p.loaded.index = (uint8_t)(p.loaded.index + dword);
    p.loaded.dwords = 1;
    add_path(&p, pc + bytes);
    while (p.done < p.count && p.worst != RP_USE_COMPUTES)
        follow(&p, p.from[p.done++], pc);
    return p.worst;
}

enum rp_site_use rp_site_use(uint32_t site, unsigned dword, struct rp_wave *w)
{
    struct site *s = &all.site[site];
    if (dword >= sizeof s->use)
        return RP_USE_COMPUTES;
    if (!s->use[dword])
        s->use[dword] = (uint8_t)(1 + find_use(w, s->pc, dword));
    return (enum rp_site_use)(s->use[dword] - 1);
}

/* ---- code objects ---- */

static int open_file(const char *path, int flags)
{
    /* This is a direct call because open() is one of the library's own hooks. */
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

static uint64_t number_behind(const char *text, const char *word)
{
    const char *at = text ? strstr(text, word) : NULL;
    return at ? strtoull(at + strlen(word), NULL, 0) : 0;
}

/* Copies a path out of a URI: %20 is a space. */
static void path_of(const char *uri, char *path, size_t room)
{
    size_t used = 0;
    for (; *uri && *uri != '#' && *uri != '?' && used + 1 < room; uri++) {
        unsigned value;
        if (*uri == '%' && sscanf(uri + 1, "%2x", &value) == 1 && uri[1] && uri[2]) {
            path[used++] = (char)value;
            uri += 2;
        } else {
            path[used++] = *uri;
        }
    }
    path[used] = '\0';
}

static bool put_all(int fd, const void *from, size_t bytes)
{
    const char *p = from;
    while (bytes) {
        const ssize_t n = write(fd, p, bytes);
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool copy_part(int to, const char *uri)
{
    char path[4096], block[65536];
    const char *fragment = strchr(uri, '#');
    uint64_t offset = number_behind(fragment, "offset="), left = number_behind(fragment, "size=");
    path_of(uri + strlen("file://"), path, sizeof path);
    const int from = open_file(path, O_RDONLY);
    bool whole = from >= 0;
    if (!left)
        left = UINT64_MAX;
    while (whole && left) {
        const size_t most = left < sizeof block ? (size_t)left : sizeof block;
        const ssize_t n = pread(from, block, most, (off_t)offset);
        if (n <= 0)
            break;
        whole = put_all(to, block, (size_t)n);
        offset += (uint64_t)n;
        left -= (uint64_t)n;
    }
    if (from >= 0)
        close(from);
    return whole;
}

/* Copies what a URI of ROCm's loader names: part of a file, or of this process's memory. */
static void copy_object(struct object *o, const char *uri)
{
    char path[4096];
    snprintf(o->file, sizeof o->file, "check-%d-%d.hsaco", (int)all.pid, all.object_count);
    snprintf(path, sizeof path, "%s/%s", all.folder, o->file);
    const int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    bool copied = false;
    if (fd >= 0 && !strncmp(uri, "file://", 7))
        copied = copy_part(fd, uri);
    else if (fd >= 0 && !strncmp(uri, "memory://", 9))
        copied = put_all(fd, (const void *)(uintptr_t)number_behind(uri, "offset="),
                         number_behind(uri, "size="));
    if (fd >= 0)
        close(fd);
    if (!copied)
        o->file[0] = '\0';
}

/* ROCm's loader keeps a list of code objects for debuggers. */
static const struct link_map *loaded_at(uint64_t pc)
{
    const struct r_debug *debug = dlsym(RTLD_DEFAULT, "_amdgpu_r_debug");
    const struct link_map *best = NULL;
    for (const struct link_map *m = debug ? debug->r_map : NULL; m; m = m->l_next)
        if (m->l_addr <= pc && (!best || m->l_addr > best->l_addr))
            best = m;
    return best;
}

/* Returns which object an address is in, and where; -1: none is known. */
static int object_of(uint64_t pc, uint64_t *ret_address)
{
    const struct link_map *m = loaded_at(pc);
    if (!m)
        return -1;
    *ret_address = pc - m->l_addr;
    for (int i = 0; i < all.object_count; i++)
        if (all.object[i].base == m->l_addr)
            return i;
    if (all.object_count == MOST_OBJECTS)
        return -1;
    struct object *o = &all.object[all.object_count];
    *o = (struct object){.base = m->l_addr};
    if (all.folder)
        copy_object(o, m->l_name ? m->l_name : "");
    return all.object_count++;
}

static void find_object(uint32_t site)
{
    struct site *s = &all.site[site];
    if (s->object == -2)
        s->object = (int16_t)object_of(s->pc, &s->address);
}

/* ---- findings ---- */

static bool is_same(const struct rp_finding *a, const struct rp_finding *b)
{
    if (a->alone && b->alone)
        return a->kind == b->kind && a->lds == b->lds && a->first.site == b->first.site &&
               a->why == b->why;
    return a->kind == b->kind && a->lds == b->lds &&
           ((a->first.site == b->first.site && a->second.site == b->second.site) ||
            (a->first.site == b->second.site && a->second.site == b->first.site));
}

/* Unfolds the number of a workgroup. */
static void group_id(const uint32_t groups[3], uint64_t index, uint32_t id[3])
{
    for (unsigned i = 0; i < 3; i++) {
        const uint32_t count = groups[i] ? groups[i] : 1;
        id[i] = (uint32_t)(index % count);
        index /= count;
    }
}

void rp_finding_add(const struct rp_finding *f)
{
    const struct rp_dispatch *d = f->dispatch;
    for (uint32_t i = 0; i < all.found_count; i++)
        if (all.found[i].kernel_va == d->launch.kernel_object_va && is_same(&all.found[i].f, f)) {
            all.found[i].count++;
            return;
        }
    if (!all.found)
        all.found = calloc(MOST_FINDINGS, sizeof *all.found);
    if (!all.found || all.found_count == MOST_FINDINGS) {
        all.left_out++;
        return;
    }
    struct entry *e = &all.found[all.found_count++];
    *e = (struct entry){.f = *f,
                        .kernel_va = d->launch.kernel_object_va,
                        .dispatch = f->dispatch_number,
                        .count = 1};
    group_id(f->first_groups ? f->first_groups : d->kernel.groups, f->first.group, e->group[0]);
    if (!f->alone)
        group_id(d->kernel.groups, f->second.group, e->group[1]);
    e->kernel_object = (int16_t)object_of(e->kernel_va, &e->kernel_address);
    find_object(f->first.site);
    if (!f->alone)
        find_object(f->second.site);
    all.changed = true;
}

void rp_check_not_compared(void)
{
    all.changed |= !all.not_compared; /* The end of the process writes how many there were. */
    all.not_compared++;
}

uint64_t rp_check_take_not_compared(void)
{
    const uint64_t count = all.not_compared;
    all.not_compared = 0;
    return count;
}

/* ---- the words of a finding ---- */

static const char *const kind_words[RP_FINDING_KINDS] = {
    [RP_FINDING_RACE] = "race",        [RP_FINDING_LANES] = "lanes",
    [RP_FINDING_LOST] = "lost-update", [RP_FINDING_SAME_VALUE] = "same-value",
    [RP_FINDING_BOUNDS] = "bounds",    [RP_FINDING_UNINIT] = "uninit",
    [RP_FINDING_WAIT] = "wait",
};

static const char *access_word(uint8_t kind)
{
    if (kind & RP_PAST_BOTH)
        return "atomic";
    return kind & RP_PAST_WRITE ? "write" : "read";
}

static const char *memory_word(const struct rp_finding *f)
{
    if (f->kind == RP_FINDING_WAIT)
        return "registers";
    return f->lds ? "lds" : f->scratch ? "scratch" : "global";
}

/* ---- taken in this process ---- */

static void take_side(const struct rp_finding_side *s, const uint32_t group[3],
                      struct rp_check_record_side *ret)
{
    const struct site *at = &all.site[s->site];
    *ret = (struct rp_check_record_side){.access = access_word(s->kind),
                                         .address = at->object < 0 ? 0 : at->address,
                                         .wave = s->wave,
                                         .lane = s->lane};
    memcpy(ret->instruction, at->text, sizeof ret->instruction);
    memcpy(ret->workgroup, group, sizeof ret->workgroup);
}

bool rp_finding_take(struct rp_check_record *ret)
{
    if (all.taken == all.found_count) {
        all.taken = all.found_count = 0;
        return false;
    }
    const struct entry *e = &all.found[all.taken++];
    *ret = (struct rp_check_record){.kind = kind_words[e->f.kind],
                                    .memory = memory_word(&e->f),
                                    .why = e->f.why,
                                    .note = e->f.kind == RP_FINDING_SAME_VALUE,
                                    .address = e->f.address,
                                    .bytes = e->f.bytes,
                                    .count = e->count,
                                    .buffer_address = e->f.buffer.begin,
                                    .buffer_bytes = e->f.buffer.bytes,
                                    .sides = e->f.alone ? 1 : 2};
    take_side(&e->f.first, e->group[0], &ret->side[0]);
    if (!e->f.alone)
        take_side(&e->f.second, e->group[1], &ret->side[1]);
    return true;
}

/* ---- the file ---- */

static __attribute__((format(printf, 2, 3))) void put(int fd, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (n > 0)
        put_all(fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void put_side(int fd, const char *name, const struct rp_finding_side *s,
                     const uint32_t group[3])
{
    const struct site *at = &all.site[s->site];
    put(fd,
        ",\"%s\":{\"object\":%d,\"address\":%" PRIu64 ",\"instruction\":\"%s\",\"access\":\"%s\","
        "\"workgroup\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "],\"wave\":%" PRIu32 ",\"lane\":%" PRIu32
        "}",
        name, at->object, at->address, at->text, access_word(s->kind), group[0], group[1], group[2],
        s->wave, s->lane);
}

static void put_finding(int fd, const struct entry *e)
{
    put(fd,
        "{\"kind\":\"%s\",\"memory\":\"%s\",\"address\":%" PRIu64 ",\"bytes\":%" PRIu32
        ",\"count\":%" PRIu64 ",\"dispatch\":%" PRIu64
        ",\"why\":\"%s\",\"kernel\":{\"object\":%d,\"address\":%" PRIu64 "}",
        kind_words[e->f.kind], memory_word(&e->f), e->f.address, e->f.bytes, e->count, e->dispatch,
        e->f.why, e->kernel_object, e->kernel_address);
    if (e->f.buffer.bytes)
        put(fd, ",\"buffer\":{\"address\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", e->f.buffer.begin,
            e->f.buffer.bytes);
    put_side(fd, "first", &e->f.first, e->group[0]);
    if (!e->f.alone)
        put_side(fd, "second", &e->f.second, e->group[1]);
    put(fd, "}\n");
}

static void write_file(void)
{
    char path[4096], fresh[4096];
    if (!all.folder || all.pid != getpid())
        return; /* A forked child has findings of its own only after exec. */
    snprintf(path, sizeof path, "%s/check-%d.jsonl", all.folder, (int)all.pid);
    snprintf(fresh, sizeof fresh, "%s/check-%d.part", all.folder, (int)all.pid);
    const int fd = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0)
        return;
    put(fd, "{\"left_out\":%" PRIu64 ",\"not_compared\":%" PRIu64 ",\"objects\":[", all.left_out,
        all.not_compared);
    for (int i = 0; i < all.object_count; i++)
        put(fd, "%s\"%s\"", i ? "," : "", all.object[i].file);
    put(fd, "]}\n");
    for (uint32_t i = 0; i < all.found_count; i++)
        put_finding(fd, &all.found[i]);
    close(fd);
    rename(fresh, path);
    all.changed = false;
}

void rp_findings_flush(void)
{
    if (all.changed)
        write_file();
}

/* Counts have grown since. */
__attribute__((destructor)) static void at_end(void)
{
    if (all.found_count || all.not_compared)
        write_file();
}

void rp_findings_begin(unsigned what, const char *folder)
{
    all.what = what;
    all.folder = folder;
    all.pid = getpid();
    write_file();
}
