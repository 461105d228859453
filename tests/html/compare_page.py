"""The page of `rocm-perf compare --html`."""
import json
import os
import subprocess

import extract


def compared(rocm_perf, page, *arguments):
    run = subprocess.run([rocm_perf, "compare", "--html", page, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return run, {name: json.loads(text) for name, text in extract.documents(page)}


def rows_of(b, section="#comparison"):
    return b.run(f"[...document.querySelectorAll('{section} table')].pop() ? [...[...document.querySelectorAll('{section} table')].pop().tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent)) : []")


def two_results(b, rocm_perf, data, scratch, hostile, check, loads):
    """Verdict first, then each kernel with its ratio, what else changed, and the names as they are."""
    page = os.path.join(scratch, "compared.html")
    sides = []
    for name in ("before", "after"):
        with open(os.path.join(data, name + ".json")) as file:
            made = json.load(file)
        for kernel in made["kernels"]:
            if kernel["name"].startswith("reduce"):
                kernel["name"] = hostile
        sides.append(os.path.join(scratch, name + ".json"))
        with open(sides[-1], "w") as file:
            json.dump(made, file)
    run, docs = compared(rocm_perf, page, *sides)
    check("compare --html fails:", run.returncode == 0, run.stderr)
    check("the table is not printed beside the page:", "all kernels" in run.stdout, run.stdout)
    loads(b, page)
    comparison = docs["compare"]["comparisons"][0]
    whole = comparison["whole"]["time"]
    first = b.run("document.querySelector('#comparison p').textContent")
    check("the verdict is not first:", whole["verdict"] in first or whole["verdict"] == "equal" and "as fast as" in first, (first, whole))
    rows = rows_of(b)
    check("not a row for each kernel:", [r[0] for r in rows] == [k["name"] for k in comparison["kernels"]], rows)
    for row, kernel in zip(rows, comparison["kernels"]):
        ratio = kernel["time"] and kernel["time"]["ratio"]
        if kernel["runs_in"] != "both":
            check("that a kernel runs on one side is not said:", row[1] == "runs only " + kernel["runs_in"], row)
        elif kernel["time"]["verdict"] in ("faster", "slower"):
            told = ratio if ratio > 1 else 1 / ratio
            check("the ratio is another:", abs(float(row[1].split()[1].rstrip("x")) - told) < 0.03 * told and row[1].endswith(kernel["time"]["verdict"]), (row, ratio))
        else:
            check("the verdict is another:", kernel["time"]["verdict"] in row[1], (row, kernel["time"]))
        vgprs = kernel["metrics"]["vgprs"]
        if vgprs["before"] and vgprs["after"] and vgprs["before"] != vgprs["after"]:
            check("what else changed is not said:", f"vgprs {vgprs['before']} → {vgprs['after']}" in row[7], (row, vgprs))
    dots = b.run("[...document.querySelectorAll('#comparison td .ratio')].map(r => r.querySelector('.dot') ? Number.parseFloat(r.querySelector('.dot').style.left) : null)")
    for at, kernel in zip(dots, comparison["kernels"]):
        if at is not None and kernel["time"]["ratio"] != 1:
            check("faster is not on the left:", (at < 50) == (kernel["time"]["ratio"] < 1), (at, kernel["time"]))
    widths = b.run("[...document.querySelectorAll('.compared .parts')].map(p => [...p.children].reduce((sum, c) => sum + Number.parseFloat(c.style.width), 0))")
    times = [sum(k["time"][of + "_ms"] or 0 for k in comparison["kernels"] if k["time"]) for of in ("before", "after")]
    check("the bars are not as long as the times:", abs(widths[0] / widths[1] - times[0] / times[1]) < 0.01, (widths, times))
    check("a kernel's name became markup", b.run("document.querySelectorAll('main img').length") == 0 and b.run("document.body.dataset.owned") is None)
    check("the page is wider than its window", b.run("document.documentElement.scrollWidth <= innerWidth"))


def others(b, rocm_perf, data, scratch, hostile, check, loads):
    """Several results, gates, modelled times, what was told by replay, and what is refused."""
    page, at = os.path.join(scratch, "others.html"), lambda name: os.path.join(data, name)
    run, docs = compared(rocm_perf, page, at("before.json"), at("after.json"), at("drift.json"), "--gate", "runtime<=1.02", "--allow-missing")
    check("a gate does not decide the exit status:", run.returncode in (0, 1), run.stderr)
    loads(b, page)
    check("not a section for each result", b.run("document.querySelectorAll('main > section').length") == len(docs["compare"]["comparisons"]) == 2)
    gates = b.run("[...document.querySelectorAll('#comparison table')][0].tBodies[0].rows[0].textContent")
    check("the gate is not shown:", "runtime<=1.02" in gates and docs["compare"]["comparisons"][0]["gates"][0]["result"] in gates, gates)
    compared(rocm_perf, page, at("software.json"), at("software.json"))
    loads(b, page)
    check("modelled times are not marked", b.run("document.querySelector('#device').textContent").startswith("Modelled time"))
    compared(rocm_perf, page, at("replay.json"))
    loads(b, page)
    run, docs = compared(rocm_perf, page, at("before.json"), os.path.join(scratch, hostile.replace("/", "")))
    check("what is missing is accepted:", run.returncode == 3, run.stderr)
    loads(b, page)
    said = b.run("document.querySelector('#comparison').textContent")
    check("the page does not say what was refused:", "were not compared" in said and docs["refused"]["message"][:20] in said, said)
    check("a file's name became markup", b.run("document.querySelectorAll('main img').length") == 0 and b.run("document.body.dataset.owned") is None)


def run(b, rocm_perf, data, scratch, hostile, check, loads):
    two_results(b, rocm_perf, data, scratch, hostile, check, loads)
    others(b, rocm_perf, data, scratch, hostile, check, loads)
