#!/usr/bin/env python3
"""tools/check-layers, check-words, structure and mutants on a small tree: what is right passes, and each fault is named.

usage: tests/tools/check_tools.py layers|words|structure|mutants SOURCE_FOLDER
"""
import os
import shutil
import subprocess
import sys
import tempfile

# A tree without faults, in which some things look like one.
CLEAN = {
    "src/base/err.h": "int rp_fail(void);\n",
    "src/base/err.c": '#include "base/err.h"\nint rp_fail(void)\n{\n    return -1;\n}\n',
    # rp_twin is exported by one file, and static in another by a macro: low.c calls the first one.
    "src/base/a.c": "RP_INLINE int rp_twin(void)\n{\n    return rp_low();\n}\n",
    "src/base/low.c": "int rp_low(void)\n{\n    return rp_twin();\n}\n",
    "src/base/twin.c": "static int odd(void)\n{\n#if A\n    if (1) {\n#else\n    {\n#endif\n    }\n}\nint rp_twin(void)\n{\n    return 1;\n}\n",
    "src/trace/records.h": '#include "base/err.h"\nint rp_record(void);\nstruct rp_late\n{\n    int n;\n};\n',
    # rp_late here is a type, a comment, a text and a member; rp_late_by is a static function of this file.
    "src/trace/records.c": '#include "trace/records.h"\n/* rp_late() comes later */\nRP_INLINE int rp_late_by(void)\n{\n'
                           '    return 0;\n}\nint rp_record(void)\n{\n    struct rp_late late = {.n = 1};\n'
                           '    return rp_fail() + rp_late_by() + late.n + sizeof "rp_late()";\n}\n',
    "src/run/launch.h": "#define RP_INLINE static inline\nint rp_late(void);\nint rp_late_by(void);\n",
    "src/run/launch.c": '#include "run/launch.h"\n#include "trace/records.h"\nint rp_late(void)\n{\n    return rp_record();\n}\n'
                        "int rp_late_by(void)\n{\n    return rp_record();\n}\n",
    "src/device/isa/decode.h": "int rp_decode(void);\n",
    "src/device/isa/decode.c": '#include "device/isa/decode.h"\nint rp_decode(void)\n{\n    return 0;\n}\n',
    "src/device/exec/dispatch.h": "int rp_dispatch(void);\n",
    "src/device/exec/dispatch.c": '#include "device/exec/dispatch.h"\n#include "../isa/decode.h"\nint rp_dispatch(void)\n{\n'
                                  "    return rp_decode();\n}\n",
    "src/device/driver/queues.c": '#include "device/exec/dispatch.h"\nint rp_queue(void)\n{\n    return rp_dispatch();\n}\n',
}


class Tree:
    def __init__(self, source):
        self.source, self.top, self.failures = source, tempfile.mkdtemp(), 0

    def fill(self, changes):
        """The clean tree with other or further files."""
        shutil.rmtree(self.top)
        for path, text in {**CLEAN, **changes}.items():
            name = os.path.join(self.top, path)
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)

    def run(self, tool, *options, given=""):
        options = options if tool == "mutants" else (self.top, *options)
        command = [os.path.join(self.source, "tools", tool), *options]
        return subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def expect(self, what, result, status, *says):
        missing = [words for words in says if words not in result.stdout]
        if result.returncode != status or missing:
            self.failures += 1
            print(f"FAILED {what}: status {result.returncode}, not {status}; missing {missing}\n{result.stdout}")

    def read(self, path):
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            return file.read()


