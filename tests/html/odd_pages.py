"""Pages of what traces seldom have: other data in a page that was made, whose scripts stay what they are."""
import copy
import json
import os
import re

import extract

MARKS = "\u202e\u200b\x01"  # turns what follows round, has no width, is a control


def altered(page, made, change):
    """MADE is PAGE with what `change` makes of its documents; those it removes are gone."""
    docs = {name: json.loads(text) for name, text in extract.documents(page)}
    docs = change(docs) or docs
    with open(page, "rb") as file:
        text = file.read()
    at = text.index(b'<script type="application/json"')
    parts = "".join('<script type="application/json" id="data-%s">%s</script>\n' % (name, json.dumps(d).replace("<", "\\u003c"))
                    for name, d in docs.items())
    rest = re.sub(rb'<script type="application/json".*?</script>\n', b"", text[at:], flags=re.DOTALL)
    with open(made, "wb") as out:
        out.write(text[:at] + parts.encode() + rest)
    return docs


def timeline_of(ops, lanes, makespan):
    """ops: (start, duration, lane)"""
    count = len(ops)
    return {"names": ["k"], "name": [0] * count, "copy": [0] * count, "id": list(range(count)), "lane": [o[2] for o in ops],
            "start_ns": [o[0] for o in ops], "duration_ns": [o[1] for o in ops], "slack_ns": [0] * count, "on_path": [0] * count,
            "waited_for": [-1] * count, "via": [0] * count, "makespan_ns": makespan,
            "lanes": [{"process": 0, "agent": 1, "queue": 1, "stream": k} for k in range(lanes)]}


def pixel(b, x, y):
    seen = b.run(f"[...document.querySelector('#timeline-canvas').getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1).data].slice(0, 3)")
    b.complaints[:] = [c for c in b.complaints if "willReadFrequently" not in c]  # about this very question
    return seen


def no_length(b, page, scratch, check, loads):
    """What takes no time is seen, also at the begin and the end of all."""
    made = os.path.join(scratch, "nolength.html")
    ops = [(0, 0, 0), (500, 0, 1), (1000, 0, 2)]

    def change(docs):
        docs["timeline"].update(timeline_of(ops, 3, 1000))

    altered(page, made, change)
    loads(b, made)
    view = b.run("({...document.querySelector('#timeline-canvas').dataset})")
    left, width = float(view["left"]), float(view["plotWidth"])
    for start, _, lane in ops:
        x, y = left + min(int(start * width / 1000), int(width - 1e-9)), 24 + 26 * lane + 15
        seen = [pixel(b, x, y), pixel(b, x - 30 if start else x + 30, y)]
        check(f"an operation without length at {start} is not drawn:", seen[0] != seen[1], seen)
    b.run("document.querySelector('#timeline details').open = true")
    b.settle()
    rows = b.run("document.querySelectorAll('#timeline details tbody tr').length")
    check("it is not in the table:", rows == 3, rows)


def many_streams(b, page, scratch, check, loads):
    """More tracks than a canvas can be high: those in sight are drawn, and on paper it is said what is left out."""
    made, lanes = os.path.join(scratch, "lanes.html"), 3000

    def change(docs):
        docs["timeline"].update(timeline_of([(0, 1000, k) for k in range(lanes)], lanes, 1000))

    altered(page, made, change)
    loads(b, made)
    canvas = "document.querySelector('#timeline-canvas')"
    check("the canvas is higher than browsers draw", b.run(canvas + ".height") < 16000)
    middle = b.run(f"Number({canvas}.dataset.left) + {canvas}.dataset.plotWidth / 2")
    top = pixel(b, middle, 24 + 8)
    b.run(f"{canvas}.focus()")
    b.key("Home", 36)
    for _ in range(3):
        b.key("ArrowDown", 40)
    check("arrow keys do not go down", b.run(canvas + ".dataset.at") == "3", b.run(canvas + ".dataset.at"))
    b.run(f"{canvas}.closest('.scroll').scrollTop = 26 * 2900")
    b.settle()
    seen = pixel(b, middle, 24 + 26 * 3 + 8)
    check("nothing is drawn after scrolling:", seen == top, (seen, top))
    box = b.run(f"(() => {{ {canvas}.scrollIntoView({{block: 'nearest'}}); const r = {canvas}.getBoundingClientRect(); return [r.x, r.y]; }})()")
    b.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + middle, y=box[1] + 24 + 26 * 3 + 8, button="none")
    b.settle()
    at = int(b.run(canvas + ".dataset.at"))
    check("the pointer is over another track:", at == 2903, at)
    b.run("dispatchEvent(new Event('beforeprint'))")
    note = b.run("[...document.querySelectorAll('#timeline p')].map(p => p.hidden ? '' : p.textContent).join(' ')")
    tracks = (960 - 24 - 17) // 26 + 1
    check("what paper leaves out is not said:", f"{lanes - tracks:,} more tracks" in note, note)
    b.run("dispatchEvent(new Event('afterprint'))")


