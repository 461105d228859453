/**
 * @file wave_record.h
 * @brief This header says what sampled workgroups did, wave by wave: the input of the detailed
 * timing model and of everything else that needs address streams (memory counters, thread traces).
 *
 * Execution stays functional and in any host order. Workgroups that the plan (below) chooses, from
 * the shape of the grid alone, note what they do while they are executed. What a wave did is the
 * same however many threads there are: one wave, one record, written by whoever executes the wave.
 * A record is plain data: nothing in it refers to the executor, so tests can make their own.
 *
 * What was recorded of a dispatch is complete when the dispatch is done. The replay engine
 * (timing_engine.h) turns it into times and counts of requests, hits and conflicts.
 */
#ifndef RP_DEVICE_TIMING_WAVE_RECORD_H
#define RP_DEVICE_TIMING_WAVE_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/exec/code_cache.h"
#include "device/isa/wave_state.h"

struct rp_arch;

#define RP_REC_LINE_NUMBERS ((1ull << 41) - 1)

#define RP_REC_BLOCK_BYTES (2ull << 20) /**< a translation of addresses is for so many */

enum { RP_REC_LINE_BYTES = 128, RP_REC_SECTOR_BYTES = 32, RP_REC_REGS = 4 };

/** This says which unit an instruction goes to, and so what it competes for. */
enum rp_rec_unit {
    RP_REC_VALU,
    RP_REC_MFMA,
    RP_REC_SALU,
    RP_REC_SMEM,
    RP_REC_VMEM, /**< FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF */
    RP_REC_LDS,
    RP_REC_BRANCH,
    RP_REC_MISC, /**< handled where it is fetched: s_nop, s_waitcnt, s_barrier, s_endpgm ... */
    RP_REC_UNITS,
};

/** This says what a MISC instruction is. */
enum rp_rec_misc {
    RP_REC_OTHER = 0,
    RP_REC_NOP,     /**< value: clocks it takes */
    RP_REC_WAITCNT, /**< vm, exp, lgkm: how many may still be under way */
    RP_REC_WAVE_BARRIER,
    RP_REC_SLEEP,    /**< value: clocks it takes */
    RP_REC_PRIORITY, /**< value: of the wave, 0 to 3 */
    RP_REC_END,
};

/** This says what part of its SIMD a VALU instruction takes. */
enum rp_rec_valu {
    RP_REC_VALU_WHOLE = 0,
    RP_REC_VALU_WHOLE_F64, /**< f64 multiply-add that reads vector registers alone */
    RP_REC_VALU_HALF,      /**< f16 or f32 that one of two multiply-add units does, likewise */
    RP_REC_VALU_HALF_F64,
};

enum { RP_REC_PRIORITIES = 4 };

struct rp_rec_regs {
    uint16_t first;
    uint16_t count; /**< 0 = none */
};

/** An instruction of the program, once however often it was executed. */
struct rp_rec_code {
    uint64_t pc;
    uint16_t op;           /**< row of the opcode table (instruction.h) */
    uint8_t unit;          /**< enum rp_rec_unit */
    uint8_t misc;          /**< enum rp_rec_misc */
    uint8_t valu;          /**< enum rp_rec_valu */
    uint8_t issue_clocks;  /**< how long it keeps the unit's port of its SIMD */
    uint8_t mfma_passes;   /**< of 4 clocks */
    uint8_t size_bytes;    /**< of its encoding */
    uint8_t vm, exp, lgkm; /**< WAITCNT; 255 = not waited for */
    bool counts_vm;        /**< a later s_waitcnt vmcnt waits for it */
    bool counts_lgkm;      /**< the same for lgkmcnt */
    bool in_order;         /**< lgkmcnt: LDS results return in order, scalar ones do not */
    uint8_t read_count, write_count;
    uint8_t accumulator; /**< MFMA: which of read is SrcC, which chains without a pause */
    uint16_t value;      /**< NOP, SLEEP */
    struct rp_rec_regs read[RP_REC_REGS + 2], write[RP_REC_REGS];
};