def layers(tree):
    def refused(what, changes, *says):
        tree.fill(changes)
        tree.expect(what, tree.run("check-layers"), 1, *says)

    tree.fill({})
    tree.expect("clean", tree.run("check-layers"), 0, "all includes and calls allowed")
    refused("room", {"src/trace/x.c": '\n#include "run/launch.h"\n'}, "src/trace/x.c:2: trace may not use run/launch.h (run)")
    refused("unknown room", {"src/tools/x.c": ""}, "src/tools: a room that")
    refused("unknown layer", {"src/device/face/x.c": ""}, "src/device/face: a layer that")
    refused("no such header", {"src/run/x.c": '#include "trace/y.h"\n'}, "there is no trace/y.h")
    refused("public header of nobody", {"src/run/x.c": "#include <rocm-perf/y.h>\n"}, "run may not use rocm-perf/y.h")
    refused("outside library", {"src/run/x.c": "#include <sqlite3.h>\n"}, "src/run/x.c:1: run may not use <sqlite3.h>")
    refused("outside library, one file", {"src/optimize/x.c": "#include <curl/curl.h>\n"}, "may use <curl/curl.h>")
    refused("layer, include", {"src/device/isa/x.c": '#include "../exec/dispatch.h"\n'},
            "src/device/isa/x.c:1: isa may not use ../exec/dispatch.h (exec)")
    refused("layer, call", {"src/device/isa/x.c": "int rp_dispatch(void);\nint rp_x(void)\n{\n    return rp_dispatch();\n}\n"},
            "src/device/isa/x.c: isa may not use rp_dispatch (exec)")
    refused("layer, room", {"src/device/isa/x.c": '#include "trace/records.h"\n'}, "isa may not use trace/records.h (trace)")
    refused("jit and timing", {"src/device/jit/a.h": "", "src/device/timing/x.c": '#include "../jit/a.h"\n'},
            "timing may not use ../jit/a.h (jit)")
    circle = {"src/base/err.c": CLEAN["src/base/err.c"].replace("-1", "rp_other()"),
              "src/base/other.c": "int rp_other(void)\n{\n    return rp_fail();\n}\n"}
    refused("circle of calls", circle, "a circle of 2 files: src/base/err.c src/base/other.c",
            "src/base/err.c uses src/base/other.c: rp_other", "src/base/other.c uses src/base/err.c: rp_fail")
    by_enum = {"src/base/err.c": circle["src/base/err.c"],
               "src/base/other.c": circle["src/base/other.c"].replace("int rp_other", "enum rp_answer rp_other")}
    refused("circle through a function that returns an enum", by_enum, "a circle of 2 files")
    refused("circle of headers", {"src/base/err.h": '#include "base/a.h"\n', "src/base/a.h": '#include "err.h"\n'},
            "a circle of 2 files: src/base/a.h src/base/err.h")
    refused("name twice", {"src/run/records.c": ""}, "the name records.c stands twice: src/run/records.c src/trace/records.c")

    refused("environment changed", {"src/run/x.c": 'void rp_x(void)\n{\n    setenv("A", "1", 1);\n}\n'},
            "src/run/x.c:3: setenv stands in src/base/process.c")
    refused("variable read elsewhere", {"src/cli/x.c": 'const char *rp_x(void)\n{\n    return getenv("ROCM_PERF_CACHE");\n}\n'},
            'src/cli/x.c: "ROCM_PERF_CACHE" is read by src/run/run_options.c')
    twice = 'const char *rp_x(void)\n{\n    return getenv("ROCM_PERF_CACHE") ?: getenv("ROCM_PERF_CACHE");\n}\n'
    refused("variable read twice", {"src/run/machine.c": twice}, '"ROCM_PERF_CACHE" is read at 2 places')

    # The list of known faults: it lets pass what is in it, and only shrinks.
    tree.fill({**circle, "tools/layers-known.txt": "circle src/base/err.c src/base/other.c\n"})
    tree.expect("known", tree.run("check-layers"), 0, "1 known faults")
    tree.fill({**circle, "tools/layers-known.txt": "circle src/base/err.c src/base/gone.c src/base/other.c\n"})
    tree.expect("known, smaller by now", tree.run("check-layers"), 1, "no longer true", "--shrink")
    tree.expect("shrink", tree.run("check-layers", "--shrink"), 0, "1 known faults")
    tree.expect("shrunk", tree.run("check-layers"), 0)
    tree.fill({"tools/layers-known.txt": "circle src/base/err.c src/base/other.c\n"})
    tree.expect("known, gone", tree.run("check-layers"), 1, "no longer true")
    tree.fill({**circle, "tools/layers-known.txt": ""})
    tree.expect("shrink adds nothing", tree.run("check-layers", "--shrink"), 1, "a circle of 2 files")
    tree.expect("known of today", tree.run("check-layers", "--known"), 0, "circle src/base/err.c src/base/other.c\n")
    tree.expect("usage", tree.run("check-layers", "--wrong"), 2, "usage:")


