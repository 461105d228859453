/*
 * Adds up what a thread trace's stream says of each instruction.
 * usage: token_sums TARGET CODE STREAM... [--decoder LIBRARY]
 * CODE is memory with a line before it: its address and that of the kernel's first instruction.
 * STREAM has the eight bytes before it that decoders want. Streams are read by the tests' own
 * reader, or by AMD's decoder. Prints distance from the kernel, text, executions, latency and stall
 * of each instruction; registers that were written, and how many waves there were.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "unit/timing/token_reader.h"

struct sum {
    uint64_t executions, latency, stall;
};

struct program {
    uint8_t *bytes;
    uint64_t from, entry, count;
    struct sum *sum; /* of each dword */
    uint64_t waves, instructions, unknown;
};

static uint8_t *read_all(const char *path, size_t *ret_count)
{
    FILE *file = fopen(path, "rb");
    size_t room = 1 << 27;
    uint8_t *bytes = malloc(room);
    if (!file || !bytes) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    *ret_count = fread(bytes, 1, room, file);
    fclose(file);
    return bytes;
}

static void read_code(const char *path, struct program *p)
{
    size_t count;
    uint8_t *bytes = read_all(path, &count);
    const uint8_t *line = memchr(bytes, '\n', count);
    if (!line || sscanf((char *)bytes, "%" SCNx64 " %" SCNx64, &p->from, &p->entry) != 2)
        exit(1);
    p->bytes = bytes + (line + 1 - bytes);
    p->count = count - (size_t)(line + 1 - bytes);
    p->sum = calloc(p->count / 4 + 1, sizeof *p->sum);
}

static unsigned decode(const struct program *p, uint64_t pc, struct rp_insn *ret)
{
    uint32_t dword[4] = {0};
    if (pc < p->from || pc - p->from >= p->count || pc % 4)
        return 0;
    const uint64_t left = p->count - (pc - p->from);
    memcpy(dword, p->bytes + (pc - p->from), left < sizeof dword ? left : sizeof dword);
    return rp_isa_decode(dword, left < sizeof dword ? left / 4 : 4, ret);
}

static bool code_at(void *ctx, uint64_t pc, struct rp_read_code *ret)
{
    struct rp_insn in;
    ret->bytes = decode(ctx, pc, &in);
    ret->target = pc + ret->bytes + (uint64_t)(4 * (int64_t)(int16_t)in.offset);
    return ret->bytes > 0;
}

static void add(struct program *p, uint64_t pc, uint64_t latency, uint64_t stall)
{
    p->instructions++;
    if (pc < p->from || pc - p->from >= p->count) {
        p->unknown++;
        return;
    }
    struct sum *to = &p->sum[(pc - p->from) / 4];
    to->executions++;
    to->latency += latency;
    to->stall += stall;
}

/* ---- the tests' own reader ---- */

static void read_stream(struct program *p, const uint8_t *bytes, size_t count)
{
    uint64_t header;
    memcpy(&header, bytes, 8);
    struct rp_read_stream *s = rp_read_tokens(bytes + 8, count - 8, header >> 20 & 0x1f);
    if (s->fault) {
        fprintf(stderr, "%s\n", s->fault);
        exit(1);
    }
    rp_read_places(s, code_at, p);
    for (size_t i = 0; i < s->registers; i++)
        printf("register %" PRIx32 " %" PRIx32 "\n", s->reg[i].address, s->reg[i].value);
    printf("begins %zu ends %zu\n", s->begins, s->ends);
    for (size_t i = 0; i < s->waves; i++) {
        p->waves += s->wave[i].count > 0;
        for (size_t k = 0; k < s->wave[i].count; k++)
            add(p, s->wave[i].inst[k].pc, s->wave[i].inst[k].latency, s->wave[i].inst[k].stall);
    }
    rp_read_free(s);
}

/* ---- AMD's decoder: what is used of rocprof_trace_decoder.h ---- */

struct pc {
    uint64_t address, code_object;
};

struct decoded_inst {
    uint32_t category : 8, stall : 24;
    int32_t duration;
    int64_t time;
    struct pc pc;
};

struct decoded_wave {
    uint8_t cu, simd, slot, contexts;
    uint32_t reserved[3];
    int64_t begin, end;
    uint64_t timeline_size, instructions_size;
    void *timeline;
    struct decoded_inst *instructions;
};

