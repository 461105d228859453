/* What the encoder writes, as objdump reads it. */
#include "device/jit/x86_emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/cmocka_all.h"

enum { ROOM = 1 << 16, LINES = 4096, TEXT = 120 };

static uint8_t code[ROOM];
static struct rp_x86 e;
static char expected[LINES][TEXT];
static unsigned lines;

/* Operands of each row in AT&T's order: i immediate, m register or memory, v, r; upper case: 256
 * bits; k: a mask in the place of r; g: a general register in the place of m. */
static const struct {
    const char *mnemonic, *operands;
} vops[] = {
#define RP_X86_V(name, map, pp, w, opcode, ext, length, memory_bytes, imm, text)                   \
    [RP_X86_##name] = {text, FORM_##name},
#define RP_X86_K(name, pp, w, l, opcode, text)
#define FORM_VMOVLOAD       "mr"
#define FORM_VMOVSTORE      "rm"
#define FORM_VMOVULOAD      "mr"
#define FORM_VMOVUSTORE     "rm"
#define FORM_VBROADCAST     "mr"
#define FORM_VBROADCAST_REG "gr"
#define FORM_VADDPS         "mvr"
#define FORM_VMULPS         "mvr"
#define FORM_VSUBPS         "mvr"
#define FORM_VFMADD231PS    "mvr"
#define FORM_VFMSUB231PS    "mvr"
#define FORM_VFNMADD231PS   "mvr"
#define FORM_VFNMSUB231PS   "mvr"
#define FORM_VRNDSCALEPS    "imr"
#define FORM_VRANGEPS       "imvr"
#define FORM_VCMPPS         "imvk"
#define FORM_VADDPD         "mvr"
#define FORM_VMULPD         "mvr"
#define FORM_VFMADD231PD    "mvr"
#define FORM_VCMPPD         "imvk"
#define FORM_VCVTDQ2PS      "mr"
#define FORM_VCVTUDQ2PS     "mr"
#define FORM_VCVTTPS2DQ     "mr"
#define FORM_VCVTTPS2UDQ    "mr"
#define FORM_VCVTPS2PH      "irM"
#define FORM_VCVTPH2PS      "Mr"
#define FORM_VCVTPS2PD      "Mr"
#define FORM_VCVTDQ2PD      "Mr"
#define FORM_VCVTUDQ2PD     "Mr"
#define FORM_VPMOVDW        "rM"
#define FORM_VPMOVZXWD      "Mr"
#define FORM_VEXTRACTI64X4  "irM"
#define FORM_VPADDD         "mvr"
#define FORM_VPSUBD         "mvr"
#define FORM_VPANDD         "mvr"
#define FORM_VPANDND        "mvr"
#define FORM_VPORD          "mvr"
#define FORM_VPXORD         "mvr"
#define FORM_VPTERNLOGD     "imvr"
#define FORM_VPSLLVD        "mvr"
#define FORM_VPSRLVD        "mvr"
#define FORM_VPSRAVD        "mvr"
#define FORM_VPSLLD_IMM     "imv"
#define FORM_VPSRLD_IMM     "imv"
#define FORM_VPSRAD_IMM     "imv"
#define FORM_VPSRLQ_IMM     "imv"
#define FORM_VPSLLQ_IMM     "imv"
#define FORM_VPMINSD        "mvr"
#define FORM_VPMAXSD        "mvr"
#define FORM_VPMINUD        "mvr"
#define FORM_VPMAXUD        "mvr"
#define FORM_VPMULLD        "mvr"
#define FORM_VPCMPD         "imvk"
#define FORM_VPCMPUD        "imvk"
#define FORM_VPTESTMD       "mvk"
#define FORM_VPBLENDMD      "mvr"
#define FORM_VPERMD         "mvr"
#define FORM_VPERMT2D       "mvr"
#define FORM_VPUNPCKLDQ     "mvr"
#define FORM_VPUNPCKHDQ     "mvr"
#define FORM_VSHUFI64X2     "imvr"
#define FORM_VSHUFPS        "imvr"
#include "device/jit/x86_emit.def"
};

static void expect(const char *text)
{
    assert_true(lines < LINES);
    snprintf(expected[lines++], TEXT, "%s", text);
}

static const char *const names64[] = {"%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp",
                                      "%rsi", "%rdi", "%r8",  "%r9",  "%r10", "%r11",
                                      "%r12", "%r13", "%r14", "%r15"};

static void memory_text(char *to, struct rp_rm rm)
{
    if (rm.disp == 0 && (rm.reg & 7) == RP_RBP) /* cannot be left out */
        sprintf(to, "0x0(%s)", names64[rm.reg]);
    else if (rm.disp == 0)
        sprintf(to, "(%s)", names64[rm.reg]);
    else if (rm.disp < 0)
        sprintf(to, "-0x%x(%s)", (unsigned)-rm.disp, names64[rm.reg]);
    else
        sprintf(to, "0x%x(%s)", (unsigned)rm.disp, names64[rm.reg]);
}

struct operands {
    unsigned reg, v, imm;
    struct rp_rm rm;
    struct rp_mask mask;
    unsigned elements;
};

/* One operand of the text; the last one gets the mask. */
static void operand_text(char *to, char form, const struct operands *o, bool last)
{
    if (form == 'i')
        sprintf(to, "$0x%x", o->imm);
    else if (form == 'v')
        sprintf(to, "%%zmm%u", o->v);
    else if (form == 'r')
        sprintf(to, "%%zmm%u", o->reg);
    else if (form == 'k')
        sprintf(to, "%%k%u", o->reg & 7);
    else if (o->rm.is_memory)
        memory_text(to, o->rm);
    else if (form == 'g')
        sprintf(to, "%%e%s", names64[o->rm.reg & 7] + 2);
    else
        sprintf(to, "%%%cmm%u", form == 'M' ? 'y' : 'z', o->rm.reg);
    if ((form == 'm' || form == 'M') && o->mask.broadcast)
        sprintf(to + strlen(to), "{1to%u}", o->elements);
    if (last && o->mask.k)
        sprintf(to + strlen(to), "{%%k%u}%s", o->mask.k, o->mask.zero ? "{z}" : "");
}

static void vector(enum rp_x86_vop op, struct operands o)
{
    const char *form = vops[op].operands;
    char text[TEXT] = "";
    if (strchr(form, 'k'))
        o.reg &= 7;
    if (!strchr(form, 'v'))
        o.v = 0;
    if (strchr(form, 'g'))
        o.rm = rp_reg(o.rm.reg & 7);
    sprintf(text, "%s ", vops[op].mnemonic);
    for (unsigned i = 0; form[i]; i++) {
        operand_text(text + strlen(text), form[i], &o, !form[i + 1]);
        if (form[i + 1])
            strcat(text, ",");
    }
    expect(text);
    rp_x86_v(&e, op, o.mask, o.reg, o.v, o.rm, o.imm);
}

static void write_vectors(void)
{
    static const struct rp_rm places[] = {
        {true, RP_RBX, 0},      {true, RP_R12, -8192}, {true, RP_R12, 8128},    {true, RP_RBP, 0},
        {true, RP_R13, 0x1234}, {true, RP_RSP, 64},    {true, RP_R15, -0x40000}};
    for (unsigned op = 0; op < RP_X86_VOPS; op++) {
        const char *form = vops[op].operands;
        const bool is_store = form[strlen(form) - 1] == 'm' || form[strlen(form) - 1] == 'M';
        const bool scalar = op == RP_X86_VBROADCAST || strchr(form, 'g');
        for (unsigned k = 0; k < 8; k++) { /* registers, each bit of each number */
            struct operands o = {.reg = (5 + 9 * k) % 32, .v = (30 + 7 * k) % 32, .imm = 0x40 + k};
            o.rm = rp_reg((18 + 11 * k) % 32);
            o.mask.k = (uint8_t)k;
            o.mask.zero = k > 4 && !strchr(form, 'k') && !strchr(form, 'g');
            if (op != RP_X86_VBROADCAST) /* of a register it is an XMM */
                vector((enum rp_x86_vop)op, o);
        }
        for (unsigned i = 0; i < sizeof places / sizeof places[0] && !strchr(form, 'g'); i++) {
            struct operands o = {.reg = 17 - i, .v = 12 + i, .imm = 0x21, .rm = places[i]};
            vector((enum rp_x86_vop)op, o);
        }
        const char *name = vops[op].mnemonic;
        const bool can_broadcast = !is_store && !scalar && op != RP_X86_VMOVLOAD &&
                                   op != RP_X86_VMOVULOAD && op != RP_X86_VCVTPH2PS &&
                                   op != RP_X86_VPMOVZXWD;
        if (can_broadcast) {
            struct operands o = {.reg = 3, .v = 9, .imm = 0x45, .rm = rp_at(RP_RBX, 0x104)};
            const bool is_qword =
                (strstr(name, "pd") == name + strlen(name) - 2 && op != RP_X86_VPCMPD) ||
                strstr(name, "64x2") || strstr(name, "psrlq") || strstr(name, "psllq");
            o.mask.broadcast = true;
            o.elements = is_qword ? 8 : 16;
            if (strchr(form, 'M'))
                o.elements = 8; /* of dwords, to qwords */
            if (is_qword && !strchr(form, 'M'))
                o.rm.disp = 0x108;
            vector((enum rp_x86_vop)op, o);
        }
    }
}

/* Masks: registers r, v, m, in AT&T's order again; q, d: a general register. */
static void write_masks(void)
{
    static const struct {
        enum rp_x86_kop op;
        const char *text;
        unsigned reg, v;
        struct rp_rm rm;
    } rows[] = {
        {RP_X86_KMOVW_LOAD, "kmovw 0x206(%rbx),%k5", 5, 0, {true, RP_RBX, 0x206}},
        {RP_X86_KMOVQ_LOAD, "kmovq (%r12),%k1", 1, 0, {true, RP_R12, 0}},
        {RP_X86_KMOVQ_STORE, "kmovq %k3,0x8(%rbx)", 3, 0, {true, RP_RBX, 8}},
        {RP_X86_KMOVW_TO_REG, "kmovw %k2,%edx", RP_RDX, 0, {false, 2, 0}},
        {RP_X86_KMOVQ_TO_REG, "kmovq %k7,%r9", RP_R9, 0, {false, 7, 0}},
        {RP_X86_KMOVQ_FROM_REG, "kmovq %r10,%k6", 6, 0, {false, RP_R10, 0}},
        {RP_X86_KNOTW, "knotw %k3,%k4", 4, 0, {false, 3, 0}},
        {RP_X86_KANDNW, "kandnw %k3,%k2,%k1", 1, 2, {false, 3, 0}},
        {RP_X86_KORW, "korw %k6,%k5,%k4", 4, 5, {false, 6, 0}},
        {RP_X86_KUNPCKBW, "kunpckbw %k3,%k2,%k1", 1, 2, {false, 3, 0}},
        {RP_X86_KUNPCKWD, "kunpckwd %k3,%k2,%k1", 1, 2, {false, 3, 0}},
        {RP_X86_KUNPCKDQ, "kunpckdq %k7,%k0,%k1", 1, 0, {false, 7, 0}},
        {RP_X86_KORTESTW, "kortestw %k2,%k1", 1, 0, {false, 2, 0}},
    };
    assert_int_equal(sizeof rows / sizeof rows[0], RP_X86_KOPS);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(rows[i].op, i);
        expect(rows[i].text);
        rp_x86_k(&e, rows[i].op, rows[i].reg, rows[i].v, rows[i].rm);
    }
    expect("vzeroupper");
    rp_x86_vzeroupper(&e);
}