/** This says which memory an access is to. */
enum rp_rec_space { RP_REC_GLOBAL, RP_REC_SCALAR, RP_REC_SHARED /**< LDS */ };

/** A bit of rp_rec_access.space: instead of its lines there is one struct rp_rec_repeat. */
enum { RP_REC_PACKED = 0x80 };

/**
 * These are the bits of rp_rec_access.flags. Cache control and clocks have neither READS nor
 * WRITES, and are not in the LDS.
 */
enum {
    RP_REC_READS = 1u << 0,
    RP_REC_WRITES = 1u << 1,
    RP_REC_ATOMIC = 1u << 2,  /**< READS too when a value is returned */
    RP_REC_PRIVATE = 1u << 3, /**< scratch: lines are of a made-up region (RP_REC_PRIVATE_VA) */
    RP_REC_PAST_L1 = 1u << 4, /**< sc0 or sc1 load: a hit in the vector L1 does not serve it */
    RP_REC_PAST_L2 = 1u << 5, /**< sc1: coherent with other agents */
    RP_REC_STREAM = 1u << 6,  /**< nt */
    RP_REC_TO_LDS = 1u << 7,  /**< what is read goes there */
};

/** Scratch of waves lies in no memory of the program; its lines are numbered from here. */
#define RP_REC_PRIVATE_VA (1ull << 47)

/** A launch's packet and arguments have made-up addresses, too: pages from here to private memory.
 */
#define RP_REC_OWN_VA (RP_REC_PRIVATE_VA - (33ull << 12))

/**
 * This is a line of 128 bytes that an access touches, in the order of the lowest lane that does.
 * Scalar accesses have them too (64-byte scalar lines: number / sectors tell which half).
 */
struct rp_rec_line {
    uint64_t number : 41; /**< address / 128 */
    uint64_t sectors : 4; /**< 32-byte sectors touched */
    uint64_t whole : 4;   /**< of these, written in all bytes */
    uint64_t lanes : 7;   /**< lanes that touch it, 1 to 64 */
    uint64_t deepest : 7; /**< atomics: most lanes on the same dword; else 1 */
    uint64_t unused : 1;  /**< 0, since records are compared and hashed as bytes */
};

/**
 * Lines of an access that are those of a pattern, from another line on. It takes the place of one
 * line, until rp_record_unpack().
 */
struct rp_rec_repeat {
    uint64_t first : 41; /**< number of the line at which the pattern begins */
    uint64_t pattern : 23;
};
_Static_assert(sizeof(struct rp_rec_repeat) == sizeof(struct rp_rec_line), "in its place");

enum { RP_REC_PATTERNS = 4096 };

/** These are the patterns of a record. They stay where they are while more are added. */
struct rp_rec_patterns {
    pthread_mutex_t lock; /**< for adding */
    uint64_t serial;      /**< no other record of the process has it */
    uint32_t count;
    struct rp_rec_pattern {
        struct rp_rec_line *line; /**< numbers are distances from where the pattern begins */
        uint32_t line_count;
        uint64_t hash; /**< of whoever compares records */
    } at[RP_REC_PATTERNS];
};

/** This is one execution of a memory instruction by one wave. */
struct rp_rec_access {
    uint32_t step;       /**< which of the wave's instructions, also of those that are not kept */
    uint32_t first_line; /**< its lines are rp_rec_wave.line[first_line ... + line_count) */
    uint16_t line_count; /**< 0: no lane active, or LDS */
    uint16_t lookups;    /**< (group of 16 lanes, line) pairs: what the vector L1 looks up; gfx90a:
                              more where lanes get in each other's way (wave_observer.c) */
    uint16_t lds_clocks; /**< the LDS is busy, conflicts included; 0 = LDS not used */
    uint16_t lds_conflict_clocks; /**< of these, beyond what the same lanes need without any */
    uint8_t lanes;                /**< active; FLAT: not those that are in the LDS */
    uint8_t lane_bytes;           /**< per lane */
    uint8_t space; /**< enum rp_rec_space, RP_REC_PACKED; FLAT: GLOBAL, with lds_clocks if any */
    uint8_t flags;
};