def hostile_names(b, page, scratch, check, loads):
    """Marks that reorder and hide are written out; long names are cut and the whole is there."""
    made, long = os.path.join(scratch, "names.html"), "begin" + "x" * 10000 + "end"

    def change(docs):
        names = [k["name"] for k in docs["analysis"]["kernels"]]
        text = json.dumps(docs)
        for old, new in ((names[0], "evil" + MARKS + "txt"), (names[1], long)):
            text = text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
        return json.loads(text)

    altered(page, made, change)
    loads(b, made)
    check("marks are shown as they are", not b.run(f"[...{json.dumps(MARKS)}].some(c => document.querySelector('main').textContent.includes(c))"))
    check("marks are not written out", b.run("document.querySelector('#kernel-table').textContent.includes('evil\\\\u{202e}\\\\u{200b}\\\\u{1}txt')"))
    longest = b.run("Math.max(...[...document.querySelectorAll('#kernel-table span, .legend li, #path td, h3')].map(n => n.textContent.length))")
    check("a name is not cut:", longest < 200, longest)
    whole = b.run("[...document.querySelectorAll('#kernel-table [title]')].map(n => n.title)")
    check("the whole name is not there:", long in whole or any(w.startswith(long) for w in whole), len(whole))
    in_card = b.run("[...document.querySelectorAll('.card .whole')].map(n => n.textContent.length)")
    check("the whole name is not in its card:", in_card and in_card[0] >= len(long), in_card)
    check("the page is wider than its window", b.run("document.documentElement.scrollWidth <= innerWidth"))


def two_gpus(b, page, scratch, check, loads):
    """Each GPU has its ceilings, and each kernel says which GPU it is of."""
    made = os.path.join(scratch, "gpus.html")

    def change(docs):
        r = docs["roofline"]
        other, third = copy.deepcopy(r["devices"][0]), copy.deepcopy(r["devices"][0])
        other.update(id=7, arch="gfx90a", product="Other GPU")
        third.update(id=8, product="Idle GPU")
        r["devices"] += [other, third]
        more = copy.deepcopy(r["kernels"])
        for k in more:
            k["device"] = 1
            k["ceilings"]["hbm_gbps"] = 1234
        r["kernels"] += more
        r["ceilings_from"] = {"arch": "gfx942", "compute_units": 304, "date": "2026-11-30T12:00:00Z", "device": "hardware", "gpu": "Measured GPU"}
        docs.pop("profile", None)

    docs = altered(page, made, change)
    loads(b, made)
    tables = b.run("[...document.querySelectorAll('#roofline table')].map(t => [t.caption.textContent, [...t.rows].map(r => [...r.cells].map(c => c.textContent))])")
    roof, ceilings = ([rows for caption, rows in tables if caption.startswith(word)][0] for word in ("Roofline", "Ceilings"))
    called = [caption for caption, rows in tables if caption.startswith("Ceilings")]
    check("nobody says who measured the ceilings:", called == ["Ceilings, measured by rocm-perf bench on Measured GPU, 2026-11-30T12:00:00Z"], called)
    hbm = {row[0]: row[2] for row in ceilings if row[1] == "hbm"}
    check("a GPU has no ceilings:", len(hbm) == 2 and hbm.get("GPU 7 (Other GPU)") == "1,234", hbm)
    check("kernels do not say their GPU:", {row[1] for row in roof[1:]} == set(hbm), roof[:3])
    said = b.run("document.querySelector('#roofline').textContent")
    check("nothing is said of the GPU without kernels", "No kernel was counted on GPU 8" in said)
    check("the head does not name each GPU", "GPU 7: gfx90a" in b.run("document.querySelector('#finding').textContent"))
    return docs


