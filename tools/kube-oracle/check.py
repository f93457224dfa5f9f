#!/usr/bin/env python3
"""Berth's binds, judged by Kubernetes' own plugins, on random states of a cluster. See scripts/kube-oracle.

Each state is planned by `berth plan`. The oracle (main.go) takes its binds one after the other, and looks for nodes for the pods that
wait. A disagreement is made smaller, object by object and field by field, and written as a scenario.

Exit: 0 none, 1 disagreements (or a state that could not be judged). Gangs that wait though the oracle finds places for all of their members
are printed, and no error: the search for places of members that differ is a heuristic (docs/constraints.md). So are pods that wait beside
a volume of theirs on a node at its limit (shared.py), and where only Kubernetes 1.37 counts pods in a resize for less (versions.py). So are pods that need a part of a gang gone, and another part of it there: Berth evicts gangs as a whole.
"""
import argparse
import collections
import concurrent.futures
import copy
import json
import os
import queue
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
ROUNDS = 6  # a pod that others are evicted for starts in the next one

import gangs  # noqa: E402  (beside this file)
import shared  # noqa: E402
import states  # noqa: E402
import versions  # noqa: E402

KNOWN = ("unstarted", "shared", "resized", "whole_gangs")  # kinds that are printed, and no error


class Oracle:
    """The program, asked line by line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock, self.waiting = threading.Lock(), queue.SimpleQueue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.waiting.get().set_result(json.loads(line))

    def ask(self, question):
        answer = concurrent.futures.Future()
        with self.lock:
            self.waiting.put(answer)
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        return answer.result(timeout=120)


def plan(berth, objects):
    """What Berth does, step by step in the order in which it decides, and the pods that wait at the end with the reason."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = subprocess.run([berth, "plan", "-f", "-", "-o", "json", "--validate", "off", "--rounds", str(ROUNDS)], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"berth plan: exit status {done.returncode}: {done.stderr.strip() or done.stdout[-500:]}")
    steps, waits = [], {}
    for one in json.loads(done.stdout)["rounds"]:
        ending = [slot["pod"] for e in one["evictions"] for slot in e["slots"]]
        steps += [{"bind": slot["pod"], "node": slot["node"], "ending": ending, "start": f"{len(steps)}/{s['workload']}"}
                  for s in one["starts"] for slot in s["slots"]]
        steps += [{"end": name} for name in ending]
        waits = {w["workload"]: w["message"] for w in one["waiting"] + one["refused"] + one["holds"]}
    if one["evictions"]:
        raise RuntimeError(f"berth plan still evicts pods in round {ROUNDS}")
    return steps, waits


class Check:
    def __init__(self, berth, oracle):
        self.berth, self.oracle = berth, oracle

    def judge(self, objects, name=""):
        """The oracle's verdict, with Berth's reasons for the pods that wait."""
        steps, waits = plan(self.berth, objects)
        there = {f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in objects
                 if o["kind"] == "Pod" and not o["spec"].get("nodeName")}
        bound = {s["bind"] for s in steps if "bind" in s}
        whole = gangs.members(objects)
        waiting = [g for g in whole if not set(whole[g]) & bound]
        in_part = [g for g in whole if g not in waiting and not set(whole[g]) <= bound]
        of_gangs = {pod: waits[g] for g in waiting if g in waits for pod in whole[g]}
        lost = there - bound - set(waits) - set(of_gangs)
        verdict = self.oracle.ask({"id": name, "objects": objects, "steps": steps, "waits": sorted(set(waits) & there),
                                   "gangs": [{"name": g, "pods": whole[g]} for g in waiting]})
        verdict["steps"], verdict["waits"], verdict["pods"], verdict["started"] = steps, waits, len(there), len(bound)
        verdict["gangs"], verdict["whole"] = len(whole), len(whole) - len(waiting) - len(in_part)
        verdict["shared"] = [m for m in verdict.get("missed", []) + verdict.get("unmoved", [])
                             if shared.is_known(objects, steps, m["pod"], m["node"])]
        for kind in ("missed", "unmoved"):
            verdict[kind] = [m for m in verdict.get(kind, []) if m not in verdict["shared"]]
        verdict["resized"] = []
        resized = versions.settled(objects) if verdict["missed"] or verdict["unmoved"] else None
        if resized is not None:
            again = self.oracle.ask({"id": name, "objects": resized, "steps": steps, "waits": sorted(set(waits) & there), "gangs": []})
            there_too = {m["pod"] for kind in ("missed", "unmoved") for m in again.get(kind, [])}
            verdict["resized"] = [m for kind in ("missed", "unmoved") for m in verdict[kind] if m["pod"] not in there_too]
            for kind in ("missed", "unmoved"):
                verdict[kind] = [m for m in verdict[kind] if m["pod"] in there_too]
        verdict["whole_gangs"] = []
        for m in verdict["unmoved"]:
            ends = {pod for g in whole.values() if set(g) & set(m.get("victims") or []) for pod in g if pod in bound}
            if not ends:
                continue
            again = self.oracle.ask({"id": name, "objects": objects, "steps": steps + [{"end": pod} for pod in sorted(ends)],
                                     "waits": [m["pod"]], "gangs": []})
            if not again.get("missed") and not again.get("unmoved"):
                verdict["whole_gangs"].append(m)
        verdict["unmoved"] = [m for m in verdict["unmoved"] if m not in verdict["whole_gangs"]]
        if in_part:
            verdict.setdefault("errors", []).append("a part of a gang is bound")
        if lost:
            verdict.setdefault("errors", []).append(f"berth plan says nothing of {sorted(lost)}")
        return verdict

    def kinds(self, objects):
        """The disagreements as a set of kinds; empty where the objects are not valid."""
        try:
            verdict = self.judge(objects)
        except (RuntimeError, KeyError, ValueError):
            return set()
        return set() if verdict.get("refused") or verdict.get("errors") else kinds_of(verdict)

    def smaller(self, objects, kind):
        """The least part of the objects in which this kind of disagreement is left."""
        objects, changed = copy.deepcopy(objects), True
        while changed:
            changed = False
            for i in range(len(objects) - 1, -1, -1):
                less = objects[:i] + objects[i + 1:]
                if kind in self.kinds(less):
                    objects, changed = less, True
            for i, one in enumerate(objects):
                for path in sorted(paths(one), key=len):
                    less = copy.deepcopy(objects)
                    if cut(less[i], path) and kind in self.kinds(less):
                        objects, changed = less, True
        return objects