/** EXEC changed: from this step on it is so. */
struct rp_rec_mask {
    uint64_t exec;
    uint32_t step, unused;
};

/** This is what one wave did. */
struct rp_rec_wave {
    uint32_t *step; /**< its instructions in order: indices into rp_record.code */
    uint32_t step_count;
    struct rp_rec_access *access;
    uint32_t access_count;
    struct rp_rec_line *line;
    uint32_t line_count;
    uint32_t packed_lines;            /**< how many more there are when all are unpacked */
    struct rp_rec_patterns *patterns; /**< of the record; NULL: nothing is packed */
    uint64_t insts;           /**< executed in all; more than step_count when not all was kept */
    uint64_t bytes;           /**< moved by all of them, as rp_counts counts: memory and LDS */
    struct rp_rec_mask *mask; /**< if keeps_masks: of the first step, and of each that differs */
    uint32_t mask_count, mask_room;
    uint32_t step_room, access_room, line_room;
    uint32_t limit;      /**< of step_count */
    uint64_t most_bytes; /**< with so much of access and line, full; not if all of step is kept */
    bool closed;         /**< no more of step is kept */
    bool full;           /**< nor of access, of what comes after that */
    bool lines_only;     /**< accesses to the LDS are not kept: a probe */
    bool lost;           /**< for want of host memory: what is there means nothing */
    bool same_step;      /**< step is another wave's of the record, which did the same */
    bool keeps_masks;    /**< somebody samples, so each instruction has to be noted by itself */
    bool grows;          /**< replayed while it is executed: more may follow */
};

struct rp_rec_group {
    uint64_t linear_id;
    uint32_t wave_count;
    bool lost; /**< the host had no memory for it */
    struct rp_rec_wave *wave;
};

/**
 * The plan says which workgroups of a dispatch are recorded: all when there are few. Otherwise
 * they are *main* workgroups, which one accelerator die gets from a run of consecutive workgroups
 * in the middle of the grid, and which are simulated. Between them there are a few *probes* of the
 * other dies, which tell how much of the memory that the main ones access the other dies access as
 * well.
 */
struct rp_rec_plan {
    uint64_t group_count; /**< of the dispatch */
    uint64_t first;       /**< linear id of the first main one */
    uint64_t stride;      /**< from one main one to the next: 1, or the number of dies */
    uint64_t count;       /**< main ones; 0 = nothing is recorded */
    uint64_t probe_every; /**< there is a probe behind each so manyth main one; 0 = none */
    uint64_t probes;
    uint32_t steps_limit; /**< instructions kept of a wave */
};

/**
 * A dispatch holds these hardware resources, which say how many workgroups a compute unit has room
 * for.
 */
struct rp_rec_shape {
    uint8_t limits; /**< enum rp_rec_limit */
    uint32_t waves_per_group;
    uint32_t groups_per_cu; /**< limited by wave slots, registers, LDS and barriers; at least 1 */
    uint32_t lds_bytes;     /**< per workgroup */
    uint32_t vgprs;         /**< per wave, allocated */
};

/** What caches hold of a record's memory when its dispatch starts (cache_history.h). */
struct rp_rec_warm {
    /** Tests whether the Infinity Cache has a page of 4 KiB, by address. */
    bool (*in_mall)(const struct rp_rec_warm *warm, uint64_t page);
    const void *history; /**< of whoever tests */
    unsigned dispatches;
    /* These are by number, as lines are, once the record is renumbered. */
    uint8_t *page; /**< whether it is in the Infinity Cache, of each */
    uint64_t page_count;
    struct rp_rec_warm_line {
        uint64_t number;
        uint32_t die;
        uint32_t age; /**< how many dispatches ago: the largest come first; 0: of the same one */
        bool dirty;   /**< it has been written, and not been written to memory */
    } * line;         /**< in the L2 of a die */
    uint64_t line_count;
};

/** These are blocks of RP_REC_BLOCK_BYTES, numbered in the order in which they are touched first.
 */
struct rp_rec_blocks {
    uint32_t *of_page; /**< which one each page of 4 KiB is in */
    uint64_t pages, room;
};