WRONG = {
    "README.md": ("Results are the same to\nthe byte.\n", 'README.md:1: "same to the byte": write'),
    "docs/a.md": ("One line.\n\nElse nothing is measured.\n", 'docs/a.md:3: "Else": write Otherwise'),
    "docs/b.md": ("| what | do |\n|---|---|\n| x | likewise; mostly the network |\n", 'docs/b.md:3: "likewise": write'),
    "docs/c.md": ("It is slow. Not tried are kernels of HIP.\n", '"Not tried are": write put the subject first'),
    "docs/d.md": ("By chance that are 2 % of all sessions.\n", '"By chance that are": write'),
    "schemas/x.json": ('{"mend":\n  {"description": "what mends it"}}\n', 'schemas/x.json:2: "mends": write fix'),
    "docs/commands/x.in": (".Sh BUGS\nNothing of this\nhas been run.\n", 'docs/commands/x.in:2: "Nothing of this": write none'),
    "tests/golden/help-x.out": ("  --device D   as of rocm-perf run\n", 'tests/golden/help-x.out:1: "as of rocm-perf"'),
    "src/base/m.c": ('int a;\nconst char *m = "the command "\n    "that mends it";\n', 'src/base/m.c:3: "mends": write fix'),
    "src/base/q.c": ('const char *m = "Usage:\\n\\n  Else this.\\n";\n', 'src/base/q.c:1: "Else": write Otherwise'),
    "src/base/n.h": ("/**\n * A value. Never is it\n * negative.\n */\n", 'src/base/n.h:2: "Never is": write'),
    "src/run/o.c": ("/* another status than 0 */\n", 'src/run/o.c:1: "another status than": write different from'),
    "src/tune/say.c": ("", "src/tune/say.c:1: file say: write message"),
    "src/run/t.h": ("struct rp_harvest {\n    int n;\n};\n", "src/run/t.h:1: type rp_harvest: write completion reader"),
    "src/run/u.c": ("\nstatic int wish_for(void)\n{\n    return 0;\n}\n", "src/run/u.c:2: function wish_for: write request"),
    "src/replay/off.h": ("", "src/replay/off.h:1: file off: write mismatch"),
    "src/device/exec/lane.c": ("", "src/device/exec/lane.c:1: file lane: write workgroup slot"),
}
RIGHT = {
    "docs/right.md": """Recommended: amend the file. What else is measured, or else nothing, is up to you. If it fails, so be it; else-if
chains and `Else` are code. Never call it twice. Missing values are unknown, and so are those that are 2 % of all.

As of rocm-perf 1.0 the fence below is code, and `mended` is, too.

```
Else mend likewise; nothing of this is another one than
```

~~~
Else it is mended
~~~

There is no JSON in it, and there are other ones. It goes on and on, off and on. Another faster than that is not known.
The one of the two that ends first is kept. Likewise, the others end. Each second of it counts; each third of the file
is read. We cannot wait for long. An hour, a unit, a user, a one-off, an LDS bank, an MI300X, an FMA and a GPU.
[Else](#such-a-one) leads to https://example.org/mend as it does. None of this kind: nothing of this kind was seen.
The `to` to which it goes is to be had. He had had it.
Who may use it? The host is told at once. It is as fast at most sizes. At least so it seems.
""",
    "schemas/right.json": '{"properties": {"mended": {"enum": ["mend", "likewise"]}}}\n',
    "docs/commands/right.in": ".Sh NAME\n.It Fl -mend Ar likewise\nis right, and\n.Cm Else\n.Nm mend\nis a name\n",
    "tests/golden/help-right.out": "  --most N   how many\n  --least-likely mended-by-hand\n",
    "tests/golden/other.out": "Else mend it likewise;\n",
    "src/base/right.c": '#include "base/err.h"\n/* rp_utf8_mend() and least_most are identifiers; "--mend" is an option. */\n'
                        "int rp_line_reader(void)\n{\n    return 'E';\n}\nstatic int handle_most(void)\n{\n    return 0;\n}\n"
                        'const char *key = "left", *other = "recommend";\n',
    "src/device/isa/lane.h": "struct rp_lane_args {\n    int n;\n};\n",
    "src/analyze/gate.h": "struct rp_gate {\n    int n;\n};\n",
    "src/optimize/guard.h": "struct rp_guard {\n    int n;\n};\n",
    "src/replay/replay_memory.c": "int rp_replay_memory(void)\n{\n    return 0;\n}\n",
}


