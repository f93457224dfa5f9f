"""How far the reach of a part goes: members per class, lines per function, enumerators that nothing uses, folders without a line in
the architecture page, and names of files that lead nowhere. check.py runs these; the exceptions stand in reach.txt and only shrink.

Members and functions come from universal-ctags (Debian: universal-ctags).

`python3 tests/tree/reach.py [ROOT]` prints the ten largest classes and the ten longest functions (docs/contributors/house.md).
"""
import os
import re
import shutil
import subprocess
import sys

MOST_MEMBERS = 60
MOST_LINES = 80
EXCEPTIONS = "tests/tree/reach.txt"


def tags(root):
    """Rows (kind, name, scope, file, first line, last line) of all classes, members and functions of src/."""
    program = shutil.which("ctags")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout if program else ""
    if "Universal" not in version:
        return None
    done = subprocess.run(
        [program, "-x", "--_xformat=%K|%N|%{scopeKind}:%Z|%F|%n|%{end}", "--kinds-C++=+pcmfs", "--fields=+KZe", "--language-force=C++", "-R", "src"],
        cwd=root, capture_output=True, text=True, check=True)
    out = []
    for line in done.stdout.splitlines():
        kind, name, scope, path, first, last = line.split("|")
        if path.endswith((".cc", ".h")):
            out.append((kind, name, scope, path, int(first), int(last) if last else int(first)))
    return out


def class_of(scope):
    """"struct:berth::sim::Tally" -> "berth::sim::Tally"; "" for what is no part of a class."""
    kind, _, name = scope.partition(":")
    return name if kind in ("class", "struct") else ""


def members(rows):
    """Class -> how many members and functions it has."""
    seen = set()
    count = {}
    for kind, name, scope, path, _, _ in rows:
        owner = class_of(scope)
        if not owner or kind not in ("member", "prototype", "function"):
            continue
        # A function is declared in a header and defined in a source: once is enough. Overloads count as one.
        if (owner, name) in seen:
            continue
        seen.add((owner, name))
        count[owner] = count.get(owner, 0) + 1
    return count


def lines(rows):
    """"file function" -> its lines. Of functions of one name in one file: the longest."""
    out = {}
    for kind, name, _, path, first, last in rows:
        if kind == "function" and name:
            key = f"{path} {name}"
            out[key] = max(out.get(key, 0), last - first + 1)
    return out


def exceptions(root):
    """What reach.txt allows: (what, name) -> number."""
    out = {}
    path = os.path.join(root, EXCEPTIONS)
    if not os.path.isfile(path):
        return out
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if line:
                what, number, name = line.split(" ", 2)
                out[(what, name)] = int(number)
    return out


def compare(what, found_numbers, most, allowed, found):
    """A number above `most` must stand in the exceptions, exactly; an exception that is not needed any more must go."""
    for name, number in sorted(found_numbers.items()):
        limit = allowed.get((what, name))
        if number > most and limit is None:
            found.add(name.split(" ")[0], 1, f"{what}: {number} of {name}, at most {most}")
        elif limit is not None and number > limit:
            found.add(EXCEPTIONS, 1, f"{what}: {name} has grown to {number}, it was {limit}")
        elif limit is not None and number < limit:
            found.add(EXCEPTIONS, 1, f"{what}: {name} has {number} by now: lower the {limit}, or take the line out at {most} and less")
    for (of, name), limit in sorted(allowed.items()):
        if of == what and name not in found_numbers:
            found.add(EXCEPTIONS, 1, f"{what}: there is no {name}: take the line out")


def check_members(root, found):
    rows = tags(root)
    if rows is None:
        return False
    compare("members", members(rows), MOST_MEMBERS, exceptions(root), found)
    return True


def check_functions(root, found):
    rows = tags(root)
    if rows is None:
        return False
    compare("lines", lines(rows), MOST_LINES - 1, exceptions(root), found)
    return True


def check_enumerators(root, found, sources, without_comments):
    """An enumerator that stands nowhere but where it is declared."""
    texts = {path: without_comments(open(os.path.join(root, path), encoding="utf-8").read()) for path in sources}
    words = {}
    for text in texts.values():
        for word in re.findall(r"\bk[A-Z]\w*", text):
            words[word] = words.get(word, 0) + 1
    for path, text in sorted(texts.items()):
        for enum in re.finditer(r"\benum class (\w+)[^{;]*\{([^}]*)\}", text):
            # A value that is read from text by its name needs no other mention.
            name = enum.group(1)
            if any(re.search(r"\b(?:enum_or|enum_parse|choice\w*|word)\b[^;]*\b" + name + r"\b", t) for t in texts.values()):
                continue
            for entry in re.finditer(r"\b(k[A-Z]\w*)", enum.group(2)):
                if words[entry.group(1)] < 2:
                    line = text.count("\n", 0, enum.start(2) + entry.start()) + 1
                    found.add(path, line, f"{name}::{entry.group(1)} is used nowhere")


