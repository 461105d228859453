#!/usr/bin/env python3
"""Pages of `rocm-perf report` in a real, headless Chromium.

usage: tests/html/test_page.py ROCM_PERF SOURCE [WITHOUT_UPLOT]      exit status 77: no Chromium here
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

import browser
import compare_page
import extract
import history_page
import kernel_parts
import navigation
import odd_pages

ROCM_PERF, SOURCE = sys.argv[1:3]
HAS_PLOTS = sys.argv[3:] != ["without-uplot"]
ROCPD = os.path.join(SOURCE, "tests", "data", "rocpd")
HOSTILE = "</script><img src=x onerror=\"document.body.dataset.owned=1\"><b>k</b>&amp;(float*)"


def report(page, *traces):
    subprocess.run([ROCM_PERF, "report", "-o", page, *traces], check=True, stdout=subprocess.DEVNULL)
    return {name: json.loads(text) for name, text in extract.documents(page)}


def check(what, holds, more=""):
    if not holds:
        sys.exit(f"test_page.py: {what} {more}")


def colour(b, canvas, x, y):
    """Of a canvas, in CSS pixels."""
    return b.run(f"[...document.querySelector({json.dumps(canvas)}).getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1).data]")


def loads(b, page):
    b.requests.clear()
    b.open(page)
    check("the page is not made to its end:", b.run("document.body.dataset.ready") == "true", b.complaints)
    check("the console complains:", not b.complaints, b.complaints)
    check("something was loaded:", all(url.startswith("file:") and url.endswith(".html") for url in b.requests), b.requests)


def forbids(b):
    """eval, scripts and styles of others, images: the page's own rules."""
    refused = b.run("(() => { try { (0, eval)('1'); return 'no'; } catch (e) { return e.name; } })()")
    b.run("(() => { const s = document.createElement('script'); s.textContent = 'document.body.dataset.inline = 1'; document.body.append(s); })()")
    check("an inline script ran", b.run("document.body.dataset.inline") is None)
    check("eval is not forbidden:", refused == "EvalError", refused)
    b.complaints.clear()  # about these


def timeline_pixels(b, t):
    """Where an operation is, its colour is; where none is, the page's."""
    view = b.run("({...document.querySelector('#timeline-canvas').dataset})")
    check("operations:", int(view["operations"]) == len(t["start_ns"]), view)
    left, width, span = float(view["left"]), float(view["plotWidth"]), t["makespan_ns"]
    lanes = [t["lane"].index(k) for k in range(len(t["lanes"]))]
    longest = [max((i for i, lane in enumerate(t["lane"]) if lane == k), key=lambda i: t["duration_ns"][i]) for k in range(len(lanes))]
    back = b.run("getComputedStyle(document.body).backgroundColor")
    for k, i in enumerate(longest):
        middle = left + (t["start_ns"][i] + t["duration_ns"][i] / 2) * width / span
        r, g, blue, _ = colour(b, "#timeline-canvas", middle, 24 + 26 * k + 8)
        check(f"operation {i} is not drawn:", back != f"rgb({r}, {g}, {blue})", (r, g, blue))
    busy = sorted((t["start_ns"][i], t["start_ns"][i] + t["duration_ns"][i]) for i in range(len(t["lane"])) if t["lane"][i] == 0)
    gaps = [(b0, a1) for (_, b0), (a1, _) in zip(busy, busy[1:])] + [(busy[-1][1], span), (0, busy[0][0])]
    gap = max(gaps, key=lambda g: g[1] - g[0])
    if (gap[1] - gap[0]) * width / span > 20:  # the axis' lines are 1 px
        y = 24 + 26 * 0 + 2  # above slack and the path's line
        seen = [colour(b, "#timeline-canvas", left + (gap[0] + (gap[1] - gap[0]) * f) * width / span, y)[:3] for f in (0.31, 0.53)]
        check("something is drawn where nothing ran:", any(f"rgb({c[0]}, {c[1]}, {c[2]})" == back for c in seen), seen)
    return left, width, longest


