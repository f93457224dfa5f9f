#!/usr/bin/env python3
"""Checks of the tree itself. usage: check.py CHECK ROOT [--berth PROGRAM] [--write] [--show PATH]

  layers    a room, and a folder of a room, includes headers of what is below it only, and links what it includes (CMakeLists.txt)
  numbers   no floating point, clock, thread, file or hash-map header in engine/ and model/
  size      source files stay below 600 lines
  members   a class has at most 60 members and functions, but for the exceptions in reach.txt (needs universal-ctags)
  functions a function stays below 80 lines, but for the exceptions in reach.txt (needs universal-ctags)
  enums     every enumerator is used somewhere
  folders   every sub-folder of a room has its line in docs/contributors/architecture.md
  pointers  a file that a comment or a page names is there
  mutants   the texts that tests/property/mutants.py breaks stand in the engine, each once
  marks     nothing is left with a mark of unfinished work
  shell     every shell script parses
  bounds    an int32 in a schema that ships has its bounds
  links     relative links in Markdown lead somewhere, headings included
  rights    the guide's table of rights is that of the roles in deploy/berth.yaml
  entries   the guide's table of what is read of one object is that of dialect/base/bounds.h
  fields    the guide for Kueue says of each field of Kueue's schemas that ship what Berth does with it
  prose     sentences that are not plain English become fewer, folder by folder (prose.py; --write lowers its table,
            --show PATH prints the sentences of the files whose paths begin so)
  format    sources are laid out as .clang-format says (clang-format-16)
  commands  every `berth ...` shown in README.md and docs/ exists, with its flags (needs --berth)

Findings are printed as file:line: text. Exit: 0 none, 1 findings, 2 wrong usage, 77 the tool for it is not installed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

import prose
import reach

# Room -> the rooms that it may include. The order of the house is docs/contributors/architecture.md; where a room may see less than
# all that is below it, the reason stands beside.
LOW = {"base", "model", "text"}
ALLOWED = {
    "base": set(),
    "model": {"base"},
    "text": {"base"},  # beside model
    "engine": {"model", "base"},  # no JSON, no I/O: not even text
    "kube": {"text", "base"},  # API machinery: knows nothing of the engine
    "dialect": LOW | {"engine", "kube"},
    "observe": LOW | {"engine", "kube", "dialect"},
    "sim": LOW | {"engine", "kube", "dialect", "observe"},
    "scheduler": LOW | {"engine", "kube", "dialect", "observe"},
    "cli": LOW | {"engine", "kube", "dialect", "observe", "sim", "scheduler"},
    "main.cc": {"cli", "base"},
}

# What the deciding rooms must not use: their results have to be the same bytes on every machine.
PURE_ROOMS = ("engine", "model")
IMPURE_HEADERS = {
    "chrono", "ctime", "time.h", "sys/time.h", "thread", "mutex", "shared_mutex", "condition_variable", "future",
    "random", "fstream", "iostream", "cstdio", "stdio.h", "filesystem", "unistd.h", "cmath", "math.h",
}

SOURCES = (".cc", ".h")
MAX_LINES = 600

# Split so that this file does not match itself.
MARKS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|(?i:\bfor n" r"ow\b|\bnot impl" r"emented\b|\bplace" r"holder\b(?!\s*[:=]))")  # HTML has an attribute
MARKS_EXEMPT = {"LICENSE"}
# A name of Kubernetes in quotes, prefix/name, is what it is.
QUOTED_NAMES = re.compile(r"[`\"'][a-z0-9.-]+\.[a-z0-9-]+/[A-Za-z0-9._-]+[`\"']")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Findings(list):
    def add(self, path, line, text):
        self.append(f"{path}:{line}: {text}")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def files(root):
    """Paths below root that belong to the project: what git tracks or would, or a walk where there is no git."""
    try:
        done = subprocess.run(
            ["git", "-c", f"safe.directory={os.path.realpath(root)}", "-C", root, "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            capture_output=True, check=True)
        listed = [p for p in done.stdout.decode().split("\0") if p]
    except (OSError, subprocess.CalledProcessError):
        listed = []
        for folder, folders, names in os.walk(root):
            folders[:] = [d for d in folders if d not in (".git", "build", "out", "__pycache__", ".cache")]
            listed += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(p for p in set(listed) if os.path.isfile(os.path.join(root, p)) and not p.endswith(".tmp"))


def sources(root, *folders):
    return [p for p in files(root) if p.endswith(SOURCES) and p.split("/")[0] in folders]


def without_comments(text):
    """The text with comments, strings and characters blanked, line for line."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def linked_rooms(root):
    """Room -> rooms that its library may use, from berth_room(NAME DEPS ...), links of links included."""
    direct = {}
    for call in re.findall(r"^berth_room\(([^)]*)\)", read(root, "CMakeLists.txt"), re.M):
        words, key = call.split(), None
        direct[words[0]] = set()
        for word in words[1:]:
            if word in ("DEPS", "LIBS", "TEST_SUPPORT", "FOLDERS"):
                key = word
            elif key == "DEPS":
                direct[words[0]].add(word)
    closed = {}

    def close(room):
        if room not in closed:
            closed[room] = set(direct.get(room, ()))
            for dep in direct.get(room, ()):
                closed[room] |= close(dep)
        return closed[room]

    for room in direct:
        close(room)
    return closed


