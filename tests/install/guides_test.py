#!/usr/bin/env python3
"""The manifests of the guides are what they say: `berth plan` reads each without a complaint, and starts what the guide starts.

usage: guides_test.py --berth PROGRAM

Each block of docs/ marked `yaml` that has objects is planned, with strict names, on a cluster of two nodes with eight devices each. The blocks of
one page are planned together, as a reader applies them, where these lines stand before them; any other block is planned alone.

    <!-- plan -->             an object that later blocks of the page need
    <!-- plan: NAME... -->    with those before it this work starts

Exit: 0 all is as said, 1 something is not, 2 wrong usage.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FENCE = re.compile(r"^(?P<indent> *)```yaml\n(?P<text>.*?)^(?P=indent)```$", re.S | re.M)
MARK = re.compile(r"<!-- plan(?:: (?P<names>[^>]*?))? -->\s*$")
NODE = """apiVersion: v1
kind: Node
metadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}
status: {{allocatable: {{cpu: "64", memory: 256Gi, pods: "110", nvidia.com/gpu: "8"}}}}
"""


def blocks(path):
    """Line, text and mark of each block that has objects: None without a mark, else the names that start."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for found in FENCE.finditer(page):
        text = textwrap.dedent(found["text"])
        if not re.search(r"^apiVersion: .*\n(.*\n)*?kind: ", text, re.M) or "{{" in text:
            continue
        mark = MARK.search(page[:found.start()])
        names = None if mark is None else (mark["names"] or "").split()
        yield page.count("\n", 0, found.start()) + 1, text, names


def plan(berth, folder, texts):
    """What `berth plan` says of these manifests: exit code, JSON and complaints."""
    command = [berth, "plan", "--validate", "strict", "-o", "json"]
    for number, text in enumerate(texts):
        path = os.path.join(folder, f"{number}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        command += ["-f", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


def main(arguments):
    if len(arguments) != 2 or arguments[0] != "--berth":
        print(__doc__, file=sys.stderr)
        return 2
    cluster, tried, wrong = [NODE.format("n1"), NODE.format("n2")], 0, []
    pages = sorted(glob.glob(f"{ROOT}/docs/**/*.md", recursive=True))
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            before = []
            for line, text, names in blocks(page):
                where = f"{os.path.relpath(page, ROOT)}:{line}"
                if "kind: OwnerKinds" in text or "kind: Kustomization" in text:
                    continue  # files that are no objects of a cluster
                texts = cluster + (before if names is not None else []) + [text]
                code, said, complaints = plan(arguments[1], folder, texts)
                if code != 0:
                    wrong.append(f"{where}: berth plan ends with {code}\n{complaints}")
                started = {start["workload"] for one in said.get("rounds", []) for start in one["starts"]}
                for name in names or []:
                    if name not in started:
                        wrong.append(f"{where}: {name} does not start; these do: {', '.join(sorted(started)) or 'none'}")
                if names is not None:
                    before.append(text)
                tried += 1
    if tried < 8:
        wrong.append(f"only {tried} blocks were found")
    print("\n".join(wrong) or f"{tried} blocks are as they say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