def choosing(b, t, left, width, longest):
    """A click on an operation chooses its kernel, in the table and the cards, and so do arrow keys."""
    kernel = next(i for i in longest if not t["copy"][i])
    box = b.run("(() => { document.querySelector('#timeline-canvas').scrollIntoView({block: 'center'});"
                " const r = document.querySelector('#timeline-canvas').getBoundingClientRect(); return {x: r.x, y: r.y}; })()")
    b.click(box["x"] + left + (t["start_ns"][kernel] + t["duration_ns"][kernel] / 2) * width / t["makespan_ns"],
            box["y"] + 24 + 26 * t["lane"][kernel] + 8)
    name = t["names"][t["name"][kernel]]
    check("a click does not choose the kernel:", b.run("document.body.dataset.picked") == name)
    row = b.run("document.querySelector('#kernel-table tr[aria-selected=true] td').textContent")
    check("its row is not marked:", row == name, row)
    card = b.run("document.querySelector('.card[data-picked=true] h3').textContent")
    check("its card is not marked:", card == name, card)
    b.run("document.querySelector('#timeline-canvas').focus()")
    b.key("Home", 36)
    first = b.run("document.querySelector('#timeline-canvas').dataset.at")
    b.key("ArrowDown", 40)
    second = b.run("document.querySelector('#timeline-canvas').dataset.at")
    check("arrow keys do not move:", t["lane"][int(second)] == t["lane"][int(first)] + 1, (first, second))
    say = b.run("document.querySelector('#timeline-say').textContent")
    check("what is under the keys is not said:", t["names"][t["name"][int(second)]] in say, say)
    check("its start is not said to the nanosecond:", f"starts at {t['start_ns'][int(second)]:,} ns" in say, say)
    b.key("+")
    view = b.run("({...document.querySelector('#timeline-canvas').dataset})")
    check("the view does not zoom:", float(view["to"]) - float(view["from"]) < 0.6 * t["makespan_ns"], view)


def ticks_differ(b):
    """Each line of the axis has its own number, however far one zooms in behind the start."""
    b.run("(() => { const p = CanvasRenderingContext2D.prototype, was = p.fillText; globalThis.drawn = [];"
          " p.fillText = function (...a) { if (this.canvas.id === 'timeline-canvas') drawn.push(a[0]); return was.apply(this, a); }; })()")
    b.run("document.querySelector('#timeline-canvas').focus()")
    b.key("End", 35)
    for _ in range(40):
        b.run("drawn.length = 0")
        b.key("+")
        ticks = b.run("drawn.filter(text => /^[0-9.]+ (s|ms|µs|ns)$/.test(text))")
        check("lines of the axis have the same number:", len(ticks) > 1 and len(set(ticks)) == len(ticks), ticks)
    b.key("0")


def table_keys(b):
    """Down and up in the table of kernels."""
    rows = b.run("document.querySelectorAll('#kernel-table tbody tr').length")
    b.run("document.querySelector('#kernel-table tbody tr').focus()")
    b.key("Enter", 13)
    first = b.run("document.body.dataset.picked")
    b.key("ArrowDown", 40)
    second = b.run("document.body.dataset.picked")
    check("the arrow key does not go down:", rows < 2 or first != second, (first, second))
    names = b.run("[...document.querySelectorAll('#kernel-table tbody tr')].map(tr => tr.dataset.key)")
    check("not the next row:", rows < 2 or [first, second] == names[:2], (first, second, names))


