#!/usr/bin/env python3
"""tools/check-guarantees on small logs: each kind of case, and that it can find a fault. With --berth PROGRAM also on the log of
examples/generated.yaml: four tenants, a month, and no guarantee is broken."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "check-guarantees")


class Log:
    """Nodes of 8 GPUs; queues a and b below all."""

    def __init__(self, nodes=1, a=4, b=4, **ordering):
        self.lines = [{"format": "berth-decision-log", "version": 1, "engine": {}}]
        for i in range(nodes):
            self.add({"e": "node", "node": {"name": f"n{i}", "devices": [{"count": 8}]}})
        self.add({"e": "queue", "queue": {"name": "all", "leaf": False}})
        for name, gpus in (("a", a), ("b", b)):
            self.add({"e": "queue", "queue": {
                "name": name, "parent": "all", "preemption": {"reclaim": "any"},
                "quotas": [{"flavor": "f", "resource": "nvidia.com/gpu", "nominal": gpus * 1000}], **ordering}})

    def add(self, line):
        self.lines.append(line)

    def submit(self, uid, queue, tasks, created=0):
        self.add({"e": "workload", "workload": {
            "uid": uid, "queue": queue, "created": created, "root": {"pod_sets": [
                {"pod": {"claim": {"requests": [{"resource": "nvidia.com/gpu", "count": g}]}}} for g in tasks]}}})

    def decide(self, now, *decisions):
        """Decisions: (kind, uid, node of each task)."""
        self.add({"decide": now, "decisions": [
            {"kind": kind, "workload": uid,
             "slots": [{"pod_set": i, "node": f"n{n}"} for i, n in enumerate(nodes)]} for kind, uid, nodes in decisions]})

    def gone(self, uid):
        self.add({"e": "slot", "workload": uid, "state": "gone"})
        self.add({"e": "slot", "workload": uid})

    def judge(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as f:
            f.write("".join(json.dumps(line) + "\n" for line in self.lines))
        try:
            done = subprocess.run([sys.executable, TOOL, f.name], capture_output=True, text=True, check=False)
        finally:
            os.unlink(f.name)
        found = {}
        for line in done.stdout.splitlines():
            if " cases," in line:
                words = line.split(" cases,")[0].split()
                found[" ".join(words[:-1])] = int(words[-1])
        return done.returncode, {k: v for k, v in found.items() if v}, done.stdout + done.stderr


class Guarantees(unittest.TestCase):
    def expect(self, log, code, cases):
        result = log.judge()
        self.assertEqual(result[:2], (code, cases), result[2])

    def test_all_is_well(self):
        log = Log()
        log.submit("a1", "a", [4])
        log.decide(1000, ("start", "a1", [0]))
        log.decide(2000)
        self.expect(log, 0, {})

    def test_room_is_there_and_nothing_starts(self):
        log = Log()
        log.submit("a1", "a", [4])
        log.decide(1000)
        self.expect(log, 1, {"broken": 1})

    def test_what_is_decided_at_the_same_moment_counts(self):
        log = Log()
        log.submit("a1", "a", [4])
        log.decide(1000)
        log.decide(1000, ("start", "a1", [0]))
        self.expect(log, 0, {})

    def test_borrowed_room_is_not_reclaimed(self):
        log = Log()
        for i in range(4):
            log.submit(f"b{i}", "b", [2])
        log.decide(1000, *(("start", f"b{i}", [0]) for i in range(4)))
        log.submit("a1", "a", [4])
        log.decide(2000)
        self.expect(log, 1, {"broken": 1})

    def test_victims_have_their_grace(self):
        log = Log()
        for i in range(4):
            log.submit(f"b{i}", "b", [2])
        log.decide(1000, *(("start", f"b{i}", [0]) for i in range(4)))
        log.submit("a1", "a", [4])
        log.decide(2000, ("evict", "b0", [0]), ("evict", "b1", [0]), ("hold", "a1", [0]))
        log.gone("b0")
        log.gone("b1")
        log.decide(32000, ("start", "a1", [0]))
        log.decide(33000)
        self.expect(log, 0, {"grace": 1})

    def test_work_within_its_guarantee_stands_in_the_way(self):
        log = Log(nodes=2, a=8, b=8)
        for i in range(2):
            log.submit(f"b{i}", "b", [4])
        log.decide(1000, ("start", "b0", [0]), ("start", "b1", [1]))
        log.submit("a1", "a", [8])
        log.decide(2000)
        self.expect(log, 0, {"no nodes": 1})

    def test_a_gang_that_no_longer_borrows_is_safe(self):
        # b is 2 beyond its 6: the job of 2 may go, and then the one of 6 may not.
        log = Log(nodes=1, a=4, b=6)
        log.submit("b0", "b", [6])
        log.submit("b1", "b", [2])
        log.decide(1000, ("start", "b0", [0]), ("start", "b1", [0]))
        log.submit("a1", "a", [4])
        log.decide(2000, ("evict", "b1", [0]), ("hold", "a1", [0]))
        log.decide(2500)
        self.assertEqual(log.judge()[1].get("grace"), 2)
        alone = Log(nodes=2, a=8, b=9)
        alone.submit("b0", "b", [5])
        alone.submit("b1", "b", [5])
        alone.decide(1000, ("start", "b0", [0]), ("start", "b1", [1]))
        alone.submit("a1", "a", [8])
        alone.decide(2000)
        self.expect(alone, 1, {"broken": 1})  # one of the two is enough, and b borrows 1

    def test_small_work_keeps_a_gang_from_being_taken(self):
        # b uses 9 of 8 guaranteed; only work on one node could make room for 8, and taking both there is beyond the rule.
        log = Log(nodes=2, a=8, b=8)
        for i, node in enumerate([0, 0, 1]):
            log.submit(f"b{i}", "b", [3])
        log.decide(1000, ("start", "b0", [0]), ("start", "b1", [0]), ("start", "b2", [1]))
        log.submit("a1", "a", [8])
        log.submit("a2", "a", [5])
        log.decide(2000, ("evict", "b2", [1]), ("hold", "a1", [1]))
        log.decide(2500)
        self.assertEqual(log.judge()[1].get("broken"), None)
        stuck = Log(nodes=1, a=8, b=7)
        for i in range(4):
            stuck.submit(f"b{i}", "b", [2])
        stuck.decide(1000, *(("start", f"b{i}", [0]) for i in range(4)))
        stuck.submit("a1", "a", [8])
        stuck.decide(2000)
        self.expect(stuck, 0, {"no victims": 1})

    def test_strict_queues_wait_for_their_turn(self):
        log = Log(order="strict")
        log.submit("a1", "a", [4])
        log.decide(1000)
        self.expect(log, 0, {"in line": 1})

    def test_what_it_cannot_judge_it_says(self):
        log = Log()
        log.add({"e": "workload", "workload": {"uid": "x", "queue": "a", "root": {"pod_sets": [
            {"pod": {"claim": {"requests": [{"milli": 500}]}}}]}}})
        code, _, text = log.judge()
        self.assertEqual(code, 2)
        self.assertIn("whole GPUs", text)


class Simulated(unittest.TestCase):
    berth = None

    def test_a_month_of_four_tenants(self):
        if not self.berth:
            self.skipTest("no --berth PROGRAM")
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.jsonl.gz")
            subprocess.run([self.berth, "simulate", os.path.join(ROOT, "examples", "generated.yaml"), "--quiet", "--log", log],
                           check=True)
            done = subprocess.run([sys.executable, TOOL, log], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4 queues with a guarantee, 28000 workloads", done.stdout)


if __name__ == "__main__":
    if "--berth" in sys.argv:
        at = sys.argv.index("--berth")
        Simulated.berth = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    unittest.main()