/** This is everything that was recorded of a dispatch. */
struct rp_wave_record {
    struct rp_rec_plan plan;
    struct rp_rec_plan sample; /**< count > 0: all are recorded, these further (rp_record_narrow) */
    struct rp_rec_shape shape;
    struct rp_rec_group *group; /**< main ones by linear id, then the probes, without steps */
    struct rp_rec_code *code;   /**< instructions that occur, by pc */
    uint32_t code_count;
    uint64_t total_waves, total_insts; /**< of the dispatch, recorded or not */
    double memory_part;                /**< of the memory, that the die has; 0: as others */
    bool keeps_steps;                  /**< as far as the plan's limit goes; else accesses only */
    bool keeps_accesses;               /**< also of what comes after the steps that are kept */
    bool placed;                       /**< rp_record_renumber_pages has been called */
    struct rp_rec_patterns *patterns;  /**< NULL: nothing is packed */
    struct rp_rec_warm *warm;          /**< NULL: caches hold nothing when it starts */
    struct rp_rec_blocks blocks;       /**< if placed */
};

/** Returns the plan of a grid, which depends on its arguments only. */
struct rp_rec_plan rp_rec_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                  uint32_t waves_per_group, uint32_t groups_per_cu);

/** Returns the plan for detailed timing alone, which already takes a part of smaller grids. */
struct rp_rec_plan rp_rec_timing_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                         uint32_t waves_per_group, uint32_t groups_per_cu);

/** Returns the index into rp_record.group, or -1 when the workgroup is not recorded. */
int64_t rp_rec_index(const struct rp_rec_plan *plan, uint64_t linear_id);

/** Returns the linear id of the group at an index below count + probes. */
uint64_t rp_rec_linear_id(const struct rp_rec_plan *plan, uint64_t index);

/**
 * Says whether a kernel may have shared out its work itself (stream-K, persistent ones), because as
 * many workgroups are launched as run at once, or as there are compute units. Which of them have
 * much to do is not known before: those of a sample may all have nothing.
 * @param sample   what rp_rec_timing_plan_of says
 * @param ret      all of them, when this is true
 */
bool rp_rec_whole_plan_of(const struct rp_arch *arch, const struct rp_rec_plan *sample,
                          uint32_t waves_per_group, uint32_t groups_per_cu,
                          struct rp_rec_plan *ret);

/** Leaves the sample alone of a record that has a sample, when all of the waves of its main
 * workgroups execute about as much as the others. Otherwise all of the record is to be simulated.
 * Called when the dispatch is over, and before the record is resolved. @return 0 or -ENOMEM */
int rp_record_narrow(struct rp_wave_record *r);

/** Returns a record, or NULL when the host is out of memory. */
struct rp_wave_record *rp_record_new(const struct rp_rec_plan *plan,
                                     const struct rp_rec_shape *shape);

/** Makes patterns, for records made by the observer. NULL: no memory, so that nothing is packed */
struct rp_rec_patterns *rp_rec_patterns_new(void);

/** Adds a pattern that begins at line @p first. @return its number, or -1: there is no room */
int rp_rec_pattern_add(struct rp_rec_patterns *p, const struct rp_rec_line *line,
                       uint32_t line_count, uint64_t first);

/** Returns the line of an access, packed or not. */
static inline struct rp_rec_line rp_rec_line_of(const struct rp_rec_wave *w,
                                                const struct rp_rec_access *a, uint32_t index)
{
    struct rp_rec_repeat repeat;
    if (!(a->space & RP_REC_PACKED))
        return w->line[a->first_line + index];
    memcpy(&repeat, &w->line[a->first_line], sizeof repeat);
    struct rp_rec_line line = w->patterns->at[repeat.pattern].line[index];
    line.number = (line.number + repeat.first) & RP_REC_LINE_NUMBERS;
    return line;
}

/** Puts lines in place of packed ones. @return 0, or -ENOMEM: some waves are as they were */
int rp_record_unpack(struct rp_wave_record *r);

/** Frees a record; NULL is accepted. */
void rp_record_free(struct rp_wave_record *r);

/** Returns 0, or -ENOMEM: a part of it is lost, so no times may be derived from the rest. */
int rp_record_status(const struct rp_wave_record *r);