def charts(b, docs):
    """The curves and the roofline have ink, and a table beside them; both follow the theme."""
    wanted = ["#what-if"] + (["#roofline"] if docs.get("roofline", {}).get("kernels") else [])
    for where in wanted:
        rows = b.run(f"document.querySelectorAll('{where} table tbody tr').length")
        check(f"{where} has no table", rows > 0)
        if not HAS_PLOTS:
            continue
        inks = b.run(f"(() => {{ const c = document.querySelector('{where} canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                     " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 128; return n; })()")
        check(f"{where} is not drawn:", inks > 500, inks)
    whole = b.run("document.querySelectorAll('main canvas').length")
    folds = b.run("[...document.querySelectorAll('main section')].filter(s => s.querySelector('canvas') && !s.querySelector('details')).length")
    check("a chart has no table beside it:", whole > 0 and folds == 0, (whole, folds))


def themes(b, page):
    light = b.run("getComputedStyle(document.body).backgroundColor")
    b.dark(True)
    dark = b.run("getComputedStyle(document.body).backgroundColor")
    check("the system's dark colours are not taken:", light != dark, dark)
    corner = colour(b, "#timeline-canvas", 2, 2)
    check("the timeline keeps its colours:", f"rgb({corner[0]}, {corner[1]}, {corner[2]})" == dark, corner)
    b.run("document.querySelector('#theme').click()")
    check("the button does not change them", b.run("getComputedStyle(document.body).backgroundColor") == light)
    b.run("document.querySelector('#theme').click()")
    b.run("dispatchEvent(new Event('beforeprint'))")
    check("the table of operations is empty on paper", b.run("document.querySelectorAll('#timeline details tbody tr').length") > 0)
    check("paper is dark", b.run("getComputedStyle(document.body).backgroundColor") == light)
    check("a table is folded on paper", b.run("[...document.querySelectorAll('main details')].every(d => d.open)"))
    b.run("dispatchEvent(new Event('afterprint'))")
    check("the colours before do not come back", b.run("getComputedStyle(document.body).backgroundColor") == dark)
    b.dark(False)


def paper(b):
    """Nothing is wider than a sheet."""
    b.ask("Emulation.setDeviceMetricsOverride", width=720, height=1000, deviceScaleFactor=1, mobile=False)
    b.ask("Emulation.setEmulatedMedia", media="print")
    b.run("dispatchEvent(new Event('beforeprint'))")
    b.settle()
    wide = b.run("[...document.querySelectorAll('main table, main canvas')].filter(t => t.getBoundingClientRect().right > innerWidth)"
                 ".map(t => (t.caption || t).textContent)")
    check("wider than the paper:", wide == [], wide)
    b.run("document.querySelector('#main').style.width = '400px'")  # a printer tells the page nothing of its width
    wide = b.run("[...document.querySelectorAll('main canvas')].map(c => Math.round(c.getBoundingClientRect().width)).filter(w => w > 400)")
    check("a chart is wider than the paper:", wide == [], wide)
    b.run("document.querySelector('#main').style.width = ''")
    b.run("dispatchEvent(new Event('afterprint'))")
    b.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    b.ask("Emulation.setEmulatedMedia", media="")


def software_is_said(b, scratch):
    """A trace that says software: its times are modelled, which stands above them."""
    made = os.path.join(scratch, "software.db")
    with open(os.path.join(ROCPD, "streams-hip_results.db"), "rb") as source, open(made, "wb") as out:
        out.write(source.read())
    db = sqlite3.connect(made)
    table = next(n for (n,) in db.execute("select name from sqlite_master where name like 'rocpd_metadata%' and type = 'table'"))
    db.execute(f"insert into {table} (tag, value) values ('rocm_perf_device', 'software')")
    symbols = next(n for (n,) in db.execute("select name from sqlite_master where name like 'rocpd_info_kernel_symbol%' and type = 'table'"))
    db.execute(f"update {symbols} set display_name = ? || display_name", (HOSTILE,))
    db.commit()
    db.close()
    page = os.path.join(scratch, "software.html")
    docs = report(page, made)
    check("the name is not in the data", any(HOSTILE in n for n in docs["timeline"]["names"]))
    loads(b, page)
    said = b.run("(() => { const n = document.querySelector('#device'); return n.hidden ? '' : n.textContent; })()")
    check("modelled time is not marked:", said.startswith("Modelled time"), said)
    b.run("scrollTo(0, document.documentElement.scrollHeight)")
    top = b.run("document.querySelector('#device').getBoundingClientRect().top")
    check("the mark of modelled time scrolls away:", top == 0, top)
    check("a kernel's name became markup", b.run("document.querySelectorAll('main img, main b b, #kernels b').length") == 0 and b.run("document.body.dataset.owned") is None)
    shown = b.run("document.querySelector('#kernel-table tbody td').textContent")
    check("the name is not shown as it is:", shown.startswith(HOSTILE), shown)


