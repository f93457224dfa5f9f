#!/usr/bin/env python3
"""The way of a pod from its watch to its bind, through the folders of the house: how many stays, returns and climbs.

usage: tests/tree/way.py build/release/test_scheduler_carry [ROOT]

Runs Binds.OnePodIsBoundOnceWithItsUid under gdb with a breakpoint on each function of a class of scheduler/, dialect/ and observe/ and of
Engine, and reads the calls between the change of the pod and the write of its bind. Calls within a compilation unit that the compiler
took in are not seen, and neither is what the engine does inside: architecture.md, "One decision", says that.

A stay: calls into one folder without another between. The loop that makes the calls is no stay. A return: a stay in a folder that was
left before. A climb: a call from a folder into one above it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TEST = "Binds.OnePodIsBoundOnceWithItsUid"
ROOMS = ("scheduler/", "dialect/", "observe")
PARTS_OF_BOOKS = ("dialect/books",)
LOOP = "scheduler/loop"
# Lowest first.
ORDER = ["dialect/base", "dialect/upstream", "dialect/objects", "dialect/intake", "dialect/write", "engine", "observe", "scheduler/wire",
         "scheduler/carry", "scheduler/report", "scheduler/kueue", "scheduler/gangs", LOOP]


def folders_of_classes(root):
    sys.path.insert(0, os.path.join(root, "tests/tree"))
    import reach
    out = {"berth::engine::Engine": "engine"}
    for kind, name, scope, path, _, _ in reach.tags(root) or ():
        folder = os.path.dirname(path).removeprefix("src/")
        if kind == "class" and path.endswith(".h") and folder.startswith(ROOMS) and folder not in PARTS_OF_BOOKS:
            out[f"{scope.partition(':')[2]}::{name}"] = folder
    out["berth::dialect::Intake::Impl"] = "dialect/intake"
    return out


def class_and_name(function):
    head = re.sub(r"<.*", "", function.replace("(anonymous namespace)", "").split("(")[0])
    return head.rpartition("::")[0], head


def inside_gdb():
    """Breakpoints that write `folder function < folder of its caller`, and never stop."""
    import gdb
    folders = dict(line.split() for line in os.environ["BERTH_WAY"].split(";"))
    out = open(os.environ["BERTH_WAY_OUT"], "w", encoding="utf-8")

    class Entry(gdb.Breakpoint):
        def __init__(self, symbol, name, folder):
            super().__init__(symbol, internal=True)
            self.silent, self.text, self.folder = True, name, folder

        def stop(self):
            frame, caller = gdb.newest_frame().older(), "-"
            while frame is not None and caller == "-":
                caller = folders.get(class_and_name(frame.name() or "")[0], "-")
                frame = frame.older()
            out.write(f"{self.folder} {self.text} < {caller}\n")
            out.flush()
            return False

    listed = subprocess.run(["nm", gdb.current_progspace().filename], capture_output=True, text=True, check=True).stdout
    symbols = [w[2] for w in map(str.split, listed.splitlines()) if len(w) == 3 and w[1] in "tTwW" and re.fullmatch(r"_ZN[^.]*", w[2])]
    names = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout.splitlines()
    for symbol, name in zip(symbols, names):
        owner, head = class_and_name(name)
        function = head.rpartition("::")[2]
        if owner in folders and not function.startswith("~") and function != owner.rpartition("::")[2]:
            Entry(symbol, head, folders[owner])
    gdb.execute("run")


def way_of(lines):
    """The calls from the change of the pod to the write of its bind: the second change is the pod, the first is its node."""
    first = [i for i, line in enumerate(lines) if "Core::take_change" in line][1]
    last = next(i for i in range(first, len(lines)) if "Carrier::send" in lines[i])
    return lines[first:last + 1]


def main(binary, root):
    if not shutil.which("gdb"):
        print("gdb is not installed", file=sys.stderr)
        return 77
    folders = folders_of_classes(root)
    with tempfile.TemporaryDirectory() as place:
        bare, out = os.path.join(place, "test"), os.path.join(place, "calls")
        subprocess.run(["strip", "-g", "-o", bare, binary], check=True)  # gdb reads it in seconds then
        env = {**os.environ, "BERTH_WAY": ";".join(f"{k} {v}" for k, v in folders.items()), "BERTH_WAY_OUT": out}
        subprocess.run(["gdb", "-q", "-batch", "-x", os.path.abspath(__file__), "--args", bare, f"--gtest_filter={TEST}"], env=env,
                       capture_output=True, text=True, check=True)
        with open(out, encoding="utf-8") as f:
            lines = f.read().splitlines()
    stays, climbs = [], []
    for line in way_of(lines):
        folder, function, _, caller = line.split(" ")
        if caller == "dialect/objects":  # reading the fields of the object
            continue
        if caller in ORDER and ORDER.index(folder) > ORDER.index(caller):
            climbs.append(f"{caller} -> {function}")
        if folder != LOOP and (not stays or stays[-1] != folder):
            stays.append(folder)
    print(f"{len(stays)} stays in {len(set(stays))} folders, {len(stays) - len(set(stays))} returns, {len(climbs)} climbs {climbs or ''}")
    print(" > ".join(stays))
    return 0


if "BERTH_WAY" in os.environ:
    inside_gdb()
elif __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "."))
