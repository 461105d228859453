"""Parts of a kernel's card: source lines with their heat, and the memory chart."""
import json
import os

import odd_pages

CELLS = "[...document.querySelectorAll('.card table.source tbody tr')].map(r => [...r.cells].map(c => c.textContent))"


def heat(b, page, scratch, hostile, check, loads):
    """PAGE has a thread trace: its source lines have the cycles, and the text that the page has of them."""
    made = os.path.join(scratch, "heat.html")

    def change(docs):
        docs["thread_trace"]["thread_trace"] = docs["thread_trace"]["thread_trace"][:1]
        sources = docs["sources"]
        sources["traces"] = sources["traces"][:1]
        for number, file in enumerate(sources["files"]):
            lines = [hot[1] for hot in sources["traces"][0]["lines"] if hot[0] == number]
            file["lines"] = [[n, f"{n}: {hostile}"] for n in range(1, max(lines, default=0) + 9)]

    docs = odd_pages.altered(page, made, change)
    loads(b, made)
    trace, files = docs["sources"]["traces"][0], {}
    cycles = sum(i["sums"]["latency_cycles"] + i["sums"]["idle_cycles"] for i in docs["thread_trace"]["thread_trace"][0]["instructions"] if i["sums"])
    check("the lines do not divide the waves' time:", abs(trace["cycles"] - cycles) <= 1 and sum(hot[2] for hot in trace["lines"]) <= trace["cycles"] + len(trace["lines"]), (trace, cycles))
    for number, line, spent, executed, part in trace["lines"]:
        files.setdefault(number, {})[line] = (spent, executed, part)
    rows, first = b.run(CELLS), max(files.values(), key=lambda f: sum(hot[0] for line, hot in f.items() if line))
    shown = {}
    for row in (r for r in rows if r[0].isdigit()):
        shown.setdefault(int(row[0]), row)
    for line, (spent, executed, part) in first.items():
        if not line:
            continue
        check("a line has other cycles:", abs(float(shown[line][1].split()[0]) - 100 * spent / trace["cycles"]) < 0.06, (line, shown[line], spent))
        check("a line has other instructions:", int(shown[line][2].replace(",", "")) == executed and shown[line][3] == part, (line, shown[line], executed))
        check("a line's text is not shown as it is:", shown[line][4] == f"{line}: {hostile}", shown[line])
    check("lines around are not shown:", any(r[1] == "" for r in shown.values()), shown)
    check("a source line became markup", b.run("document.querySelectorAll('main img, table.source b').length") == 0 and b.run("document.body.dataset.owned") is None)
    warm = b.run("[...document.querySelectorAll('table.source')].flatMap(t => [...t.tBodies[0].rows]).map(r => [Number.parseFloat(r.style.getPropertyValue('--warm')) || 0, r.cells.length > 1 ? parseFloat(r.cells[1].textContent) || 0 : 0])")
    order = sorted(warm, key=lambda w: w[1])
    check("heat does not grow with the cycles:", all(x[0] <= y[0] for x, y in zip(order, order[1:])) and order[-1][0] > 0, order)


def no_lines(b, page, scratch, check, loads):
    made = os.path.join(scratch, "nolines.html")

    def change(docs):
        for trace in docs["sources"]["traces"]:
            trace["lines"] = []

    odd_pages.altered(page, made, change)
    loads(b, made)
    check("nothing is said where there is no line information", "compile with -g" in b.run("document.querySelector('.card').textContent"))
    check("there is a table of lines", b.run("document.querySelectorAll('table.source').length") == 0)


def memory(b, page, scratch, check, loads):
    """PAGE has a roofline: its bytes are in the chart, and what was not counted is said, not 0."""
    made = os.path.join(scratch, "memory.html")

    def change(docs):
        r = docs["roofline"]
        r["devices"][r["kernels"][0]["device"]]["arch"] = "gfx942"
        for k in r["kernels"]:
            k.update(lds_bytes=0, l1_bytes=None, l2_bytes=2_500_000, hbm_read_bytes=1_250_000, hbm_write_bytes=750)
            k["levels"].update(l1=None, l2={"gbps": 1234.5, "arithmetic_intensity": 1, "class": "memory", "peak": "below"})
            k["ceilings"]["l2_gbps"] = 2469
        for c in r["counters"]:
            c["derived"] = [{"name": "l2_hit_rate", "title": "L2 hit rate", "unit": "%", "value": None, "missing": ["TCC_HIT_sum"], "reason": None, "dispatches": 0},
                            {"name": "vector_l1_hit_rate", "title": "vector L1 hit rate", "unit": "%", "value": 0.25, "missing": [], "reason": None, "dispatches": 1}]

    docs = odd_pages.altered(page, made, change)
    loads(b, made)
    name = docs["roofline"]["kernels"][0]["name"]
    said = b.run(f"[...document.querySelectorAll('.card')].find(c => c.dataset.kernel === {json.dumps(name)}).querySelector('.memory').textContent")
    for wanted in ("2.38 MiB", "read 1.19 MiB", "written 750 B", "1.23 TB/s, 50.0 % of peak", "hit rate 25.0 %", "hit rate not counted: needs TCC_HIT_sum", "Infinity Cache", "no counter exists", "not used", "not counted"):
        check("the memory chart lacks " + wanted + ":", wanted in said, said)
    check("what was not counted is 0:", "0 B" not in said.replace("750 B", ""), said)


def finding(b, page, scratch, hostile, check, loads):
    """The sentences of analysis.json stand first, word for word, with a link to the kernel that they are about."""
    made = os.path.join(scratch, "finding.html")
    program = {"text": f"`{hostile}` takes 60 % of the time ({hostile}). Try: {hostile} instead: 1.6x faster.", "kernel": None}

    def change(docs):
        kernels = docs["analysis"]["kernels"]
        program["kernel"] = kernels[-1]["name"]
        docs["analysis"]["program"].update(program)
        for k in kernels:
            k["weight"] = 0.3
            k["bottleneck"].update(text=f"the text of {k['name']} {hostile}", evidence=[{"feature": "hbm_share", "name": "HBM bandwidth", "unit": "% of peak", "value": "86"}])

    docs = odd_pages.altered(page, made, change)
    loads(b, made)
    first, advice = b.run("document.querySelector('#first-finding').textContent"), b.run("document.querySelector('#advice').textContent")
    check("the finding is not said word for word:", (first + " " + advice).replace("`", "") == program["text"].replace("`", ""), (first, advice))
    check("its evidence is not shown:", "HBM bandwidth 86 % of peak" in b.run("document.querySelector('.evidence').textContent"))
    others = b.run("[...document.querySelectorAll('.found li')].map(n => n.textContent)")
    names = {k["name"] for k in docs["analysis"]["kernels"]} - {program["kernel"]}
    check("the next kernels are not told:", len(others) == min(4, len(names)) and all("the text of" in o and hostile in o and "30.0 % of" in o for o in others), others)
    b.run("document.querySelector('#first-finding a').click()")
    check("the finding's link does not choose its kernel:", b.run("document.body.dataset.picked") == program["kernel"])
    check("a finding became markup", b.run("document.querySelectorAll('main img, #finding i').length") == 0 and b.run("document.body.dataset.owned") is None)
    odd_pages.altered(page, made, lambda d: d["analysis"]["program"].update(text=None))
    loads(b, made)


def run(b, threads, counters, scratch, hostile, check, loads):
    finding(b, counters, scratch, hostile, check, loads)
    heat(b, threads, scratch, hostile, check, loads)
    no_lines(b, threads, scratch, check, loads)
    memory(b, counters, scratch, check, loads)