def instances_are_told_apart(b, scratch):
    """Of two instances of a template each place that has no room for the whole name shows what differs."""
    made = os.path.join(scratch, "instances.db")
    with open(os.path.join(ROCPD, "streams-hip_results.db"), "rb") as source, open(made, "wb") as out:
        out.write(source.read())
    db = sqlite3.connect(made)
    symbols = next(n for (n,) in db.execute("select name from sqlite_master where name like 'rocpd_info_kernel_symbol%' and type = 'table'"))
    db.execute(f"update {symbols} set display_name = 'void ggml::mul<(ggml_type)8, ' || id || ', false>(int, float const*)'")
    db.commit()
    db.close()
    page = os.path.join(scratch, "instances.html")
    kernels = {k["name"] for k in report(page, made)["analysis"]["kernels"]}
    loads(b, page)
    legend = b.run("[...document.querySelectorAll('#timeline .legend li')].map(n => [n.textContent, n.querySelector('[title]')?.title])")
    shown = {short for short, whole in legend if whole in kernels}
    check("one name for several kernels:", len(kernels) > 1 and len(shown) == len(kernels), legend)
    check("the legend is not short:", all(short.startswith("mul<") and len(short) < 12 for short in shown), legend)
    links = b.run("[...document.querySelectorAll('#finding li a')].map(n => n.textContent)")
    check("a finding does not say of which:", links and all(link.startswith("mul<") for link in links), links)


def threads_alone(b, scratch):
    """Thread traces of the software device say so, too, with nothing beside them."""
    made = os.path.join(scratch, "threads")
    subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "att", "gen_att.py"), made, "5"], check=True, stdout=subprocess.DEVNULL)
    page = os.path.join(scratch, "threads.html")
    docs = report(page, made)
    loads(b, page)
    check("hardware is called modelled", b.run("document.querySelector('#device').hidden"))
    hottest = max(docs["thread_trace"]["thread_trace"][0]["instructions"], key=lambda i: i["sums"]["stall_cycles"])
    first = b.run("document.querySelector('.card .hot-instructions tbody td').textContent")
    check("the hottest instruction is not the first:", first == hottest["isa"], (first, hottest))
    names = next(os.path.join(at, "filenames.json") for at, _, files in os.walk(made) if "filenames.json" in files)
    with open(names) as file:
        listed = json.load(file)
    listed["rocm_perf"] = {"device": "software", "kernel": None, "timing": "detailed", "workgroups": 1, "workgroups_modelled": 1,
                           "waves_cut_short": 0, "waves_cut_short_by_buffer": 0, "waves_lost": 0}
    with open(names, "w") as file:
        json.dump(listed, file)
    docs = report(page, made)
    check("the trace does not say software", docs["thread_trace"]["thread_trace"][0]["device"] == "software")
    loads(b, page)
    said = b.run("document.querySelector('#device').textContent")
    check("modelled thread traces are not marked:", said.startswith("Modelled time"), said)