def kinds_of(verdict):
    out = {("wrong", w.get("plugin", "")) for w in verdict.get("wrong", [])}
    return out | {(kind, cause(verdict["waits"].get(m["pod"], ""))) for kind in ("missed", "unmoved", *KNOWN) for m in verdict.get(kind, [])}


def cause(reason):
    """A reason without its numbers and names."""
    return " ".join("#" if any(c.isdigit() for c in word) else word for word in reason.split())[:120]


def paths(value, here=()):
    """The ways to the fields and entries of an object, short ones first."""
    out = []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        if here or key in ("spec", "metadata", "status"):
            if here:
                out.append(here + (key,))
            out += paths(inner, here + (key,))
    return out


def cut(value, path):
    for step in path[:-1]:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    try:
        del value[path[-1]]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def write_scenario(folder, name, objects, verdict):
    where = os.path.join(folder, name)
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "objects.json"), "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, file, indent=1)
    with open(os.path.join(where, "verdict.json"), "w", encoding="utf-8") as file:
        json.dump(verdict, file, indent=1)
    return where


def run(flags):
    check = Check(flags.berth, Oracle(flags.oracle))
    began, found, first = time.monotonic(), collections.Counter(), {}
    totals = collections.Counter()

    def one(seed):
        try:
            return seed, check.judge(states.state(seed, flags.kubernetes), str(seed))
        except RuntimeError as error:
            return seed, {"errors": [str(error)], "pods": 0, "started": 0, "steps": []}

    def take(seed, verdict):
        totals["states"] += 1
        totals["refused"] += 1 if verdict.get("refused") else 0
        if verdict.get("refused"):
            if flags.verbose:
                print(f"  seed {seed}: the API server takes not {verdict['refused'][0]}", flush=True)
            return
        totals["pods"] += verdict["pods"]
        totals["started"] += verdict["started"]
        totals["gangs"] += verdict.get("gangs", 0)
        totals["whole"] += verdict.get("whole", 0)
        totals["evicted"] += sum("end" in s for s in verdict["steps"])
        totals["unstarted"] += len(verdict.get("unstarted", []))
        kinds = kinds_of(verdict) | {("error", e[:100]) for e in verdict.get("errors", [])}
        for kind in kinds:
            found[kind] += 1
            first.setdefault(kind, seed)
            if flags.verbose:
                print(f"  seed {seed}: {kind}", flush=True)

    seeds = iter(range(flags.seed, flags.seed + flags.states))
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        pending = set()
        shown = began
        while True:
            while len(pending) < 4 * flags.jobs:
                seed = next(seeds, None)
                if seed is None:
                    break
                pending.add(pool.submit(one, seed))
            if not pending:
                break
            done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for each in done:
                take(*each.result())
            if time.monotonic() - shown > 20:
                shown = time.monotonic()
                print(f"{totals['states']} of {flags.states} states, {sum(found.values())} findings", file=sys.stderr, flush=True)
    judged = totals["states"] - totals["refused"]
    print(f"Kubernetes {flags.kubernetes}: {judged} states with {totals['pods']} pods judged in {time.monotonic() - began:.0f} s (seeds {flags.seed} to "
          f"{flags.seed + flags.states - 1}; {totals['refused']} that the API server would refuse): {totals['started']} pods start, "
          f"{totals['pods'] - totals['started']} wait, {totals['evicted']} are evicted; of {totals['gangs']} gangs {totals['whole']} start")
    could = totals["whole"] + totals["unstarted"]
    if could:
        print(f"gangs that wait though a sequence of binds places them whole: {totals['unstarted']} of {could} that could start "
              f"({100 * totals['unstarted'] / could:.2f} %)")
    for kind, count in found.most_common():
        word = "NOT FOUND" if kind[0] in KNOWN else "DISAGREEMENT"
        print(f"{word} {kind[0]}: {kind[1]}: in {count} states, the first of seed {first[kind]}")
    if flags.keep:
        for i, kind in enumerate(sorted(first, key=lambda k: -found[k])[:flags.shrink]):
            if kind[0] == "error":
                continue
            objects = check.smaller(states.state(first[kind], flags.kubernetes), kind)
            print("  made smaller: " + write_scenario(flags.keep, f"{i}-{kind[0]}", objects, check.judge(objects)), flush=True)
    return 1 if judged == 0 or any(kind[0] not in KNOWN for kind in found) else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--berth", required=True)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--kubernetes", required=True, help="the version of the oracle, as 1.36.3")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="a folder for disagreements, made smaller")
    parser.add_argument("--shrink", type=int, default=8, help="so many kinds of disagreement")
    parser.add_argument("--verbose", action="store_true")
    return run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
