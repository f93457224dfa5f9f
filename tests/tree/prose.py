"""The check `prose` of check.py: plain English, counted. Rules and reasons: docs/contributors/prose.md.

Read are: comments in src/ and tests/, texts (string literals of three words and more) in src/, and the prose of README.md,
CONTRIBUTING.md and docs/. Three things are counted:

  words    who, whom, whoever, somebody, nobody: an object of the program has a name
  openers  sentences that begin with What, Of, Nor or Neither (questions and headings may)
  long     sentences of more than 25 words

prose_counts.txt holds the counts per folder, named by the first two parts of the path, so that a file may move into a
sub-folder. No count may rise. Where one fell, the table must be lowered: `check.py prose ROOT --write`.
"""
import os
import re

TABLE = "tests/tree/prose_counts.txt"
MOST_WORDS = 25
WORDS = re.compile(r"\b(who|whom|whoever|somebody|nobody)\b", re.I)
OPENERS = re.compile(r"[\W_]*(What|Of|Nor|Neither)\b")
KINDS = ("words", "openers", "long")
HEAD = """\
# Sentences that are not plain English yet, per folder (tests/tree/prose.py). No number may rise. After an improvement:
# python3 tests/tree/check.py prose . --write
"""

TOKEN = re.compile(
    r'(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R"(?P<tag>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=tag)"'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])\'|(?P<code>[^\s"\'/]+|.)', re.S)


def folder_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def is_read(path):
    if path.endswith((".cc", ".h")):
        return path.startswith(("src/", "tests/"))
    return path.endswith(".md") and (path in ("README.md", "CONTRIBUTING.md") or path.startswith("docs/"))


def source_texts(text, with_strings):
    """(line number, text, is a heading) of each comment, whose lines are one text, and of each literal that is prose."""
    comment, start, last, column = [], 0, -1, 0  # lines of the comment that is being read, its first and last line, where
    literal, literal_start = [], 0
    number = 1
    for token in TOKEN.finditer(text):
        here = number
        number += token.group().count("\n")
        if token.group("line") is not None:
            at = token.start() - text.rfind("\n", 0, token.start())
            if here != last + 1 or at != column or not alone(text, token.start()):
                if comment:
                    yield start, "\n".join(comment), False
                comment, start, column = [], here, at
            comment.append(token.group("line").lstrip("/"))
            last = here
        elif token.group("block") is not None:
            yield here, token.group("block")[2:-2], False
        elif token.group("string") is not None or token.group("raw") is not None:
            if not literal:
                literal_start = here
            literal.append(token.group("raw") if token.group("string") is None else
                           token.group("string")[1:-1].replace("\\n", "\n\n").replace('\\"', '"'))
        elif token.group("code") is not None and not token.group("code").isspace() and literal:
            yield from whole_literal(literal, literal_start, with_strings)
            literal = []
    if comment:
        yield start, "\n".join(comment), False
    yield from whole_literal(literal, literal_start, with_strings)


def whole_literal(parts, start, wanted):
    text = "".join(parts)
    is_table = len(re.findall(r"\w=\w", text)) > 3  # such as the fields that a kind has
    if wanted and "<" not in text and not is_table and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3:
        yield start, text, False


def alone(text, at):
    """Nothing but spaces stands before it on its line."""
    return not text[text.rfind("\n", 0, at) + 1:at].strip()


def markdown_texts(text):
    """The same of Markdown: each paragraph, item of a list and cell of a table; no fenced blocks."""
    fence, paragraph, start = False, [], 1
    for number, line in enumerate(text.splitlines() + [""], 1):
        mark = re.match(r"\s*(```|~~~)", line)
        own = re.match(r"\s*(#|\||[-*] |\d+\. |<)", line)
        if (mark or own or not line.strip()) and paragraph:
            yield start, "\n".join(paragraph), False
            paragraph = []
        if mark:
            fence = not fence
        elif fence or not line.strip() or line.lstrip().startswith("<") or (line.startswith("    ") and not paragraph):
            continue  # code, or a picture
        elif line.lstrip().startswith("#"):
            yield number, line.lstrip("# "), True
        elif line.lstrip().startswith("|"):
            for cell in re.sub(r"`[^`]*`", "x", line).strip().strip("|").split("|"):
                yield number, cell, False
        else:
            if not paragraph:
                start = number
            paragraph.append(line)