def nothing_ran(b, page, scratch, check, loads):
    """A page of a run without kernels says so."""
    made = os.path.join(scratch, "nothing.html")

    def change(docs):
        docs["timeline"].update(timeline_of([], 0, 1000), names=[])
        docs["analysis"]["kernels"] = []
        docs["dag"]["what_if"] = []
        docs.pop("roofline", None)

    altered(page, made, change)
    loads(b, made)
    said = b.run("(document.querySelector('#nothing') || {}).textContent") or ""
    check("nothing is said of what is not there:", said.startswith("Nothing ran on a GPU"), said)


def readers(b, page, check, loads):
    """Headings and names of what scrolls; colours of the reader's own."""
    loads(b, page)
    order = b.run("[...document.querySelectorAll('main h2, main h3, main h4')].map(h => Number(h.tagName[1]))")
    check("a level of headings is skipped:", all(y <= x + 1 for x, y in zip(order, order[1:])), order)
    check("parts of a card are as high as its name", b.run("[...document.querySelectorAll('.card')].every(c => c.querySelectorAll('h3').length === 1)"))
    names = b.run("[...document.querySelectorAll('.scroll')].map(s => s.getAttribute('role') + ':' + s.getAttribute('aria-label'))")
    check("a region that scrolls has no name of its own:", all(n.startswith("region:") and "table, scrolls" not in n for n in names), names)
    plain = b.run("getComputedStyle(document.querySelector('.legend .swatch')).backgroundColor")
    b.ask("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    b.settle()
    check("this browser has no forced colours", b.run("matchMedia('(forced-colors: active)').matches"))
    check("a swatch has lost its colour:", b.run("getComputedStyle(document.querySelector('.legend .swatch')).backgroundColor") == plain)
    b.run("document.querySelector('#kernel-table tbody tr').click()")
    inks = b.run("['tr[aria-selected=true] td', 'tr[aria-selected=false] td'].map(s => getComputedStyle(document.querySelector('#kernel-table ' + s)).backgroundColor)")
    check("the chosen row is not marked:", inks[0] != inks[1], inks)
    corner = pixel(b, 2, 2)
    check("the timeline is not on the reader's ground:", b.run("getComputedStyle(document.body).backgroundColor") == f"rgb({corner[0]}, {corner[1]}, {corner[2]})", corner)
    b.ask("Emulation.setEmulatedMedia", features=[])
    b.settle()


def titles_of_tracks(b, page, scratch, check, loads):
    """A GPU is named where there are several, and only there."""
    made = os.path.join(scratch, "titles.html")
    for gpus in (1, 2):
        def change(docs):
            docs["timeline"].update(timeline_of([(0, 1000, k) for k in range(2)], 2, 1000))
            for k, lane in enumerate(docs["timeline"]["lanes"]):
                lane.update(agent=1 + k % gpus, stream=k)

        altered(page, made, change)
        loads(b, made)
        b.run("(() => { const p = CanvasRenderingContext2D.prototype, was = p.fillText; globalThis.titles = [];"
              " p.fillText = function (...a) { if (this.canvas.id === 'timeline-canvas') titles.push(a[0]); return was.apply(this, a); }; })()")
        b.run("document.querySelector('#timeline-canvas').focus()")
        b.key("0")
        titles = b.run("titles.filter(t => t.includes('stream'))")
        check(f"titles of tracks on {gpus} GPUs:", titles[:2] == (["queue 1 · stream 0", "queue 1 · stream 1"] if gpus == 1 else ["GPU 1 · queue 1 · stream 0", "GPU 2 · queue 1 · stream 1"]), titles)


def zeros(b, page, profile, scratch, check, loads):
    """What is zero of a run on one GPU is no row; what is not zero is one."""
    made = os.path.join(scratch, "zeros.html")

    def change(docs):
        with open(profile) as file:
            docs["profile"] = json.load(file)
        docs["profile"]["provenance"].update(lost_records=0, lost_dispatches=0)
        for agent in docs["dag"]["idle"]["agents"]:
            agent["idle_ns"] = 0

    altered(page, made, change)
    loads(b, made)
    said = b.run("document.querySelector('#provenance').textContent")
    check("zeros of the run are rows:", "lost" not in said.replace("was lost", "") and "counter passes" not in said, said)
    check("that nothing was lost is not said:", "No dispatch, record or end of an operation was lost" in said, said)
    check("a GPU that was never idle has a table", b.run("document.querySelector('#path').textContent").count("never idle") == 1)
    altered(page, made, lambda docs: (change(docs), docs["profile"]["provenance"].update(lost_records=3))[0])
    loads(b, made)
    said = b.run("document.querySelector('#provenance').textContent")
    check("what was lost is not said:", "lost records3" in said and "No dispatch, record" not in said, said)


def layout(b, page, check, loads):
    """The finding is first; nothing is wider than its window, and a wide one is used."""
    for width in (400, 1280, 1920):
        b.ask("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
        loads(b, page)
        check(f"the page is wider than {width} pixels", b.run("document.documentElement.scrollWidth <= innerWidth"))
        check("the finding is not first", b.run("document.querySelector('main section').id") == "finding" and b.run("document.querySelector('#first-finding').getBoundingClientRect().top") < 400)
        used = b.run("document.querySelector('#timeline-canvas').getBoundingClientRect().width")
        check(f"{width} pixels are not used:", used > 0.9 * width, used)
    b.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)


def operators(b, page, check, loads):
    """A page of the PyTorch profiler's trace: its operators with their kernels, and what was sent."""
    loads(b, page)
    docs = {name: json.loads(text) for name, text in extract.documents(page)}
    rows = b.run("[...document.querySelectorAll('#ranges tbody tr')].map(tr => [...tr.cells].map(td => td.textContent))")
    check("not a row for each range:", [r[0] for r in rows] == [r["name"] for r in docs["dag"]["ranges"]], rows)
    check("a range has not its kernels:", all(bool(r[7]) == (s["own_launches"] > 0) for r, s in zip(rows, docs["dag"]["ranges"])), rows)
    sent = b.run("[...document.querySelectorAll('#communication table')].map(t => t.tBodies[0].rows.length)")
    check("not a row for each collective and message:", sent[:2] == [len(docs["dag"]["collectives"]), len(docs["dag"]["messages"])], sent)
    said = b.run("[...document.querySelectorAll('.card')].map(c => c.textContent).filter(t => t.includes('launched in')).length")
    check("no card says where its kernel is launched", said > 0)


def run(b, streams, counters, kineto, source, scratch, check, loads):
    no_length(b, streams, scratch, check, loads)
    many_streams(b, streams, scratch, check, loads)
    hostile_names(b, streams, scratch, check, loads)
    two_gpus(b, counters, scratch, check, loads)
    nothing_ran(b, streams, scratch, check, loads)
    titles_of_tracks(b, streams, scratch, check, loads)
    zeros(b, streams, os.path.join(source, "tests", "data", "compare", "before.json"), scratch, check, loads)
    layout(b, counters, check, loads)
    readers(b, streams, check, loads)
    operators(b, kineto, check, loads)
