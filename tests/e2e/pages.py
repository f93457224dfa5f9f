#!/usr/bin/env python3
"""The pages of docs/tasks, tried: the commands of each page run on a test cluster, and print what the page shows.

usage: pages.py run ROOT [--only PAGE]... [--late SECONDS]   on a cluster of scripts/demo --empty, of the programs that are built
       pages.py list ROOT                                    the pages in their order, with the number of their blocks

A page is Markdown. Each block marked `sh` runs by itself, in the order of the page, and must succeed. A block marked `text` is the output
of the `sh` block before it. There `...` stands for any characters of a line, a line `...` alone for any number of lines, and white space
for any white space. A block that only asks is asked again until it prints that, for a minute at most. With --late it is asked for the first time SECONDS after the
block before it: a page must show what stays, and a slow machine may ask late.

    <!-- not run: REASON -->

before a block leaves it out. The address 127.0.0.1:10265 becomes that of the cluster's dashboard. The order of the pages is that of the
links in docs/tasks/index.md. A page leaves no work and no queue behind.

Exit: 0 all is as shown, 1 something is not, 77 there is no control plane (1 with BERTH_E2E=required).
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = "docs/tasks"
DASHBOARD = "127.0.0.1:10265"
NODES = 4
PATIENCE_S = 60
LEFT_S = 20  # pods need some time to go
# Commands that change nothing, so that they may be asked again.
ASKS = re.compile(r"^(kubectl )?(berth (get|explain|top|log|check|plan)|(get|describe|wait|auth) )|^kubectl (get|describe|wait|diff|events)"
                  r"|^curl |^helm (get|history)")


class Block:
    def __init__(self, kind, line):
        self.kind, self.line, self.lines, self.skip = kind, line, [], None

    @property
    def text(self):
        return "\n".join(self.lines)

    def asks(self):
        """Whether each of its commands only reads."""
        commands, continued = [], False
        for line in self.lines:
            bare = line.split(" #")[0].strip()
            if bare and not bare.startswith("#") and not continued:
                commands.append(bare)
            continued = bare.endswith("\\")
        return bool(commands) and all(ASKS.match(command) for command in commands)


class Step:
    """Commands, and what they print; `shown` is None where the page does not say."""

    def __init__(self, commands, shown):
        self.commands, self.shown = commands, shown


def blocks_of(markdown):
    """The fenced blocks of a page, with the reasons of those that are not run."""
    out, block, reason = [], None, None
    for number, line in enumerate(markdown.splitlines(), 1):
        bare = line.strip()
        if block is not None:
            if bare == "```":
                out.append(block)
                block = None
            else:
                block.lines.append(line[block.indent:])
        elif bare.startswith("```"):
            block = Block(bare[3:].strip(), number)
            block.indent = len(line) - len(line.lstrip())
            block.skip, reason = reason, None
        elif match := re.fullmatch(r"<!-- not run: (.+) -->", bare):
            reason = match.group(1)
        elif bare:
            reason = None
    if block is not None:
        raise ValueError(f"line {block.line}: the block does not end")
    return out


def steps_of(markdown):
    steps = []
    for block in blocks_of(markdown):
        if block.kind == "sh":
            steps.append(Step(block, None))
        elif block.kind == "text":
            if not steps or steps[-1].shown is not None:
                raise ValueError(f"line {block.line}: output without commands before it")
            steps[-1].shown = block
    return steps


def plain(line):
    return " ".join(line.split())


def matches(shown, printed):
    """Whether the output is as shown."""
    pattern = ""
    for line in shown.splitlines():
        line = plain(line)
        if line == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r"\n"
    lines = [plain(line) for line in printed.rstrip().splitlines()]
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def pages_of(root):
    """The pages in the order of the index, which must name them all."""
    with open(os.path.join(root, FOLDER, "index.md"), encoding="utf-8") as file:
        names = re.findall(r"\]\(([a-z0-9-]+\.md)\)", file.read())
    order = list(dict.fromkeys(names))
    there = {name for name in os.listdir(os.path.join(root, FOLDER)) if name.endswith(".md")} - {"index.md"}
    if set(order) != there:
        raise ValueError(f"{FOLDER}/index.md does not list, or lists in vain: {sorted(there ^ set(order))}")
    out = []
    for name in order:
        with open(os.path.join(root, FOLDER, name), encoding="utf-8") as file:
            out.append((name, steps_of(file.read())))
    return out


class Cluster:
    """scripts/demo --empty, and a shell that reaches it."""

    def __init__(self, root, folder):
        self.root, self.folder = root, os.path.join(folder, "cluster")
        self.port = random.randint(29000, 29900)
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(root, "scripts/demo"), "--no-build", "--no-packages", "--empty", "--nodes", str(NODES), "--port",
                 str(self.port), "--folder", self.folder], stdout=log, stderr=log, start_new_session=True)
        self.home = os.path.join(folder, "home")
        os.mkdir(self.home)

    def wait(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                if "Ctrl-C ends everything" in log.read():
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError("the cluster did not start:\n" + self.words())

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def run(self, commands):
        """Exit status, and what was printed."""
        script = f". '{self.folder}/env'\n" + commands.replace(DASHBOARD, f"127.0.0.1:{self.port}")
        try:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.root, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False,
                                  env=dict(os.environ, HOME=self.home, LC_ALL="C.UTF-8"))
        except subprocess.TimeoutExpired as late:
            return 124, (late.stdout or b"").decode("utf-8", "replace") + f"\nno end within {PATIENCE_S} s"
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


def indented(text):
    return "".join(f"    {line}\n" for line in text.rstrip().splitlines())


def run_step(cluster, step, late_s=0):
    """"" or what is wrong."""
    again = step.commands.asks()
    if again:
        time.sleep(late_s)
    end = time.monotonic() + PATIENCE_S
    while True:
        code, printed = cluster.run(step.commands.text)
        good = code == 0 and (step.shown is None or matches(step.shown.text, printed))
        if good:
            return ""
        if not again or time.monotonic() > end:
            break
        time.sleep(0.3)
    wrong = f"exit status {code}\n" if code != 0 else ""
    shown = f"  the page shows\n{indented(step.shown.text)}" if step.shown is not None else ""
    return f"{wrong}  the commands\n{indented(step.commands.text)}{shown}  it printed\n{indented(printed)}"


def left_behind(cluster):
    """What of the page's work, queues and priorities is still there some seconds after it."""
    end = time.monotonic() + min(LEFT_S, PATIENCE_S)
    while True:
        _, there = cluster.run("kubectl get jobs,pods -o name; kubectl get queues.berth.dev,priorityclasses -o name | grep -v /system- || true")
        if not there.strip() or time.monotonic() > end:
            return there.strip()
        time.sleep(0.3)