def starred(root, room, folder):
    """The folders that `folder/*` stands for; any other stands for itself."""
    if not folder.endswith("/*"):
        return [folder]
    parent = os.path.join(root, "src", room, folder[:-2])
    return sorted(f"{folder[:-1]}{name}" for name in os.listdir(parent) if os.path.isdir(os.path.join(parent, name)))


def inner_folders(root):
    """Room -> {folder: folders of the room that it may include}, from berth_room(NAME ... FOLDERS "a: b c" ...)."""
    rooms = {}
    for call in re.findall(r"^berth_room\(([^)]*)\)", read(root, "CMakeLists.txt"), re.M):
        closed, room = {}, call.split()[0]
        for line in re.findall(r'"([^"]+)"', call):
            folder, _, direct = line.partition(":")
            below = set()
            for dep in [d for word in direct.split() for d in starred(root, room, word)]:
                below |= {dep} | closed.get(dep, set())
            closed |= {one: below for one in starred(root, room, folder)}
        rooms[room] = closed
    return rooms


def check_folder(path, number, target, folders, found):
    """An include of one room: from a folder to a folder that it may include. The room's own files may include all folders."""
    folder, other = (os.path.dirname("/".join(p.split("/")[1:])) for p in (path[len("src/"):], target))
    if folder == other or (not folder and other in folders):
        return
    if folder and folder not in folders:
        found.add(path, 1, f"'{folder}' is no folder of berth_room({target.split('/')[0]}) in CMakeLists.txt")
    elif other not in folders.get(folder, set()):
        found.add(path, number, f"folder '{folder}' includes \"{target}\", but '{other or 'the room itself'}' is not below it (CMakeLists.txt)")