# Names of files in prose: engine/order/pending.h, order/pending.h, decisions.h, docs/queues.md.
FILE_NAME = re.compile(r"(?<![\w./~$%{}*<>-])((?:[\w.-]+/)*[\w-]+\.(?:h|cc|py|md|cmake))\b(?![\w/*<-])")


def check_pointers(root, found, files, comments_of):
    """A file that a comment or a page names is there."""
    tails = set()
    for path in files:
        parts = path.split("/")
        for i in range(len(parts)):
            tails.add("/".join(parts[i:]))
    for path in files:
        if not path.endswith((".cc", ".h", ".md", ".cmake", ".py", "CMakeLists.txt")) or path == "CHANGELOG.md":
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            text = f.read()
        for number, line in enumerate(comments_of(path, text), 1):
            for name in FILE_NAME.findall(line):
                if name in tails or "://" in line or foreign(line, name):
                    continue
                found.add(path, number, f"{name}: there is no such file")


def foreign(line, name):
    """A file of another project: the line says which, or it is a module's path. FILE.cc stands for any file."""
    if os.path.basename(name).split(".")[0].isupper():
        return True
    return bool(re.search(r"pkg/|k8s\.io|kueue|Kueue|volcano|Volcano|KAI|kubernetes/|generated|staging/|webhook", line)) or name.startswith("..")


def check_folders(root, found, inner):
    """Every sub-folder of a room has its line in the architecture page."""
    page = "docs/contributors/architecture.md"
    with open(os.path.join(root, page), encoding="utf-8") as f:
        text = f.read()
    for room, folders in sorted(inner.items()):
        for folder in sorted(folders):
            if f"`{room}/{folder}/`" not in text:
                found.add(page, 1, f"`{room}/{folder}/` has no line that says what it is for")


def lines_of_classes(rows):
    """Class -> the lines of its declaration, and of its functions that are defined elsewhere."""
    spans, out, prototypes = {}, {}, {}
    for kind, name, scope, path, first, last in rows:
        if kind in ("class", "struct"):
            full = f"{scope.partition(':')[2]}::{name}" if scope else name
            spans.setdefault(full, []).append((path, first, last))
            out[full] = out.get(full, 0) + last - first + 1
        elif kind == "prototype":
            prototypes.setdefault(name, set()).add(class_of(scope))
    for kind, name, scope, path, first, last in rows:
        owner = class_of(scope)
        if kind != "function" or not owner:
            continue
        if owner not in spans:  # named by a class that inherits it: the class of that name which declares the function
            same = [p for p in prototypes.get(name, ()) if p and p.split("::")[-1] == owner.split("::")[-1]]
            owner = same[0] if len(same) == 1 else owner
        if not any(p == path and a <= first <= b for p, a, b in spans.get(owner, ())):
            out[owner] = out.get(owner, 0) + last - first + 1
    return out


def largest(rows, most=10):
    """(members and functions, of these members, lines, class) of the largest classes."""
    seen, data = set(), {}
    for kind, name, scope, _, _, _ in rows:
        owner = class_of(scope)
        if kind == "member" and owner and (owner, name) not in seen:
            seen.add((owner, name))
            data[owner] = data.get(owner, 0) + 1
    length = lines_of_classes(rows)
    found = sorted(members(rows).items(), key=lambda one: (-one[1], one[0]))[:most]
    return [(number, data.get(name, 0), length.get(name, 0), name) for name, number in found]


def main(root):
    rows = tags(root)
    if rows is None:
        print("universal-ctags is not installed", file=sys.stderr)
        return 77
    print("| members and functions | of these members | lines | class |\n|---|---|---|---|")
    for number, data, length, name in largest(rows):
        print(f"| {number} | {data} | {length} | `{name.removeprefix('berth::')}` |")
    found = sorted(lines(rows).items(), key=lambda one: (-one[1], one[0]))
    print(f"\nfunctions: {sum(1 for row in rows if row[0] == 'function')}; of 60 lines and more: "
          f"{sum(1 for _, n in found if n >= 60)}; of {MOST_LINES} and more: {sum(1 for _, n in found if n >= MOST_LINES)}")
    for name, number in found[:10]:
        print(f"  {number} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
