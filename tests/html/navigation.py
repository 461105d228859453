"""How a reader moves in the timeline of a page: keys, wheel, search, and sums over a range."""
import json

AXIS, TRACK = 24, 26
CANVAS = "document.querySelector('#timeline-canvas')"


def view_of(b):
    view = b.run(f"({{...{CANVAS}.dataset}})")
    return float(view["from"]), float(view["to"])


def place(b):
    """Where the canvas stands in the window, and its plot in the canvas."""
    return b.run(f"(() => {{ const c = {CANVAS}; c.scrollIntoView({{block: 'center'}}); const r = c.getBoundingClientRect();"
                 " return {x: r.x + Number(c.dataset.left), y: r.y, width: Number(c.dataset.plotWidth)}; })()")


def keys(b, span, check):
    """W and S zoom around the pointer, A and D move; without the focus, too, but not while something is typed."""
    at = place(b)
    b.run("document.activeElement.blur()")
    b.hover(at["x"] + at["width"] * 0.75, at["y"] + AXIS + 5)
    b.key("w")
    begin, end = view_of(b)
    check("W does not zoom in:", end - begin < 0.7 * span, (begin, end, span))
    check("W does not zoom around the pointer:", abs((begin + (end - begin) * 0.75) / span - 0.75) < 0.01, (begin, end, span))
    b.key("a")
    check("A does not move to earlier:", view_of(b)[0] < begin, view_of(b))
    b.key("d")
    check("D does not move back:", abs(view_of(b)[0] - begin) < 1e-6 * span, (view_of(b), begin))
    b.key("s")
    check("S does not zoom out:", view_of(b) == (0, span), (view_of(b), span))
    b.key("W")
    check("a capital W does not zoom in", view_of(b) != (0, span))
    b.run(f"{CANVAS}.focus()")
    b.key("0")
    check("0 does not show all:", view_of(b) == (0, span), view_of(b))
    b.wheel(at["x"] + at["width"] / 2, at["y"] + AXIS + 5, -200)
    begin, end = view_of(b)
    check("the wheel does not zoom in:", end - begin < 0.8 * span, (begin, end))
    b.key("0")


def searches(b, t, check):
    """A search counts its matches; Enter goes to each of them in turn."""
    names = {n for n, copy in zip(t["name"], t["copy"]) if not copy}
    name = t["names"][sorted(names)[0]]
    hits = sorted((t["start_ns"][i], i) for i in range(len(t["name"])) if t["names"][t["name"][i]] == name)
    b.key("/")
    check("/ does not go to the search", b.run("document.activeElement.id") == "timeline-search")
    view = view_of(b)
    b.run(f"(() => {{ const n = document.querySelector('#timeline-search'); n.value = {json.dumps(name.upper())}; n.dispatchEvent(new Event('input')); }})()")
    b.settle()
    said = b.run("document.querySelector('#timeline-found').textContent")
    check("the matches are not counted:", said.startswith(f"{len(hits):,} match"), (said, len(hits)))
    b.key("Enter", 13)
    check("Enter does not go to the first match:", b.run(CANVAS + ".dataset.at") == str(hits[0][1]), hits[0])
    b.key("Enter", 13)
    second = hits[1 % len(hits)]
    check("Enter does not go to the next match:", b.run(CANVAS + ".dataset.at") == str(second[1]), second)
    begin, end = view_of(b)
    check("the match is not in sight:", begin <= second[0] <= end, (begin, end, second))
    b.key("w")
    check("a letter of the search moves the timeline", view_of(b) == (begin, end))
    b.run("(() => { const n = document.querySelector('#timeline-search'); n.value = '<nothing>'; n.dispatchEvent(new Event('input')); })()")
    check("that nothing matches is not said", b.run("document.querySelector('#timeline-found').textContent") == "no match")
    b.key("Escape", 27)
    check("Escape does not end the search", b.run("document.querySelector('#timeline-found').textContent") == "")
    b.run(f"{CANVAS}.focus()")
    b.key("0")
    check("the view was not all before", view == view_of(b))