def sentences(text):
    """(lines before it, sentence). A paragraph, an item of a list and a row `key  text` end a sentence."""
    text = re.sub(r"`[^`\n]*`", lambda m: "x" + "\n" * m.group().count("\n"), text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\{[^{}\n]*\}", "x", text)
    for at in re.finditer(r"(?:(?!(?<=[.!?])(?<!\.\.)(?<!e\.g\.)(?<!i\.e\.)(?<!al\.)[)\"*]*\s+(?=[\"(*]*[A-Za-z`0-9])|\n\s*(?:\n|[-*] |\d+\. |\S+(?: \S+){0,2} {2,}\S)).)+.?", text, re.S):
        if at.group().strip():
            skipped = len(at.group()) - len(at.group().lstrip())
            yield text.count("\n", 0, at.start() + skipped), at.group().strip()


def words_in(sentence):
    return len([word for word in sentence.split() if re.search(r"[A-Za-z0-9]", word)])


def violations(path, text):
    """(line number, kind, sentence)."""
    read = source_texts(text, path.startswith("src/")) if not path.endswith(".md") else markdown_texts(text)
    for start, passage, heading in read:
        for before, sentence in sentences(passage):
            place = start + before
            for _ in WORDS.finditer(sentence):
                yield place, "words", sentence
            if OPENERS.match(sentence) and not heading and not sentence.endswith("?"):
                yield place, "openers", sentence
            if words_in(sentence) > MOST_WORDS:
                yield place, "long", sentence


def counted(root, paths, read):
    """Folder -> kind -> places, path:line: and the sentence."""
    result = {}
    for path in paths:
        if is_read(path):
            kinds = result.setdefault(folder_of(path), {kind: [] for kind in KINDS})
            for line, kind, sentence in violations(path, read(root, path)):
                kinds[kind].append(f"{path}:{line}: {' '.join(sentence.split())}")
    return result


def table_of(root, read):
    if not os.path.isfile(os.path.join(root, TABLE)):
        return {}
    rows = [line.split() for line in read(root, TABLE).splitlines() if line.strip() and not line.startswith("#")]
    return {row[0]: dict(zip(KINDS, map(int, row[1:]))) for row in rows if row[0] != "folder"}


def write_table(root, counts):
    lines = [f"{'folder':<20}" + "".join(f"{kind:>9}" for kind in KINDS)]
    for folder, kinds in sorted(counts.items()):
        lines.append(f"{folder:<20}" + "".join(f"{len(kinds[kind]):>9}" for kind in KINDS))
    lines.append(f"{'# total':<20}" + "".join(f"{sum(len(k[kind]) for k in counts.values()):>9}" for kind in KINDS))
    with open(os.path.join(root, TABLE), "w", encoding="utf-8") as f:
        f.write(HEAD + "\n".join(lines) + "\n")


def check(root, found, paths, read, write=False, show=None):
    """Findings go to `found` (add(path, line, text)). `show` prints every sentence whose path begins with it."""
    counts = counted(root, paths, read)
    if show is not None:
        for folder in sorted(counts):
            for kind in KINDS:
                for place in counts[folder][kind]:
                    if place.startswith(show):
                        print(f"{kind}: {place}")
    if write:
        write_table(root, counts)
        return
    table = table_of(root, read)
    for folder in sorted(set(counts) | set(table)):
        for kind in KINDS:
            places, most = counts.get(folder, {}).get(kind, []), table.get(folder, {}).get(kind, 0)
            if len(places) > most:
                found.add(TABLE, 1, f"{folder}: {len(places)} of '{kind}', {most} may be; one of them is new "
                                    f"(`check.py prose . --show {folder}` prints them)")
            elif len(places) < most:
                found.add(TABLE, 1, f"{folder}: '{kind}' fell from {most} to {len(places)}; lower the table with "
                                    "`check.py prose . --write`")