def samples_alone(b, scratch):
    """PC samples are a table of instructions with shares, and lines in samples."""
    made = os.path.join(scratch, "samples")
    os.mkdir(made)
    subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "data", "cases", "pc_samples", "make.py")], check=True, cwd=made)
    page = os.path.join(scratch, "samples.html")
    report(page, os.path.join(made, "json", "7_results.json"))
    loads(b, page)
    rows = b.run("[...document.querySelectorAll('.card[data-kernel^=saxpy] .hot-instructions tbody tr')].map(r => [...r.children].map(c => c.textContent))")
    check("the hottest instruction is not the first:", rows and rows[0][0].startswith("s_waitcnt") and rows[0][2] == "6", rows)
    check("shares are wrong:", rows[0][3].startswith("60") and "31" in rows[0][3] and "83" in rows[0][3], rows[0])
    titles = b.run("[...document.querySelectorAll('.card[data-kernel^=saxpy] .hot-instructions h4')].map(n => n.textContent)")
    check("a host trap's skid is not said:", any("two instructions off" in t for t in titles), titles)
    captions = b.run("[...document.querySelectorAll('.card[data-kernel^=saxpy] table.source caption')].map(n => n.textContent)")
    check("lines are not in samples:", captions and all(c.endswith("of the samples") for c in captions), captions)


def counters_alone(b, scratch):
    """Counters without times and without a roofline are tables, a block for each kernel."""
    page = os.path.join(scratch, "notime.html")
    docs = report(page, os.path.join(SOURCE, "tests", "data", "cases", "notime"))
    check("there is a roofline", docs["roofline"]["reason"])
    loads(b, page)
    blocks = b.run("document.querySelectorAll('#counters details').length")
    check("not a block for each kernel:", blocks == len(docs["roofline"]["counters"]) == 2, blocks)
    shown = b.run("[...document.querySelectorAll('#counters details')].map(d => d.textContent)")
    for text, kernel in zip(shown, docs["roofline"]["counters"]):
        for value in kernel["values"]:
            check("a counter is not shown:", value["counter"] in text and f"{value['sum']:,}" in text, (value, text))
        check("what is missing is not named:", "needs TCP_UTCL1_REQUEST_sum" in text, text)


def main():
    if not browser.find():
        print("no Chromium here: ./setup --check installs it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch, browser.Browser() as b:
        page = os.path.join(scratch, "streams.html")
        docs = report(page, os.path.join(ROCPD, "streams-hip_results.db"))
        loads(b, page)
        check("hardware is called modelled", b.run("document.querySelector('#device').hidden"))
        left, width, longest = timeline_pixels(b, docs["timeline"])
        choosing(b, docs["timeline"], left, width, longest)
        navigation.run(b, docs["timeline"], check)
        ticks_differ(b)
        table_keys(b)
        charts(b, docs)
        themes(b, page)
        forbids(b)
        page = os.path.join(scratch, "counters.html")
        docs = report(page, os.path.join(ROCPD, "multik-pmc-synthetic_results.db"))
        loads(b, page)
        table_keys(b)
        charts(b, docs)
        paper(b)
        operators = os.path.join(scratch, "operators.html")
        report(operators, os.path.join(SOURCE, "tests", "data", "kineto", "step.pt.trace.json"))
        odd_pages.run(b, os.path.join(scratch, "streams.html"), page, operators, SOURCE, scratch, check, loads)
        software_is_said(b, scratch)
        instances_are_told_apart(b, scratch)
        threads_alone(b, scratch)
        samples_alone(b, scratch)
        counters_alone(b, scratch)
        kernel_parts.run(b, os.path.join(scratch, "threads.html"), os.path.join(scratch, "counters.html"), scratch, HOSTILE, check, loads)
        history_page.run(b, ROCM_PERF, os.path.join(SOURCE, "tests", "data", "compare"), scratch, HOSTILE, check, loads)
        compare_page.run(b, ROCM_PERF, os.path.join(SOURCE, "tests", "data", "compare"), scratch, HOSTILE, check, loads)
        check("the console complains:", not b.complaints, b.complaints)


main()
