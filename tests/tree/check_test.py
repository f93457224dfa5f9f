#!/usr/bin/env python3
"""Every check of check.py finds what it is for: small trees that each break one rule, and one that breaks none."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")

CMAKE = """
berth_room(base)
berth_room(model DEPS base)
berth_room(text DEPS base LIBS yaml)
berth_room(engine DEPS model)
berth_room(kube DEPS base text)
berth_room(dialect DEPS model text kube engine)
berth_room(sim DEPS engine dialect text)
"""

GOOD = {
    "CMakeLists.txt": CMAKE,
    "src/base/result.h": "#pragma once\n#include <string>\n",
    "src/model/node.h": '#pragma once\n#include "base/result.h"\n// A double of nothing.\n',
    "src/text/json.h": '#include "base/result.h"\n',
    "src/engine/engine.h": '#pragma once\n#include "model/node.h"\n',
    "src/engine/engine.cc": '#include "engine/engine.h"\n\n#include <vector>\n\nint x = 1;\n',
    "src/kube/client.h": '#include "text/json.h"\n',
    "README.md": "# Title\n[a](docs/a.md#the-part) `build/berth plan -f x`\n",
    "docs/a.md": "# A\n## The `part`\n[back](../README.md)\n```sh\nberth plan -f x --out y  # words\n```\n",
    "scripts/x": "#!/usr/bin/env bash\necho hello\n",
}


class Tree(unittest.TestCase):
    def run_check(self, check, changes=(), *args):
        tree = tempfile.mkdtemp(prefix="berth-tree-")
        self.addCleanup(shutil.rmtree, tree)
        for path, text in {**GOOD, **dict(changes)}.items():
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            with open(os.path.join(tree, path), "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([sys.executable, CHECK, check, tree, *args], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def finds(self, check, changes, expected, *args):
        code, out = self.run_check(check, changes, *args)
        self.assertEqual(code, 1, out)
        self.assertIn(expected, out)

    def test_a_good_tree_holds(self):
        for check in ("layers", "numbers", "size", "marks", "shell", "bounds", "links"):
            code, out = self.run_check(check)
            self.assertEqual(code, 0, out)

    def test_a_room_that_includes_one_above(self):
        self.finds("layers", {"src/model/node.h": '#pragma once\n#include "engine/engine.h"\n'},
                   "src/model/node.h:2: room 'model' includes \"engine/engine.h\"")
        self.finds("layers", {"src/kube/client.h": '#include "model/node.h"\n'}, "src/kube/client.h:1:")
        self.finds("layers", {"src/engine/engine.h": '#include "text/json.h"\n'}, "src/engine/engine.h:1:")
        self.finds("layers", {"src/text/json.h": '#include <model/node.h>\n'}, "src/text/json.h:1:")
        self.finds("layers", {"src/base/result.h": '#  include  "text/json.h"\n'}, "src/base/result.h:1:")

    def test_an_include_that_is_not_linked(self):
        self.finds("layers", {"CMakeLists.txt": CMAKE.replace("berth_room(engine DEPS model)", "berth_room(engine)")},
                   "berth_room(engine) does not depend on it")
        self.finds("layers", {"CMakeLists.txt": CMAKE.replace("kube DEPS base text", "kube DEPS base engine")},
                   "berth_room(kube) depends on 'engine'")

    def test_rooms_that_nobody_knows_and_paths_that_do_not_exist(self):
        self.finds("layers", {"src/attic/a.h": "\n"}, "'attic' is no room")
        self.finds("layers", {"src/engine/engine.cc": '#include "engine.h"\n'}, "is no path below src/")

    def test_a_folder_that_includes_one_above(self):
        cmake = CMAKE.replace("berth_room(engine DEPS model)", 'berth_room(engine DEPS model FOLDERS "low" "middle: low" "high: middle")')
        tree = {"CMakeLists.txt": cmake, "src/engine/low/a.h": "\n", "src/engine/middle/b.h": '#include "engine/low/a.h"\n',
                "src/engine/high/c.h": '#include "engine/low/a.h"\n', "src/engine/engine.cc": '#include "engine/high/c.h"\n'}
        self.assertEqual(self.run_check("layers", tree)[0], 0)
        self.finds("layers", {**tree, "src/engine/low/a.h": '#include "engine/middle/b.h"\n'},
                   "src/engine/low/a.h:1: folder 'low' includes \"engine/middle/b.h\"")
        self.finds("layers", {**tree, "src/engine/low/a.h": '#include "engine/engine.h"\n'}, "'the room itself' is not below it")
        self.finds("layers", {**tree, "src/engine/attic/d.h": '#include "engine/low/a.h"\n'}, "'attic' is no folder")
        page = {"docs/contributors/architecture.md": "`engine/low/` `engine/high/`\n"}
        self.finds("folders", {**tree, **page}, "`engine/middle/` has no line")

    @unittest.skipUnless(shutil.which("ctags"), "needs universal-ctags")
    def test_reach(self):
        wide = "struct Wide {\n" + "".join(f"  int a{i} = 0;\n" for i in range(61)) + "};\n"
        long = "int f(int x) {\n" + "  ++x;\n" * 78 + "  return x;\n}\n"
        allowed = "tests/tree/reach.txt"
        self.finds("members", {"src/base/a.h": wide}, "members: 61 of Wide, at most 60")
        self.finds("functions", {"src/base/a.cc": long}, "lines: 81 of src/base/a.cc f, at most 79")
        self.assertEqual(self.run_check("members", {"src/base/a.h": wide, allowed: "members 61 Wide\n"})[0], 0)
        self.finds("members", {"src/base/a.h": wide, allowed: "members 60 Wide\n"}, "Wide has grown to 61")
        self.finds("members", {"src/base/a.h": wide, allowed: "members 62 Wide\n"}, "lower the 62")
        self.finds("members", {allowed: "members 62 Gone\n"}, "there is no Gone")

    def test_enums(self):
        enum = "enum class E { kOne, kTwo };\n"
        self.finds("enums", {"src/base/a.h": enum, "src/base/b.cc": "E e = E::kOne;\n"}, "src/base/a.h:1: E::kTwo is used nowhere")
        self.assertEqual(self.run_check("enums", {"src/base/a.h": enum, "src/base/b.cc": "E e = E::kOne, f = E::kTwo;\n"})[0], 0)
        self.assertEqual(self.run_check("enums", {"src/base/a.h": enum, "src/base/b.cc": "E e = enum_or(f, \"e\", E::kOne);\n"})[0], 0)

    def test_pointers(self):
        self.finds("pointers", {"src/base/a.h": "// See base/gone.h.\n"}, "src/base/a.h:1: base/gone.h: there is no such file")
        self.finds("pointers", {"docs/a.md": "See `engine/gone.cc`.\n"}, "docs/a.md:1: engine/gone.cc")
        self.assertEqual(self.run_check("pointers", {"src/base/a.h": "// See base/result.h, and pkg/scheduler/x.md of Kueue.\n"})[0], 0)

    def test_mutants(self):
        table = "MUTANTS = [('m', 1, 'what', 'engine.cc', [('int x = 1;', 'int x = 2;')])]\n"
        self.assertEqual(self.run_check("mutants", {"tests/property/mutants.py": table})[0], 0)
        self.finds("mutants", {"tests/property/mutants.py": table.replace("int x = 1;", "int y = 1;")}, "has its text 0 times: int y = 1;")
        self.finds("mutants", {"tests/property/mutants.py": table.replace("'engine.cc'", "'gone.cc'")}, "there is no src/engine/gone.cc")

    def test_numbers(self):
        self.finds("numbers", {"src/engine/engine.cc": "int a;\ndouble b;\n"}, "src/engine/engine.cc:2: floating point")
        self.finds("numbers", {"src/model/node.h": "#include <chrono>\n"}, "src/model/node.h:1: <chrono>")

    def test_prose(self):
        table = "tests/tree/prose_counts.txt"
        self.assertEqual(self.run_check("prose")[0], 0)
        long = " ".join(["word"] * 26) + "."
        self.finds("prose", {"src/engine/a.h": "// A workload\n// who waits.\n"}, "src/engine: 1 of 'words', 0 may be")
        self.finds("prose", {"src/engine/deeper/a.h": "int a;  // What it is.\n"}, "src/engine: 1 of 'openers', 0 may be")
        self.finds("prose", {"tests/engine/a.cc": f"// Short.\n// {long}\n"}, "tests/engine: 1 of 'long', 0 may be")
        self.finds("prose", {"src/engine/a.cc": 'auto s = "nobody " /* parts */ "knows why";\n'}, "src/engine: 1 of 'words'")
        self.finds("prose", {"docs/a.md": f"# A\n## The `part`\n- a\n- b. Nor c.\n{long}\n"}, "docs: 1 of 'openers'")
        self.finds("prose", {table: "src/engine 0 1 0\n"}, "src/engine: 'openers' fell from 1 to 0")
        for held in ({"src/engine/a.h": "// nobody.\n", table: "# a\nfolder a b c\nsrc/engine 1 0 0\n"},
                     {"src/engine/a.cc": "auto s = \"nobody\"; f('\"'); // a\nint nobody;\n"},  # no text, no comment
                     {"tests/engine/a.cc": 'f("nobody knows why");\n'},
                     {"docs/a.md": "# A\n## The `part`\n## What it is\nWhat is it? It is `nobody`.\n```\nwho\n```\n"}):
            code, out = self.run_check("prose", held)
            self.assertEqual(code, 0, out)

    def test_size(self):
        self.finds("size", {"src/base/long.cc": "\n" * 600}, "src/base/long.cc:600:")
        self.assertEqual(self.run_check("size", {"src/base/long.cc": "\n" * 599})[0], 0)

    def test_marks(self):
        for mark in ("// TO" "DO later", "// FIX" "ME", "not impl" "emented", "good enough for n" "ow", "a place" "holder"):
            self.finds("marks", {"src/base/result.h": f"\n{mark}\n"}, "src/base/result.h:2:")
        # A quoted name of Kubernetes is what it is; what stands beside it is not.
        name = "yunikorn.apache.org/place" "holder"
        self.assertEqual(self.run_check("marks", {"docs/a.md": f"# A\n`{name}`\n"})[0], 0)
        self.finds("marks", {"docs/a.md": f"# A\n`{name}` is a place" "holder\n"}, "docs/a.md:2:")

    def test_shell(self):
        self.finds("shell", {"scripts/x": "#!/usr/bin/env bash\nif true; then\n"}, "scripts/x:3:")
        self.finds("shell", {"scripts/lib/y.sh": "f() {\n"}, "scripts/lib/y.sh:")

    def test_bounds(self):
        field = "count:\n  type: integer\n  format: int32\n"
        self.finds("bounds", {"deploy/crds/a.yaml": field + "  minimum: 0\n"}, "deploy/crds/a.yaml:3: an int32 without maximum")
        self.finds("bounds", {"deploy/crds/a.yaml": field + "other:\n  minimum: 0\n  maximum: 1\n"}, "without minimum")
        self.finds("bounds", {"deploy/crds/a.yaml": "count: {type: integer, format: int32}\n"}, "a line of its own")

    def test_fields(self):
        crd = ("spec:\n  names:\n    kind: Thing\n  versions:\n    - schema:\n        openAPIV3Schema:\n          properties:\n"
               "            spec:\n              properties:\n                size:\n                  type: integer\n")
        tree = {"deploy/crds/kueue.x-k8s.io_things.yaml": crd, "docs/migration/kueue.md": "### Thing\n| `size` | read |\n"}
        self.assertEqual(self.run_check("fields", tree)[0], 0)
        self.finds("fields", {**tree, "docs/migration/kueue.md": "### Thing\n| size | read |\n"}, "'spec.size' of Thing")

    def test_rights(self):
        role = ("kind: ClusterRole\nrules:\n  - apiGroups: [a.b]\n    resources: [things]\n    verbs: [get, list]\n"
                "  - apiGroups: [\"\"]\n    resources:\n      - pods\n    verbs: [get]\n")
        table = "### Rights\n\n| what | verbs | why |\n|---|---|---|\n| `a.b` things | get, list | x |\n"
        tree = {"deploy/berth.yaml": role, "docs/install.md": table + "| pods | get | y |\n"}
        self.assertEqual(self.run_check("rights", tree)[0], 0)
        self.finds("rights", {**tree, "docs/install.md": table}, "/pods (ClusterRole) stands in no row")
        self.finds("rights", {**tree, "docs/install.md": table + "| pods | get, watch | y |\n"}, "the table says ['get', 'watch']")
        self.finds("rights", {**tree, "docs/install.md": table + "| pods, nodes | get | y |\n"}, "/nodes (ClusterRole) is no right")

    def test_entries(self):
        tree = {"src/dialect/base/bounds.h": '    {"labels", 12},\n', "docs/operations.md": "| labels | 12 |\n"}
        self.assertEqual(self.run_check("entries", tree)[0], 0)
        self.finds("entries", {**tree, "docs/operations.md": "| labels | 13 |\n"}, "| labels | 12 |")
        self.finds("entries", {**tree, "src/dialect/base/bounds.h": "\n"}, "no bounds are found")

    def test_links(self):
        self.finds("links", {"README.md": "\n[a](docs/b.md)\n"}, "README.md:2: link to 'docs/b.md'")
        self.finds("links", {"README.md": "[a](docs/a.md#no-part)\n"}, "no heading with that anchor")
        self.finds("links", {"README.md": '<img src="docs/none.svg">\n'}, "docs/none.svg")

    def test_format(self):
        if not shutil.which("clang-format-16"):
            self.skipTest("clang-format-16 is not installed")
        self.finds("format", {".clang-format": "BasedOnStyle: Google\n", "src/engine/engine.cc": "int   x ;\n"},
                   "src/engine/engine.cc:1:")

    def test_commands(self):
        folder = tempfile.mkdtemp(prefix="berth-tree-")
        self.addCleanup(shutil.rmtree, folder)
        berth = os.path.join(folder, "berth")
        with open(berth, "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\ncase "$*" in\n'
                    '"plan --help") echo "  -f,--file FILE  --out DIR" ;;\n'
                    '"trace --help") echo "Subcommands:" ;;\n'
                    '"trace look --help") echo "  --far" ;;\n'
                    '*) exit 1 ;;\nesac\n')
        os.chmod(berth, 0o755)
        self.assertEqual(self.run_check("commands", {}, "--berth", berth)[0], 0)
        self.finds("commands", {"docs/a.md": "```sh\nberth dance -f x\n```\n"}, "docs/a.md:2: 'berth dance --help' fails",
                   "--berth", berth)
        self.finds("commands", {"docs/a.md": "Say `berth plan --fast`.\n"}, "docs/a.md:1: 'berth plan' has no --fast",
                   "--berth", berth)
        self.assertEqual(self.run_check("commands", {"docs/a.md": "Say `berth trace look --far`.\n"}, "--berth", berth)[0], 0)
        self.finds("commands", {"docs/a.md": "Say `berth trace look --near`.\n"}, "'berth trace look' has no --near",
                   "--berth", berth)
        self.finds("commands", {"docs/a.md": "Say `berth trace jump`.\n"}, "'berth trace jump --help' fails", "--berth", berth)
        self.finds("commands", {"README.md": "#\n", "docs/a.md": "#\n"}, "shows no berth command", "--berth", berth)


if __name__ == "__main__":
    unittest.main()
