"""What structure, check-layers and check-words know of C sources. Imported, not run."""
import bisect
import collections
import os
import re

LEXEMES = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
STATIC_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+[^\n]*\bstatic\b", re.M)
OURS = re.compile(r"(?<![\w.>])(?:rp|rocm_perf)_\w+")
TAG = re.compile(r"\b(?:struct|union|enum)\s+\w+")


def read(top, folders, endings):
    """Path from top -> text, of these files, or of the files below these folders."""
    texts = {}
    for folder in folders:
        start = os.path.join(top, folder)
        found = [start] if os.path.isfile(start) else []
        for inside, _, names in os.walk(start):
            found += [os.path.join(inside, name) for name in names]
        for path in sorted(found):
            if path.endswith(endings):
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts[os.path.relpath(path, top)] = file.read()
    return texts


def blank(text):
    """The same lines with nothing on them."""
    return "\n" * text.count("\n")


def without_comments(text):
    return LEXEMES.sub(lambda m: " " + blank(m.group()) if m.group()[0] == "/" else m.group(), text)


def code_of(text):
    """Neither comments nor what stands between quotes."""
    return LEXEMES.sub(lambda m: " " + blank(m.group()) if m.group()[0] == "/" else m.group()[0] * 2, text)


class Function:
    """Name, what stands before it (its type, static, macros), first and last line."""

    def __init__(self, name, before, first, last):
        self.name, self.before, self.first, self.last = name, before, first, last

    def lines(self):
        return self.last - self.first + 1

    def is_static(self, macros):
        return any(word == "static" or word in macros for word in re.findall(r"\w+", self.before))


def name_before(head):
    """Where the name begins whose parameters the head ends with, and where it ends; None if it is no function's."""
    head = head.rstrip()
    while head.endswith(")"):
        depth = 0
        for place in range(len(head) - 1, -1, -1):
            depth += (head[place] == ")") - (head[place] == "(")
            if depth == 0:
                break
        name = re.search(r"(\w+)\s*$", head[:place])
        if name is None:
            return None
        if name.group(1) != "__attribute__":
            return name.span(1)
        head = head[: name.start()].rstrip()
    return None


def functions(code):
    """The functions that are defined in code (as code_of makes it)."""
    plain = DIRECTIVE.sub(lambda m: blank(m.group()), code)
    ends = [m.start() for m in re.finditer("\n", plain)]
    line = lambda place: bisect.bisect_left(ends, place) + 1
    found, depth, start, head = [], 0, 0, ""
    for match in re.finditer(r"[{};]", plain):
        if match.group() == "{":
            if depth == 0:
                head = plain[start : match.start()]
            depth += 1
        elif depth == 0:
            start = match.end()
        elif match.group() == "}":
            # In the first column it closes whatever the branches of an #if have left open.
            depth = 0 if plain[match.start() - 1] == "\n" else depth - 1
            if depth == 0:
                name = name_before(head)
                if name and "=" not in head[: name[0]]:
                    first = start + len(head) - len(head.lstrip())
                    found.append(Function(head[name[0] : name[1]], head[: name[0]], line(first), line(match.start())))
                start = match.end()
    return found


def static_macros(texts):
    """Macros without parameters that make a function static, such as RP_INLINE."""
    return {name for text in texts.values() for name in STATIC_MACRO.findall(text)}


def unit(path):
    """A .c file and its header are one."""
    return path.rsplit(".", 1)[0]


def circles(edges):
    """The strongly connected parts of more than one node, as sorted lists (Tarjan, without recursion)."""
    order, low, stack, waiting, found = {}, {}, [], set(), []
    for root in sorted(edges):
        if root in order:
            continue
        walk = [(root, iter(sorted(edges[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        waiting.add(root)
        while walk:
            node, rest = walk[-1]
            for other in rest:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    waiting.add(other)
                    walk.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in waiting:
                    low[node] = min(low[node], order[other])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == order[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    waiting.difference_update(part)
                    if len(part) > 1:
                        found.append(sorted(part))
    return sorted(found)


def calls(texts):
    """Unit -> unit -> the functions of the other one that it names. Only functions that are ours and are not static count,
    and only where the name stands for the function, not for a type, a member or a static function of the same name."""
    codes = {path: code_of(text) for path, text in texts.items() if path.endswith(".c")}
    macros = static_macros(texts)
    owner, own = {}, collections.defaultdict(set)
    for path, code in codes.items():
        for function in functions(code):
            own[path].add(function.name)
            if OURS.fullmatch(function.name) and not function.is_static(macros):
                owner.setdefault(function.name, path)
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, code in codes.items():
        for name in set(OURS.findall(TAG.sub(" ", code))) - own[path]:
            if name in owner and unit(owner[name]) != unit(path):
                edges[unit(path)][unit(owner[name])].add(name)
    return edges