#define LINE(text, call)                                                                           \
    do {                                                                                           \
        expect(text);                                                                              \
        call;                                                                                      \
    } while (0)

static void write_moves(void)
{
    LINE("mov 0x10(%rbx),%eax", rp_x86_load(&e, false, RP_RAX, rp_at(RP_RBX, 16)));
    LINE("mov 0x1000(%r13),%r9", rp_x86_load(&e, true, RP_R9, rp_at(RP_R13, 0x1000)));
    LINE("mov %rdi,%rbx", rp_x86_load(&e, true, RP_RBX, rp_reg(RP_RDI)));
    LINE("mov %r14,0x8(%rcx)", rp_x86_store(&e, true, rp_at(RP_RCX, 8), RP_R14));
    LINE("mov %edx,(%r12)", rp_x86_store(&e, false, rp_at(RP_R12, 0), RP_RDX));
    LINE("lea 0x12345(%rbp),%rax", rp_x86_lea(&e, RP_RAX, rp_at(RP_RBP, 0x12345)));
    LINE("mov $0x7,%r12d", rp_x86_mov_imm(&e, RP_R12, 7));
    LINE("movabs $0x123456789abcdef0,%rcx", rp_x86_mov_imm(&e, RP_RCX, 0x123456789abcdef0));
    LINE("cmovne %rcx,%rax", rp_x86_cmov(&e, true, RP_CC_NE, RP_RAX, rp_reg(RP_RCX)));
    LINE("cmovg (%rbx),%r9d", rp_x86_cmov(&e, false, RP_CC_G, RP_R9, rp_at(RP_RBX, 0)));
    expect("setb %dl");
    LINE("movzbl %dl,%edx", rp_x86_set(&e, RP_CC_B, RP_RDX));
    expect("seto %sil");
    LINE("movzbl %sil,%esi", rp_x86_set(&e, RP_CC_O, RP_RSI));
    expect("setle %r11b");
    LINE("movzbl %r11b,%r11d", rp_x86_set(&e, RP_CC_LE, RP_R11));
    LINE("prefetcht1 0x800(%rax)", rp_x86_prefetch(&e, rp_at(RP_RAX, 0x800)));
    LINE("prefetchw (%r9)", rp_x86_prefetch_write(&e, rp_at(RP_R9, 0)));
    LINE("push %rbx", rp_x86_push(&e, RP_RBX));
    LINE("push %r15", rp_x86_push(&e, RP_R15));
    LINE("pop %r12", rp_x86_pop(&e, RP_R12));
    LINE("ret", rp_x86_ret(&e));
    LINE("call *%rax", rp_x86_call_reg(&e, RP_RAX));
    LINE("jmp *%rdx", rp_x86_jmp_reg(&e, RP_RDX));
}

