#!/usr/bin/env python3
"""The scripts' manners: packages are installed only when one is missing, as root or through sudo, with retries, and what cannot
go on says why. apt-get, dpkg-query and sudo are stand-ins that write down how they were called."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOBODY = 65534

DRIVER = """#!/usr/bin/env bash
set -euo pipefail
readonly kRoot="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$kRoot/scripts/lib/say.sh"
source "$kRoot/scripts/lib/packages.sh"
sleep() { :; }
install_packages "$@"
echo went on
"""

# Stand-ins. Installed packages are the lines of state/installed; apt-get fails as often as state/failures says.
DPKG_QUERY = """#!/bin/bash
grep -qx "${@: -1}" "$STATE/installed" && echo installed || { echo "dpkg-query: no packages found" >&2; exit 1; }
"""
APT_GET = """#!/bin/bash
echo "apt-get $* (frontend $DEBIAN_FRONTEND, uid $EUID)" >>"$STATE/calls"
failures=$(cat "$STATE/failures")
if ((failures > 0)); then echo $((failures - 1)) >"$STATE/failures"; exit 100; fi
"""
SUDO = """#!/bin/bash
echo "sudo $*" >>"$STATE/calls"
[[ ! -e $STATE/sudo-asks || $1 != -n ]] || { echo "sudo: a password is required" >&2; exit 1; }
[[ $1 != -n ]] || shift
"$@"
"""
TOOLS = ("bash", "env", "cat", "awk", "grep", "tr", "wc", "dirname", "basename", "sed", "true")


class Packages(unittest.TestCase):
    def setUp(self):
        self.tree = tempfile.mkdtemp(prefix="berth-scripts-")
        self.addCleanup(shutil.rmtree, self.tree)
        shutil.copytree(os.path.join(ROOT, "scripts", "lib"), os.path.join(self.tree, "scripts", "lib"))
        self.write("scripts/dependencies.txt", "# group package\nbuild  alpha  why\nbuild  beta   why\ntest   gamma  why\n")
        self.write("scripts/driver", DRIVER, 0o755)
        self.write("bin/dpkg-query", DPKG_QUERY, 0o755)
        self.write("bin/apt-get", APT_GET, 0o755)
        self.write("state/failures", "0\n", 0o666)
        self.write("state/calls", "", 0o666)
        for tool in TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.tree, "bin", tool))
        for folder, _, _ in os.walk(self.tree):
            os.chmod(folder, 0o777 if folder.endswith("state") else 0o755)

    def write(self, path, text, mode=0o644):
        full = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(full, mode)

    def installed(self, *names):
        self.write("state/installed", "".join(f"{n}\n" for n in names))

    def install(self, *groups, root=False):
        if root and os.geteuid() != 0:
            self.skipTest("only root can try what root sees")
        # Root becomes nobody where the test wants a plain user; a plain user already is one.
        who = {} if root or os.geteuid() != 0 else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        done = subprocess.run([os.path.join(self.tree, "scripts", "driver"), *groups], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, cwd="/",
                              env={"PATH": os.path.join(self.tree, "bin"), "STATE": os.path.join(self.tree, "state")}, **who)
        with open(os.path.join(self.tree, "state", "calls"), encoding="utf-8") as f:
            return done.returncode, done.stdout + done.stderr, f.read().splitlines()

    def test_nothing_is_called_when_nothing_is_missing(self):
        self.installed("alpha", "beta")
        code, out, calls = self.install("build")
        self.assertEqual((code, calls), (0, []), out)
        self.assertIn("all 2 are installed", out)
        self.assertIn("went on", out)

    def test_only_what_is_missing_is_installed_without_recommendations_and_questions(self):
        self.installed("alpha")
        self.write("bin/sudo", SUDO, 0o755)
        code, out, calls = self.install("build", "test")
        self.assertEqual(code, 0, out)
        self.assertIn("installing beta gamma", out)
        installs = [c for c in calls if c.startswith("apt-get") and " install " in c]
        self.assertEqual(len(installs), 1, calls)
        self.assertIn("install -y --no-install-recommends beta gamma (frontend noninteractive", installs[0])
        updates = [c for c in calls if c.startswith("apt-get") and " update " in c]
        self.assertEqual(len(updates), 1, calls)

    def test_root_needs_no_sudo(self):
        self.installed()
        code, out, calls = self.install("test", root=True)
        self.assertEqual(code, 0, out)
        self.assertTrue(calls and all(c.startswith("apt-get") and "uid 0" in c for c in calls), calls)

    def test_a_bad_moment_of_the_mirror_is_survived(self):
        self.installed("alpha")
        self.write("bin/sudo", SUDO, 0o755)
        self.write("state/failures", "2\n", 0o666)
        code, out, calls = self.install("build")
        self.assertEqual(code, 0, out)
        self.assertEqual(len([c for c in calls if c.startswith("apt-get") and " update " in c]), 3, calls)

    def test_a_mirror_that_stays_away_ends_it(self):
        self.installed("alpha")
        self.write("bin/sudo", SUDO, 0o755)
        self.write("state/failures", "9\n", 0o666)
        code, out, _ = self.install("build")
        self.assertEqual(code, 1)
        self.assertIn("apt could not install the packages", out)
        self.assertNotIn("went on", out)

    def test_without_root_and_sudo_it_says_what_to_run(self):
        self.installed("alpha")
        code, out, calls = self.install("build")
        self.assertEqual((code, calls), (1, []), out)
        self.assertIn("apt-get install -y beta", out)
        self.assertIn("has no sudo", out)

    def test_sudo_that_asks_without_a_terminal_is_told_of(self):
        self.installed("alpha")
        self.write("bin/sudo", SUDO, 0o755)
        self.write("state/sudo-asks", "")
        code, out, calls = self.install("build")
        self.assertEqual(code, 1, out)
        self.assertIn("sudo asks for a password", out)
        self.assertFalse([c for c in calls if c.startswith("apt-get")], calls)

    def test_a_group_that_nobody_knows(self):
        self.installed()
        code, out, calls = self.install("bulid")
        self.assertEqual((code, calls), (1, []), out)
        self.assertIn("no group 'bulid'", out)

    def test_a_system_without_apt(self):
        self.installed()
        os.remove(os.path.join(self.tree, "bin", "apt-get"))
        code, out, _ = self.install("build")
        self.assertEqual(code, 1)
        self.assertIn("this system has no apt", out)


class Arguments(unittest.TestCase):
    def run_script(self, *args):
        done = subprocess.run([os.path.join(ROOT, "scripts", args[0]), *args[1:]], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, cwd="/")
        return done.returncode, done.stdout, done.stderr

    def test_help_teaches_and_does_nothing(self):
        for script in ("quickstart", "test", "lint", "helm", "image", "manifests", "package"):
            code, out, err = self.run_script(script, "--help")
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, rf"(?m)^usage: scripts/{script}\b")

    def test_what_is_wrong_ends_with_2(self):
        for args in (("quickstart", "--fast"), ("test", "--preset", "relaese"), ("test", "--kubernetes"), ("lint", "--bad"),
                     ("lint", "/no/such.cc"), ("package", "--bad"), ("image", "--bad"), ("manifests", "wirte")):
            code, _, err = self.run_script(*args)
            self.assertEqual(code, 2, args)
            self.assertIn("--help", err)


if __name__ == "__main__":
    unittest.main()