def expected_sums(t, begin, end):
    sums = {}
    for i, name in enumerate(t["name"]):
        start, stop = t["start_ns"][i], t["start_ns"][i] + t["duration_ns"][i]
        if stop > begin and start < end:
            launches, ns = sums.get(t["names"][name], (0, 0))
            sums[t["names"][name]] = (launches + 1, ns + min(end, stop) - max(begin, start))
    return sums


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


def ranges(b, t, check):
    """What a drag along the axis, or one with Shift, selects is summed up by name; what crosses an end counts in part."""
    span, at = t["makespan_ns"], place(b)
    for y, shift in ((AXIS / 2, False), (AXIS + TRACK / 2, True)):
        b.drag((at["x"] + at["width"] * 0.2, at["y"] + y), (at["x"] + at["width"] * 0.7, at["y"] + y), shift)
        begin, end = (float(x) for x in b.run(CANVAS + ".dataset.range").split())
        check("the range is not where it was drawn:", abs(begin / span - 0.2) < 0.01 and abs(end / span - 0.7) < 0.01, (begin, end, span))
        check("a selection moves the view:", view_of(b) == (0, span), view_of(b))
        rows = b.run("[...document.querySelectorAll('#timeline-range tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        wanted = expected_sums(t, begin, end)
        check("the names of the range are others:", {r[0] for r in rows} == set(wanted), (rows, wanted))
        for name, launches, took, *_ in rows:
            check("launches in the range:", int(launches.replace(",", "")) == wanted[name][0], (name, launches, wanted[name]))
            check("time in the range:", abs(nanoseconds(took) - wanted[name][1]) <= 0.006 * wanted[name][1] + 1, (name, took, wanted[name]))
        b.key("Escape", 27)
        check("Escape does not remove the range", b.run("document.querySelector('#timeline-range').hidden"))
    b.run(f"{CANVAS}.focus()")
    for key in ("Home", "[", "End", "]"):
        b.key(key, {"Home": 36, "End": 35}.get(key, 0))
    begin, end = (float(x) for x in b.run(CANVAS + ".dataset.range").split())
    lane = [i for i in range(len(t["lane"])) if t["lane"][i] == t["lane"][int(b.run(CANVAS + ".dataset.at"))]]
    last = max(lane, key=lambda i: t["start_ns"][i])
    check("[ and ] do not set the range:", begin == min(t["start_ns"][i] for i in lane) and end == t["start_ns"][last] + t["duration_ns"][last], (begin, end))
    b.run("[...document.querySelectorAll('#timeline-range button')].find(n => n.textContent === 'zoom to it').click()")
    b.settle()
    check("the range is not zoomed to:", view_of(b) == (begin, end), (view_of(b), begin, end))
    b.key("Escape", 27)
    b.key("0")


def names_in_bars(b, t, check):
    """Wide bars have the short name of what ran."""
    b.run("(() => { const p = CanvasRenderingContext2D.prototype; p.wasText = p.fillText; globalThis.inBars = [];"
          " p.fillText = function (...a) { if (this.canvas.id === 'timeline-canvas') inBars.push(a[0]); return this.wasText(...a); }; })()")
    b.hover(2, 2)  # else W zooms around the pointer
    b.run(f"{CANVAS}.focus()")
    b.key("Home", 36)
    for _ in range(6):
        b.key("w")
    first = t["names"][t["name"][int(b.run(CANVAS + ".dataset.at"))]]
    short = first.split("(")[0].split("<")[0].split(" ")[-1] if not first.startswith("MEMORY_") else first[7:].replace("_", " ").lower()
    b.run("inBars.length = 0")
    b.key("ArrowRight", 39)
    b.key("ArrowLeft", 37)
    drawn = b.run("inBars")
    check("the name is not in its bar:", any(short[:8] in text or text.rstrip("…") and short.startswith(text.rstrip("…")) for text in drawn), (short, drawn))
    b.run("(() => { const p = CanvasRenderingContext2D.prototype; p.fillText = p.wasText; })()")
    b.key("0")


def run(b, t, check):
    b.run(f"{CANVAS}.focus()")
    b.key("0")
    keys(b, t["makespan_ns"], check)
    searches(b, t, check)
    ranges(b, t, check)
    names_in_bars(b, t, check)