def words(tree):
    tree.fill(RIGHT)
    tree.expect("right", tree.run("check-words"), 0, "words: none")
    for path, (text, says) in WRONG.items():
        tree.fill({path: text})
        tree.expect(path, tree.run("check-words"), 1, says)
    tree.fill({path: text for path, (text, _) in WRONG.items()})
    tree.expect("all at once", tree.run("check-words"), 1, *(says for _, says in WRONG.values()))

    known = {"docs/k.md": "Mend it, and mend it again.\n", "tools/words-known.txt": "docs/k.md 2\n"}
    tree.fill(known)
    tree.expect("known", tree.run("check-words"), 0, "2 known ones in 1 files")
    tree.expect("list", tree.run("check-words", "--list", "docs/k"), 0, 'docs/k.md:1: "mend": write')
    tree.expect("list of others", tree.run("check-words", "--list", "src"), 0)
    tree.fill({**known, "docs/k.md": "Mend it, and mend it again, and mend.\n"})
    tree.expect("one more", tree.run("check-words"), 1, "docs/k.md: 3 of these, and 2 are known")
    tree.fill({**known, "docs/k.md": "Mend it.\n"})
    tree.expect("one less", tree.run("check-words"), 1, "docs/k.md has 1, no longer 2: tools/check-words --shrink")
    tree.expect("shrink", tree.run("check-words", "--shrink"), 0, "1 known ones")
    if "docs/k.md 1\n" not in tree.read("tools/words-known.txt"):
        tree.failures += 1
        print("FAILED shrink: " + tree.read("tools/words-known.txt"))
    tree.fill({"tools/words-known.txt": "docs/gone.md 2\n"})
    tree.expect("gone", tree.run("check-words"), 1, "docs/gone.md has 0, no longer 2")
    tree.fill({**known, "tools/words-known.txt": "docs/k.md 2\ndocs/k.md 3\n"})
    tree.expect("two lines after a merge: the smaller one", tree.run("check-words"), 0)
    tree.expect("known of today", tree.run("check-words", "--known"), 0, "docs/k.md 2\n")
    tree.expect("usage", tree.run("check-words", "--wrong"), 2, "usage:")