enum { RECORD_WAVE = 3, RECORD_INFO = 4, NO_ADDRESS = 3, NO_ROOM = 2 };

struct decoding {
    struct program *p;
    uint8_t *bytes;
    uint64_t count;
};

static uint64_t give_stream(uint8_t **bytes, uint64_t *count, void *ctx)
{
    struct decoding *d = ctx;
    const uint64_t given = d->count;
    *bytes = d->bytes;
    *count = given;
    d->count = 0;
    return given;
}

/* Branches end with their distance, as LLVM writes them. */
static int give_text(char *text, uint64_t *bytes, uint64_t *text_bytes, struct pc at, void *ctx)
{
    struct decoding *d = ctx;
    char line[300];
    struct rp_insn in;
    *bytes = decode(d->p, at.address, &in);
    if (!*bytes)
        return NO_ADDRESS;
    rp_isa_print(&in, at.address, line, sizeof line);
    if (strstr(line, "branch"))
        snprintf(line, sizeof line, "%s %d", rp_isa_mnemonic(in.op), (int)(uint16_t)in.offset);
    const size_t length = strlen(line);
    if (length > *text_bytes) {
        *text_bytes = length;
        return NO_ROOM;
    }
    memcpy(text, line, length);
    *text_bytes = length;
    return 0;
}

static int take_record(int type, void *records, uint64_t count, void *ctx)
{
    struct decoding *d = ctx;
    for (uint64_t i = 0; type == RECORD_INFO && i < count; i++)
        printf("info %d\n", ((const int *)records)[i]);
    for (uint64_t i = 0; type == RECORD_WAVE && i < count; i++) {
        const struct decoded_wave *w = (const struct decoded_wave *)records + i;
        d->p->waves += w->instructions_size > 0;
        for (uint64_t k = 0; k < w->instructions_size; k++)
            add(d->p, w->instructions[k].pc.address, (uint64_t)w->instructions[k].duration,
                w->instructions[k].stall);
    }
    return 0;
}

typedef int parse_fn(uint64_t (*)(uint8_t **, uint64_t *, void *),
                     int (*)(int, void *, uint64_t, void *),
                     int (*)(char *, uint64_t *, uint64_t *, struct pc, void *), void *);

static void decode_stream(struct program *p, parse_fn *parse, uint8_t *bytes, size_t count)
{
    struct decoding d = {p, bytes, count};
    const int status = parse(give_stream, take_record, give_text, &d);
    if (status) {
        fprintf(stderr, "AMD's decoder ends with status %d\n", status);
        exit(1);
    }
}

static parse_fn *open_decoder(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    parse_fn *parse =
        library ? (parse_fn *)dlsym(library, "rocprof_trace_decoder_parse_data") : NULL;
    if (!parse) {
        fprintf(stderr, "%s: no decoder\n", path);
        exit(1);
    }
    return parse;
}

int main(int argc, char **argv)
{
    struct program p = {0};
    parse_fn *parse = NULL;
    if (argc > 5 && !strcmp(argv[argc - 2], "--decoder")) {
        parse = open_decoder(argv[argc - 1]);
        argc -= 2;
    }
    if (argc < 4)
        return 2;
    rp_isa_target_set(argv[1]);
    read_code(argv[2], &p);
    for (int i = 3; i < argc; i++) {
        size_t count;
        uint8_t *bytes = read_all(argv[i], &count);
        if (count < 8)
            return 1;
        if (parse)
            decode_stream(&p, parse, bytes, count);
        else
            read_stream(&p, bytes, count);
    }
    for (uint64_t i = 0; i < p.count / 4; i++) {
        char text[300];
        struct rp_insn in;
        if (!p.sum[i].executions || !decode(&p, p.from + 4 * i, &in))
            continue;
        rp_isa_print(&in, p.from + 4 * i, text, sizeof text);
        printf("%" PRId64 "|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n",
               (int64_t)(p.from + 4 * i - p.entry), text, p.sum[i].executions, p.sum[i].latency,
               p.sum[i].stall);
    }
    printf("waves %" PRIu64 " instructions %" PRIu64 " unknown %" PRIu64 "\n", p.waves,
           p.instructions, p.unknown);
    return 0;
}