static void write_arithmetic(void)
{
    static const char *const alu[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
    char text[TEXT];
    for (unsigned op = 0; op < 8; op++) {
        sprintf(text, "%s %%ecx,%%eax", alu[op]);
        LINE(text, rp_x86_alu(&e, false, (enum rp_x86_alu)op, RP_RAX, rp_reg(RP_RCX)));
        sprintf(text, "%s 0x200(%%rbx),%%r14", alu[op]);
        LINE(text, rp_x86_alu(&e, true, (enum rp_x86_alu)op, RP_R14, rp_at(RP_RBX, 0x200)));
        sprintf(text, "%s %%rdx,0x2008(%%rcx)", alu[op]);
        LINE(text, rp_x86_alu_to(&e, true, (enum rp_x86_alu)op, rp_at(RP_RCX, 0x2008), RP_RDX));
        sprintf(text, "%sq $0xffffffffffffff80,0x8(%%rbx)", alu[op]);
        LINE(text, rp_x86_alu_imm(&e, true, (enum rp_x86_alu)op, rp_at(RP_RBX, 8), -128));
        sprintf(text, "%s $0x80,%%r13d", alu[op]);
        LINE(text, rp_x86_alu_imm(&e, false, (enum rp_x86_alu)op, rp_reg(RP_R13), 128));
    }
    LINE("cmpb $0x0,0x300(%rbx)", rp_x86_cmp_byte(&e, rp_at(RP_RBX, 0x300), 0));
    LINE("test %eax,%eax", rp_x86_test(&e, false, RP_RAX, RP_RAX));
    LINE("test %r9,%rdx", rp_x86_test(&e, true, RP_RDX, RP_R9));
    LINE("not %ecx", rp_x86_not(&e, false, RP_RCX));
    LINE("not %r10", rp_x86_not(&e, true, RP_R10));
    LINE("shl %cl,%eax", rp_x86_shift_cl(&e, false, RP_SHL, RP_RAX));
    LINE("sar %cl,%r9", rp_x86_shift_cl(&e, true, RP_SAR, RP_R9));
    LINE("shr $0x1f,%eax", rp_x86_shift_imm(&e, false, RP_SHR, RP_RAX, 31));
    LINE("shl $0x3f,%rdx", rp_x86_shift_imm(&e, true, RP_SHL, RP_RDX, 63));
    LINE("imul %ecx,%eax", rp_x86_imul(&e, false, RP_RAX, rp_reg(RP_RCX)));
    LINE("tzcnt 0x208(%rbx),%rax", rp_x86_tzcnt(&e, true, RP_RAX, rp_at(RP_RBX, 0x208)));
    LINE("popcnt 0x208(%rbx),%rdx", rp_x86_popcnt(&e, true, RP_RDX, rp_at(RP_RBX, 0x208)));
    LINE("popcnt %r9d,%r10d", rp_x86_popcnt(&e, false, RP_R10, rp_reg(RP_R9)));
}

/* Addresses in the buffer and jumps: objdump prints where they lead. */
static void write_jumps(void)
{
    char text[TEXT];
    const size_t start = e.bytes;
    expect("vaddps 0x40(%rip),%zmm1,%zmm2");
    sprintf(expected[lines - 1], "vaddps 0x%x(%%rip),%%zmm1,%%zmm2 # 0x%zx", 0x40u,
            start + 10 + 64);
    rp_x86_v(&e, RP_X86_VADDPS, RP_ALL, 2, 1, rp_at(RP_RIP, (int32_t)(start + 10 + 64)), 0);
    sprintf(text, "vrangeps $0x4,-0x%zx(%%rip){1to16},%%zmm1,%%zmm2 # 0x8", e.bytes + 11 - 8);
    LINE(text, rp_x86_v(&e, RP_X86_VRANGEPS, RP_BROADCAST, 2, 1, rp_at(RP_RIP, 8), 4));
    sprintf(text, "jmp 0x%zx", start);
    LINE(text, rp_x86_land(&e, rp_x86_jmp(&e), start));
    sprintf(text, "ja 0x%zx", e.bytes + 16);
    const size_t ja = rp_x86_jcc(&e, RP_CC_A);
    LINE(text, rp_x86_land(&e, ja, ja + 14));
}

/* Without the spaces that only align, and without the names of data16 and the like. */
static void normalise(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++) {
        if (*from == '\n')
            break;
        if ((*from == ' ' || *from == '\t') && (to == text || to[-1] == ' '))
            continue;
        *to++ = *from == '\t' ? ' ' : *from;
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = 0;
}

static void compare_with_objdump(void)
{
    char path[] = "/tmp/rp-x86-XXXXXX", command[200], line[400];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, code, e.bytes), (ssize_t)e.bytes);
    close(fd);
    snprintf(command, sizeof command,
             "objdump -D -b binary -m i386:x86-64 --no-show-raw-insn -z %s", path);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    unsigned n = 0;
    while (fgets(line, sizeof line, out)) {
        char *text = strstr(line, ":\t");
        if (!text)
            continue;
        normalise(text += 2);
        if (n >= lines || strcmp(text, expected[n]))
            fail_msg("line %u is \"%s\", not \"%s\"", n, text, n < lines ? expected[n] : "");
        n++;
    }
    pclose(out);
    unlink(path);
    assert_int_equal(n, lines);
}

static void start(void)
{
    e = (struct rp_x86){.code = code, .room_bytes = sizeof code};
    lines = 0;
}

static void test_vectors(void **state)
{
    (void)state;
    start();
    write_vectors();
    assert_false(e.full);
    compare_with_objdump();
}

static void test_others(void **state)
{
    (void)state;
    start();
    write_masks();
    write_moves();
    write_arithmetic();
    write_jumps();
    compare_with_objdump();
}

static void test_room(void **state)
{
    (void)state;
    start();
    e.room_bytes = 9;
    rp_x86_v(&e, RP_X86_VADDPS, RP_ALL, 2, 1, rp_at(RP_RBX, 0x12345), 0);
    assert_true(e.full);
    assert_int_equal(e.bytes, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