def run_page(cluster, name, steps, late_s=0):
    """"" or the first thing that is wrong; later steps build on it."""
    began, ran = time.monotonic(), 0
    for step in steps:
        if step.commands.skip:
            print(f"  {name}:{step.commands.line}: not run: {step.commands.skip}")
            continue
        wrong = run_step(cluster, step, late_s)
        ran += 1
        if wrong:
            return f"{FOLDER}/{name}:{step.commands.line}: {wrong}"
    if ran == 0:
        return f"{FOLDER}/{name}: nothing of this page runs"
    rest = left_behind(cluster)
    if rest:
        return f"{FOLDER}/{name} leaves behind: {rest}"
    print(f"ok {name}: {ran} blocks, {time.monotonic() - began:.1f} s", flush=True)
    return ""


def control_plane_is_built(root):
    asked = subprocess.run([os.path.join(root, "scripts/control-plane"), "path", "kube-apiserver"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False)
    return asked.returncode == 0 and os.access(asked.stdout.decode().strip(), os.X_OK)


def run(root, only, late_s=0):
    pages = pages_of(root)
    if not control_plane_is_built(root):
        print("no control plane: scripts/control-plane build")
        return 1 if os.environ.get("BERTH_E2E") == "required" else 77
    unknown = set(only) - {name for name, _ in pages}
    if unknown:
        raise ValueError(f"no such page: {sorted(unknown)}")
    failed = []
    with tempfile.TemporaryDirectory(prefix="berth-pages-") as folder:
        cluster = Cluster(root, folder)
        try:
            cluster.wait()
            for name, steps in pages:
                if only and name not in only:
                    continue
                wrong = run_page(cluster, name, steps, late_s)
                if wrong:
                    failed.append(name)
                    print(f"FAILED {wrong}", flush=True)
                    break  # the cluster is not as the next page expects it
            if failed:
                with open(os.path.join(cluster.folder, "berth.log"), encoding="utf-8", errors="replace") as log:
                    print("the end of Berth's log:\n" + indented("".join(log.readlines()[-15:])))
        finally:
            cluster.stop()
    return 1 if failed else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["run", "list"])
    parser.add_argument("root")
    parser.add_argument("--only", action="append", default=[], help="a page, such as first-job.md")
    parser.add_argument("--late", type=float, default=0, metavar="SECONDS", help="ask only so long after the block before")
    flags = parser.parse_args(arguments)
    root = os.path.abspath(flags.root)
    try:
        if flags.verb == "run":
            return run(root, flags.only, flags.late)
        for name, steps in pages_of(root):
            left = sum(1 for step in steps if step.commands.skip)
            print(f"{name}: {len(steps)} blocks, {left} of them not run, {sum(1 for s in steps if s.shown)} with their output")
        return 0
    except (ValueError, RuntimeError) as error:
        print(f"pages.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