def structure(tree):
    def has(what, result, **rows):
        tree.expect(what, result, 0)
        for name, number in rows.items():
            name = name.replace("_", " ")
            if not any(line.split(None, 1) == [str(number), name] for line in result.stdout.splitlines()):
                tree.failures += 1
                print(f"FAILED {what}: not {number} {name}\n{result.stdout}")

    def track():
        for words_of in ("init -q", "add -A"):
            subprocess.run(["git", "-C", tree.top, *words_of.split()], check=True)

    tree.fill({"src/base/other.c": "int rp_other(void)\n{\n    return rp_fail();\n}\n\nstatic int own(void)\n{\n    return 1;\n}\n",
               "src/base/err.c": CLEAN["src/base/err.c"].replace("-1", "rp_other()"),
               "src/run/err.h": "int rp_other(void);\n"})
    track()
    result = tree.run("structure")
    has("structure", result, exported_functions=10, file_names_that_stand_twice=1, circles_of_files=3, functions=14,
        median_lines_of_a_function=4, lines_of_the_longest_function=9, lines_of_product=85)
    has("more", result, **{"of these used only in their own folder": 3, "folders of src with fewer than 4 .c": 5,
                           "circles of files as tools/check-layers counts calls": 1})
    tree.expect("list", tree.run("structure", "--list"), 0, "twice: src/base/err.h src/run/err.h",
                "thin folder: src/run with 1 .c", "long function: 9 src/base/twin.c odd")
    tree.expect("table", tree.run("structure", "--against", tree.top), 0, "| measure | before | after |",
                "| exported functions | 10 | 10 |")


MUTANTS = {
    "src/tune/sum.c": "int rp_sum(int a, int b)\n{\n    return a + b;\n}\nint rp_unused(int a)\n{\n    return a * 2;\n}\n",
    "test.c": "int rp_sum(int a, int b);\nint main(void)\n{\n    return rp_sum(2, 1) == 3 ? 0 : 1;\n}\n",
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(p C)\nenable_testing()\n"
                      "add_executable(t test.c src/tune/sum.c)\nadd_test(NAME sums COMMAND t)\n",
}


def mutants(tree):
    """One mutant is killed, two are in a function that no test calls, and the sources are afterwards what they were."""
    tree.fill(MUTANTS)
    build = os.path.join(tree.top, "build")
    subprocess.run(["cmake", "-S", tree.top, "-B", build], stdout=subprocess.DEVNULL, check=True)
    drawn = tree.run("mutants", "draw", "--room", "tune", "--seed", "3", tree.top)
    tree.expect("draw", drawn, 0, "return a - b;", "return a / 2;", "return a * 3;")
    result = tree.run("mutants", "run", "--build", build, "--tests", "^sums$", tree.top, given=drawn.stdout)
    tree.expect("run", result, 0, "killed    src/tune/sum.c rp_sum: return a + b; -> return a - b;",
                "1 killed, 2 survived, 0 not built, 0 not there")
    if tree.read("src/tune/sum.c") != MUTANTS["src/tune/sum.c"]:
        tree.failures += 1
        print("FAILED: a mutant was left in the source")
    other = os.path.join(tree.top, "other")
    shutil.copytree(os.path.join(tree.top, "src"), os.path.join(other, "src"))
    with open(os.path.join(other, "src/tune/sum.c"), "w", encoding="utf-8") as file:
        file.write(MUTANTS["src/tune/sum.c"].replace("a * 2", "a * 4"))
    both = tree.run("mutants", "draw", "--room", "tune", tree.top, other)
    tree.expect("draw of two", both, 0, "return a - b;")
    if "rp_unused" in both.stdout:
        tree.failures += 1
        print("FAILED: a function that differs was drawn")
    with open(os.path.join(tree.top, "src/tune/sum.c"), "w", encoding="utf-8") as file:
        file.write(MUTANTS["src/tune/sum.c"].replace("a + b", "b - a"))
    result = tree.run("mutants", "run", "--build", build, "--tests", "^sums$", tree.top, given=drawn.stdout)
    tree.expect("tests that fail without a mutant", result, 1, "without a mutant")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("layers", "words", "structure", "mutants"):
        sys.exit(__doc__)
    tree = Tree(sys.argv[2])
    try:
        {"layers": layers, "words": words, "structure": structure, "mutants": mutants}[sys.argv[1]](tree)
    finally:
        shutil.rmtree(tree.top, ignore_errors=True)
    print(f"{sys.argv[1]}: {tree.failures} failures")
    return 1 if tree.failures else 0


sys.exit(main())