/**
 * Makes a group's waves, which are empty. After this many instructions they are closed and full.
 * @return false, and the group is lost: no memory
 */
bool rp_rec_begin(struct rp_rec_group *g, uint32_t waves, uint32_t steps_limit);

/** Makes room for this many more instructions, accesses and lines. @return false: no memory */
bool rp_rec_grow(struct rp_rec_wave *w, uint32_t steps, uint32_t accesses, uint32_t lines);

/** Takes back the latest instructions, with their accesses. */
void rp_rec_cut(struct rp_rec_wave *w, uint64_t insts);

/**
 * Unpacks a finished record and renumbers its lines: pages of 4 KiB in the order in which they are
 * touched first. Else times and counts would depend on where this process happens to have its
 * memory. Nothing happens when it is called again.
 * @return 0, or -ENOMEM: some are as they were
 */
int rp_record_renumber_pages(struct rp_wave_record *r);

/** Notes which lanes are on at the next step. @return false: no memory */
bool rp_rec_note_mask(struct rp_rec_wave *w, uint64_t exec);
/** Returns which lanes were on at a step. All are, where that was not noted. */
uint64_t rp_rec_mask_at(const struct rp_rec_wave *w, uint32_t step);

/** Keeps only this many instructions of a wave with their accesses. */
void rp_rec_keep(struct rp_rec_wave *w, uint32_t steps);

/* Pages of 4 KiB are numbered in the order in which they are first touched, so that no times
 * depend on where a process has its memory.
 */

/** It uses open addressing; zeroed means none. */
struct rp_rec_numbers {
    struct rp_rec_number {
        uint64_t old; /**< + 1; 0 = free */
        uint64_t now;
    } * at;
    uint64_t size, count;
};

/** Zeroed means none. */
struct rp_rec_pages {
    struct rp_rec_numbers page, block;
    struct rp_rec_number latest; /**< page: neighbours follow each other */
    struct rp_rec_blocks blocks;
};

/** Renumbers a line. @return 0, or -ENOMEM: the line is unchanged */
int rp_rec_pages_place(struct rp_rec_pages *p, struct rp_rec_line *line);
void rp_rec_pages_release(struct rp_rec_pages *p);

/* A resolver maps addresses of executed instructions to a record's table of them. While a wave is
 * executed, its record notes distances from the kernel's entry, which costs least. A timing
 * simulation must know what the instructions are.
 */

struct rp_resolver {
    struct rp_wave_record *record; /**< whose table grows */
    uint64_t entry_va;
    uint32_t *slot;            /**< open addressing, 0 = free, else index + 1 */
    uint32_t size;             /**< a power of two */
    uint32_t room;             /**< of record->code */
    struct rp_code_page *page; /**< the latest, or NULL */
    bool no_memory;            /**< that is why there is none */
    struct rp_resolver_follower {
        uint32_t distance, index; /**< of the instruction that came after last time; + 1 */
    } * follower;                 /**< of each in record->code */
};

/** Initialises a resolver, which must be released in either case. @return 0 or -ENOMEM */
int rp_resolver_init(struct rp_resolver *m, struct rp_wave_record *record, uint64_t entry_va);
void rp_resolver_release(struct rp_resolver *m);

/**
 * Replaces distances from the kernel's entry by indices into record->code.
 * @param mem        where the code is
 * @param ret_count  how many: fewer when the code of one is not mapped any more
 * @return 0, or -ENOMEM
 */
int rp_resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step, uint32_t count,
               uint32_t *ret_count);

/* Writes down what a wave is about to execute: what rp_observer (executor.h) asks for. Steps hold
 * the distance from the kernel's entry until they are resolved (dispatch_timing.c). */

bool rp_observe_turn(struct rp_wave *w);
void rp_observe_issue(struct rp_wave *w, const struct rp_insn *in, uint64_t pc);
void rp_observe_run(struct rp_wave *w, const struct rp_insn *page, uint32_t first, uint32_t end,
                    int64_t distance);
void rp_observe_access(struct rp_wave *w, const struct rp_insn *in);

#endif