def check_layers(root, found):
    linked = linked_rooms(root)
    inner = inner_folders(root)
    for room, deps in sorted(linked.items()):
        if room not in ALLOWED:
            found.add("CMakeLists.txt", 1, f"room '{room}' has no place in the order of tests/tree/check.py")
            continue
        for dep in sorted(deps - ALLOWED[room]):
            found.add("CMakeLists.txt", 1, f"berth_room({room}) depends on '{dep}', which is not below it")
    for path in sources(root, "src"):
        room = path.split("/")[1]
        if room not in ALLOWED:
            found.add(path, 1, f"'{room}' is no room: it has no place in the order of tests/tree/check.py")
            continue
        for number, line in enumerate(read(root, path).splitlines(), 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            target = include.group(2)
            other = target.split("/")[0]
            if include.group(1) == '"' and not os.path.isfile(os.path.join(root, "src", target)):
                found.add(path, number, f'"{target}" is no path below src/: includes are written from src/')
            elif include.group(1) == '"' and other == room and inner.get(room):
                check_folder(path, number, target, inner[room], found)
            elif other in ALLOWED and other != room and (include.group(1) == '"' or "/" in target):
                if other not in ALLOWED[room]:
                    found.add(path, number, f"room '{room}' includes \"{target}\", but '{other}' is not below it")
                elif room in linked and other not in linked[room]:
                    found.add(path, number, f"room '{room}' includes \"{target}\", but berth_room({room}) does not depend on it")


def check_numbers(root, found):
    for path in sources(root, "src"):
        if path.split("/")[1] not in PURE_ROOMS:
            continue
        text = read(root, path)
        for number, line in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(line)
            if include and include.group(2) in IMPURE_HEADERS:
                found.add(path, number, f"<{include.group(2)}> in a deciding room: no clock, thread, I/O or randomness there")
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if re.search(r"\b(float|double)\b", line):
                found.add(path, number, "floating point in a deciding room: amounts are integers, weights exact rationals")


def check_size(root, found):
    for path in sources(root, "src"):
        lines = read(root, path).count("\n")
        if lines >= MAX_LINES:
            found.add(path, lines, f"{lines} lines: split it by what its parts are for (most {MAX_LINES - 1})")


def check_marks(root, found):
    for path in files(root):
        if os.path.basename(path) in MARKS_EXEMPT or path.endswith(("go.sum", ".gz", ".png")):
            continue
        with open(os.path.join(root, path), "rb") as f:
            data = f.read()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            mark = MARKS.search(QUOTED_NAMES.sub("", line))
            if mark:
                found.add(path, number, f"'{mark.group()}': finish it, or open an issue and leave it out")


def check_shell(root, found):
    for path in files(root):
        with open(os.path.join(root, path), "rb") as f:
            first = f.readline(200)
        if not (path.endswith(".sh") or re.match(rb"#!.*\b(ba)?sh\b", first)):
            continue
        done = subprocess.run(["bash", "-n", os.path.join(root, path)], capture_output=True, text=True, check=False)
        for line in done.stderr.splitlines():
            place = re.search(r"line (\d+): (.*)", line)
            found.add(path, place.group(1) if place else 1, place.group(2) if place else line)


def check_bounds(root, found):
    """Schemas that ship: the API server of Kubernetes 1.34 does not look at the format of an integer."""
    for path in files(root):
        if not re.match(r"deploy/.*\.yaml$", path):
            continue
        lines = read(root, path).splitlines()
        for i, line in enumerate(lines):
            if not (at := re.match(r"( *)format: int32$", line)):
                if re.search(r"\bformat: *[\"']?int32\b", line):
                    found.add(path, i + 1, "its format stands on a line of its own, or its bounds are not looked for")
                continue
            siblings = []
            for step in (-1, 1):
                j = i + step
                while 0 <= j < len(lines) and lines[j].startswith(at.group(1)):
                    siblings.append(lines[j][len(at.group(1)):])
                    j += step
            for bound in ("minimum: ", "maximum: "):
                if not any(s.startswith(bound) for s in siblings):
                    found.add(path, i + 1, f"an int32 without {bound[:-2]}")


def slug(heading):
    """GitHub's anchor of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def markdown_lines(root, path):
    """(number, line, language of the fenced block or None) of each line."""
    fence = None
    for number, line in enumerate(read(root, path).splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)\s*(\w*)", line)
        if mark:
            fence = None if fence is not None else mark.group(2)
            continue
        yield number, line, fence


def anchors(root, path):
    seen, result = {}, set()
    for _, line, fence in markdown_lines(root, path):
        heading = re.match(r"#{1,6}\s+(.*)", line) if fence is None else None
        if heading:
            base = slug(heading.group(1))
            count = seen.get(base, 0)
            seen[base] = count + 1
            result.add(base if count == 0 else f"{base}-{count}")
    return result


def check_links(root, found):
    for path in files(root):
        if not path.endswith(".md"):
            continue
        for number, line, fence in markdown_lines(root, path):
            if fence is not None:
                continue
            line = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(([^)\s]+)[^)]*\)|<img[^>]*src=\"([^\"]+)\"|srcset=\"([^\"]+)\"", line):
                target = next(t for t in target if t)
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                full = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                if not os.path.exists(os.path.join(root, full)):
                    found.add(path, number, f"link to '{target}': there is no {full}")
                elif anchor and full.endswith(".md") and anchor not in anchors(root, full):
                    found.add(path, number, f"link to '{target}': {full} has no heading with that anchor")


def schema_fields(root, path):
    """The kind of a CustomResourceDefinition, and (name with dots, line number) of each field that users write."""
    kind, stack, fields = None, [], {}
    for number, line in enumerate(read(root, path).splitlines(), 1):
        if at := re.match(r"    kind: (\w+)$", line):
            kind = at.group(1)
        if not (key := re.match(r"([ -]*)([\w-]+):(?= |$)", line)):
            continue
        while stack and stack[-1][0] >= len(key.group(1)):
            stack.pop()
        stack.append((len(key.group(1)), key.group(2)))
        keys = [name for _, name in stack]
        names = [name for above, name in zip(keys, keys[1:]) if above == "properties"]
        if keys[-2:-1] == ["properties"] and names[0] not in ("apiVersion", "kind", "metadata", "status") and names != ["spec"]:
            fields.setdefault(".".join(names), number)
    return kind, fields.items()


def check_fields(root, found):
    """A field is said where its name stands in backticks in a table, under a heading that names its kind."""
    guide, said, words = "docs/migration/kueue.md", {}, []
    for _, line, fence in markdown_lines(root, guide):
        if fence is None and line.startswith("#"):
            words = re.findall(r"\w+", line)
        elif fence is None and line.startswith("|"):
            for word in words:
                said.setdefault(word, set()).update(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]*)`", line))))
    schemas = [path for path in files(root) if re.match(r"deploy/crds/kueue\.x-k8s\.io_\w+\.yaml$", path)]
    for path in schemas:
        kind, fields = schema_fields(root, path)
        if not fields:
            found.add(path, 1, "no field is found in it: the check cannot read how it is laid out")
        for name, number in fields:
            if name.split(".")[-1] not in said.get(kind, ()):
                found.add(path, number, f"'{name}' of {kind} stands in no table of {guide} under a heading with '{kind}': "
                                        "say there what Berth does with it")
    if not schemas:
        found.add(guide, 1, "deploy/crds has no schema of Kueue's: the check has lost its input")


def role_rights(root, path):
    """(scope, group/resource) -> (line, verbs) of the roles in a manifest, laid out as deploy/berth.yaml is."""
    rights, kind, groups, resources, key = {}, "", [], [], ""
    for number, line in enumerate(read(root, path).splitlines(), 1):
        if at := re.match(r"kind: (\w+)$", line):
            kind = at.group(1)
        if kind not in ("ClusterRole", "Role"):
            continue
        if at := re.match(r"\s*(?:- )?(apiGroups|resources|verbs):\s*(?:\[(.*)\])?$", line):
            key, words = at.group(1), re.findall(r"[\w./-]+|\"\"", at.group(2) or "")
            if key == "apiGroups":
                groups, resources = [word.strip('"') for word in words], []
            elif key == "resources":
                resources = words
            else:
                for group in groups:
                    for resource in resources:
                        verbs = rights.setdefault((kind, f"{group}/{resource}"), (number, set()))[1]
                        verbs.update(words)
        elif key == "resources" and (at := re.match(r"\s+- ([\w/]+)$", line)):
            resources.append(at.group(1))
    return rights


def told_rights(root, path):
    """The same of the table below the heading Rights: `group` words before resources hold up to the next semicolon."""
    told, inside = {}, False
    for number, line, fence in markdown_lines(root, path):
        if fence is None and line.startswith("#"):
            inside = line.strip("# ") == "Rights"
        cells = [cell.strip() for cell in line.split("|")]
        if not inside or fence is not None or len(cells) < 4 or cells[1].startswith("with") or set(cells[1]) <= set("- "):
            continue
        verbs = set(re.findall(r"\b(get|list|watch|create|update|patch|delete)\b", re.sub(r"`[^`]*`", "", cells[2])))
        for part in cells[1].split(";"):
            kind = "Role" if " in `" in part else "ClusterRole"
            part = re.sub(r" in `[^`]*`", "", part)
            groups = re.findall(r"`([^`]*)`", part) or [""]
            for resource in re.findall(r"[a-z]+(?:/[a-z]+)?", re.sub(r"`[^`]*`", "", part)):
                for group in groups:
                    told.setdefault((kind, f"{group}/{resource}"), (number, set()))[1].update(verbs)
    return told


def check_rights(root, found):
    guide, manifest = "docs/install.md", "deploy/berth.yaml"
    has, told = role_rights(root, manifest), told_rights(root, guide)
    if not has:
        found.add(manifest, 1, "no rights are found in it: the check cannot read how it is laid out")
    for key, (number, verbs) in sorted(has.items()):
        if key not in told:
            found.add(manifest, number, f"{key[1]} ({key[0]}) stands in no row of the table of rights in {guide}")
        elif told[key][1] != verbs:
            found.add(guide, told[key][0], f"{key[1]}: the table says {sorted(told[key][1])}, {manifest} {sorted(verbs)}")
    for key, (number, _) in sorted(told.items()):
        if key not in has and key[1] != "/what":
            found.add(guide, number, f"{key[1]} ({key[0]}) is no right of {manifest}")


def check_entries(root, found):
    source, guide = "src/dialect/base/bounds.h", "docs/operations.md"
    bounds = re.findall(r'^ +\{"([^"]+)", (\d+)\},$', read(root, source), re.M)
    told = {tuple(cell.strip() for cell in line.split("|")[1:3]) for _, line, fence in markdown_lines(root, guide)
            if fence is None and line.startswith("|")}
    if not bounds:
        found.add(source, 1, "no bounds are found in it: the check cannot read how it is laid out")
    for what, most in bounds:
        if (what, most) not in told:
            found.add(guide, 1, f"no row of a table begins with | {what} | {most} |")


def check_format(root, found):
    tool = shutil.which("clang-format-16")
    if not tool:
        print("SKIPPED: clang-format-16 is not installed (scripts/lint installs it), so the layout was NOT checked")
        sys.exit(77)
    paths = sources(root, "src", "tests", "bench")
    for start in range(0, len(paths), 50):
        done = subprocess.run([tool, "--dry-run", "-Werror", *paths[start:start + 50]], cwd=root, capture_output=True,
                              text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if re.match(r"\S+:\d+:\d+: error:", line)]
        seen = set()
        for line in lines:  # the first place of each file is enough: `scripts/lint --fix` repairs all
            place = line.split(":")
            if place[0] not in seen:
                seen.add(place[0])
                found.add(place[0], place[1], "not laid out as .clang-format says: scripts/lint --fix")
        if done.returncode != 0 and not lines:
            found.add("clang-format-16", 1, done.stderr.strip())


def shown_commands(root):
    """(path, line number, words) of each berth command in fenced shell blocks and code spans of README.md and docs/."""
    for path in files(root):
        if not (path.endswith(".md") and (path == "README.md" or path.startswith("docs/"))):
            continue
        joined = ""
        for number, line, fence in markdown_lines(root, path):
            if fence in ("sh", "bash", "console"):
                line = joined + re.sub(r"^\s*\$ ", "", line)
                joined = ""
                if line.rstrip().endswith("\\"):
                    joined = line.rstrip()[:-1] + " "
                    continue
                commands = re.split(r"\s(?:\||&&|;)\s", re.sub(r"(^|\s)#.*", "", line))
            elif fence is None:
                commands = re.findall(r"`([^`]+)`", line)
            else:
                continue
            for command in commands:
                words = command.split()
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words.pop(0)
                if len(words) > 1 and re.fullmatch(r"(.*/)?berth", words[0]) and re.fullmatch(r"-{1,2}[a-z].*|[a-z][a-z-]*", words[1]):
                    yield path, number, words[1:]


def check_commands(root, found, berth):
    helps = {}

    def help_of(words):
        key = tuple(words)
        if key not in helps:
            done = subprocess.run([berth, *words, "--help"], capture_output=True, text=True, check=False, timeout=30,
                                  stdin=subprocess.DEVNULL)
            helps[key] = done.stdout + done.stderr if done.returncode == 0 else None
        return helps[key]

    for path, number, words in shown_commands(root):
        subcommand = [] if words[0].startswith("-") else words[:1]
        text = help_of(subcommand)
        # A command with commands of its own: the flags are those of the second.
        if subcommand and text and "Subcommands:" in text and len(words) > 1 and re.match(r"[a-z]", words[1]):
            subcommand = words[:2]
            text = help_of(subcommand)
        if text is None:
            found.add(path, number, f"'berth {' '.join(subcommand)} --help' fails: is there such a command?")
            continue
        for word in words:
            flag = re.match(r"(--[a-z][a-z0-9-]*|-[a-zA-Z])(?=$|[=\s])", word)
            if flag and not re.search(rf"(?<![\w-]){re.escape(flag.group(1))}(?![\w-])", text):
                found.add(path, number, f"'berth {' '.join(subcommand)}' has no {flag.group(1)}: its --help does not show it")
    if not helps:
        found.add("README.md", 1, "shows no berth command at all: the check has lost its input")


def with_ctags(check):
    def run(root, found):
        if not check(root, found):
            print("universal-ctags is not installed")
            sys.exit(77)
    return run


def comments_of(path, text):
    """The text line for line, with nothing but prose: all of a page, the comments of a source."""
    if path.endswith((".h", ".cc")):
        return [line[line.find("//"):] if "//" in line else "" for line in text.splitlines()]
    if path.endswith(".md"):
        return text.splitlines()
    return [line if line.lstrip().startswith("#") else "" for line in text.splitlines()]


def check_enums(root, found):
    reach.check_enumerators(root, found, sources(root, "src"), without_comments)


def check_folders(root, found):
    reach.check_folders(root, found, inner_folders(root))


def check_pointers(root, found):
    reach.check_pointers(root, found, files(root), comments_of)


def check_mutants(root, found):
    path = "tests/property/mutants.py"
    if not os.path.isfile(os.path.join(root, path)):
        return
    sys.path.insert(0, os.path.join(root, os.path.dirname(path)))
    import mutants  # noqa: E402

    for name, _, _, source, texts in mutants.MUTANTS:
        file = f"src/engine/{source}"
        if not os.path.isfile(os.path.join(root, file)):
            found.add(path, 1, f"{name}: there is no {file}")
            continue
        text = read(root, file)
        for old, _ in texts:
            if text.count(old) != 1:
                found.add(path, 1, f"{name}: {file} has its text {text.count(old)} times: {old.strip().splitlines()[0]}")


CHECKS = {
    "mutants": check_mutants,
    "members": with_ctags(reach.check_members), "functions": with_ctags(reach.check_functions), "enums": check_enums,
    "folders": check_folders, "pointers": check_pointers,
    "layers": check_layers, "numbers": check_numbers, "size": check_size, "marks": check_marks, "shell": check_shell,
    "bounds": check_bounds, "links": check_links, "fields": check_fields, "rights": check_rights,
    "entries": check_entries, "prose": None, "format": check_format, "commands": check_commands,
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("root")
    parser.add_argument("--berth")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show")
    args = parser.parse_args()
    found = Findings()
    if args.check == "commands":
        if not args.berth:
            parser.error("commands needs --berth PROGRAM")
        check_commands(args.root, found, args.berth)
    elif args.check == "prose":
        prose.check(args.root, found, files(args.root), read, args.write, args.show)
    else:
        CHECKS[args.check](args.root, found)
    for line in found:
        print(line)
    print(f"{args.check}: {len(found)} found" if found else f"{args.check}: holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
