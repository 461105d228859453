"""Holds what one step of LLVM 22 gets wrong in its place, in the code of a GPU, and changes nothing else.

usage: hold.py STEP <IN.ll >OUT.ll

An empty asm behind an instruction hides from the steps after it where its result is from. STEP says which:
  nothing   none: to see that the code by itself differs
  bits      integers whose bits are taken for a float: not made an operand of SDWA without its sign
  division  operands of integer divisions: nothing is known of their bits, so that they are not divided as short floats
  constants floats of 16 bits or fewer, which a multiply-and-add of f16 and float takes for f16
  free      what costs no instruction: not moved out of its branch by StructurizeCFG
tests/isa/semantics.md has what goes wrong. Arithmetic, packed or not, stays as it was.
"""
import re
import struct
import sys

HELD = {"half", "float", "double", "i16", "i32", "i64", "<2 x half>", "<2 x i16>", "<2 x i32>", "<2 x float>"}
FLAGS = r"(?:(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast|exact) )*"
TYPE = r"(<[^>]+>|\w+)"
COSTS_NOTHING = {
    "extractelement": (r"<\d+ x ([^>]+)> ", "{}"),
    "insertelement": (TYPE + " ", "{}"),
    "shufflevector": (r"<\d+ x ([^>]+)> .*<(\d+) x i32> ", "<{1} x {0}>"),
    "fneg": (FLAGS + TYPE + " ", "{}"),
    "bitcast": (r".* to (.*)$", "{}"),
}


def behind(step, opcode, rest):
    """The type of what is to be held, or None."""
    if step == "bits" and opcode == "bitcast":
        types = re.match(r"(?:i16|i32) \S+ to (half|float)$", rest)
        return types and types[1]
    if step == "free" and opcode in COSTS_NOTHING:
        pattern, of = COSTS_NOTHING[opcode]
        types = re.match(pattern, rest)
        return types and of.format(*types.groups())
    return None


def is_short(constant):
    """Whether a float constant of the IR has no bits in its upper half, and is not zero."""
    value = struct.unpack(">d", bytes.fromhex(constant[2:]))[0]
    return 0 < struct.unpack("<I", struct.pack("<f", value))[0] < 1 << 16


def held(name, kind, value):
    return f'  {name} = call {kind} asm sideeffect "", "=v,0"({kind} {value})\n'


def hold(step, lines):
    number = 0
    for line in lines:
        for constant in re.findall(r"float (0x[0-9A-F]{16})\b", line) if "@llvm.fma.f32(" in line else ():
            if step == "constants" and is_short(constant):
                number += 1
                yield held(f"%rp.{number}", "float", constant)
                line = line.replace(constant, f"%rp.{number}", 1)
        found = re.match(r"  (%[-\w.$]+) = " + FLAGS + r"(\w+) (.*?)(?:, !.*)?$", line)
        if not found:
            yield line
            continue
        name, opcode, rest = found.groups()
        kind = behind(step, opcode, rest)
        if kind in HELD:
            number += 1
            yield line.replace(name, f"%rp.{number}", 1)
            yield held(name, kind, f"%rp.{number}")
            continue
        operands = re.match(r"(?:exact )?(i16|i32|i64) (\S+), (\S+)$", rest)
        if step == "division" and opcode in ("udiv", "sdiv", "urem", "srem") and operands:
            names = list(operands.groups()[1:])
            for i, operand in enumerate(names):
                if operand.startswith("%"):
                    number += 1
                    names[i] = f"%rp.{number}"
                    yield held(names[i], operands[1], operand)
            line = f"  {name} = {opcode} {operands[1]} {names[0]}, {names[1]}\n"
        yield line


if len(sys.argv) != 2 or sys.argv[1] not in ("nothing", "bits", "division", "constants", "free"):
    sys.exit(__doc__)
sys.stdout.writelines(hold(sys.argv[1], sys.stdin))
