#!/usr/bin/env python3
"""The Debian package, installed, upgraded, removed and purged by dpkg, on this machine's root as a copy that is thrown away (an overlay
in a mount namespace of its own). usage: package_test.py --berth PROGRAM. Needs root and Debian 12; skips, loudly, otherwise."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BERTH = None

# Runs a script in a copy of the root. Sockets and processes are this machine's, files are not; systemd is not asked.
OVERLAY = """
set -eu
mount -t tmpfs berth-package-test "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mkdir -p "$1/root/packages"
mount --bind "$2" "$1/root/packages"
mount -t proc proc "$1/root/proc"
mount -t devtmpfs dev "$1/root/dev" 2>/dev/null || mount --rbind /dev "$1/root/dev"
exec chroot "$1/root" /bin/bash -c "$3"
"""


def in_a_copy(work, packages, script):
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "bash", "-c", OVERLAY, "overlay", work,
                           packages, script], capture_output=True, text=True, check=False)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = tempfile.mkdtemp(prefix="berth-packages-")
        cls.addClassCleanup(shutil.rmtree, cls.packages)
        for revision in ("1", "2"):
            done = subprocess.run([os.path.join(ROOT, "scripts", "package"), "--berth", BERTH, "--out", cls.packages, "--revision", revision],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        cls.files = sorted(os.listdir(cls.packages))

    def run_in_copy(self, script):
        with tempfile.TemporaryDirectory(prefix="berth-package-test-") as work:
            done = in_a_copy(work, self.packages, "set -eu\nexport DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\n" + script)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_it_lives_from_installation_to_purge(self):
        first, second = (f"/packages/{name}" for name in self.files)
        out = self.run_in_copy(f"""
            find /etc /usr/bin /usr/share/doc /usr/lib/systemd /lib/systemd | sort > /tmp/before
            dpkg -i {first} >/dev/null
            echo "state $(dpkg-query -W -f='${{db:Status-Status}} ${{Version}}' berth)"
            echo "says $(/usr/bin/berth --version)"
            echo "plugin says $(/usr/bin/kubectl-berth gte 2>&1 | head -1)"
            dpkg-deb --contents {first} | grep -o '/usr/share/man/man1/berth-get-workloads.1.gz$' | sed 's/^/has /'
            bash -c '. /usr/share/bash-completion/completions/berth; complete -p kubectl-berth'
            test ! -e /etc/systemd/system/multi-user.target.wants/berth.service      # not without a kubeconfig
            systemd-analyze verify /lib/systemd/system/berth.service                 # where systemd is
            dpkg --verify berth
            echo 'BERTH_ARGS="--lease-name=mine"' > /etc/default/berth
            echo secret > /etc/berth/kubeconfig
            dpkg -i {second} >/dev/null
            echo "state $(dpkg-query -W -f='${{db:Status-Status}} ${{Version}}' berth)"
            echo "kept $(cat /etc/default/berth)"
            dpkg -r berth >/dev/null
            echo "state $(dpkg-query -W -f='${{db:Status-Status}}' berth)"
            test ! -e /usr/bin/berth && test ! -e /lib/systemd/system/berth.service
            test -e /etc/default/berth
            dpkg -P berth >/dev/null 2>&1
            test ! -e /etc/default/berth
            echo "kubeconfig $(cat /etc/berth/kubeconfig)"
            rm -r /etc/berth
            find /etc /usr/bin /usr/share/doc /usr/lib/systemd /lib/systemd | sort > /tmp/after
            diff /tmp/before /tmp/after && echo nothing is left
        """.replace("systemd-analyze verify", "! command -v systemd-analyze >/dev/null || systemd-analyze verify"))
        lines = out.splitlines()
        self.assertIn("state installed 0.1.0-1", lines)
        self.assertIn("state installed 0.1.0-2", lines)
        self.assertIn('kept BERTH_ARGS="--lease-name=mine"', lines)
        self.assertIn("state config-files", lines)
        self.assertIn("kubeconfig secret", lines)
        self.assertIn("nothing is left", lines)
        self.assertTrue([line for line in lines if line.startswith("says berth 0.1.0")], lines)
        self.assertIn('plugin says kubectl berth: there is no command "gte"; did you mean get?', lines)
        self.assertIn("has /usr/share/man/man1/berth-get-workloads.1.gz", lines)
        self.assertIn("complete -o default -F _berth kubectl-berth", lines)

    def test_flags_of_the_unit_exist(self):
        with open(os.path.join(ROOT, "deploy", "debian", "berth.service"), encoding="utf-8") as f:
            start = next(line for line in f if line.startswith("ExecStart="))
        words = start.split("=", 1)[1].split()
        done = subprocess.run([BERTH, words[1], "--help"], capture_output=True, text=True, check=True)
        for word in words[2:]:
            if word.startswith("--"):
                self.assertIn(word.split("=")[0] + " ", done.stdout)

    def test_the_same_program_gives_the_same_package(self):
        with tempfile.TemporaryDirectory() as again:
            subprocess.run([os.path.join(ROOT, "scripts", "package"), "--berth", BERTH, "--out", again], capture_output=True, check=True)
            with open(os.path.join(again, self.files[0]), "rb") as a, open(os.path.join(self.packages, self.files[0]), "rb") as b:
                self.assertEqual(a.read(), b.read())


if __name__ == "__main__":
    if sys.argv[1:2] != ["--berth"]:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    BERTH = sys.argv[2]
    why = None
    if os.geteuid() != 0:
        why = "only root can lay a copy over its root"
    elif not shutil.which("dpkg-shlibdeps"):
        why = "there is no dpkg-shlibdeps (Debian: dpkg-dev)"
    else:
        with tempfile.TemporaryDirectory() as trial_work, tempfile.TemporaryDirectory() as nothing:
            trial = in_a_copy(trial_work, nothing, "true")
            if trial.returncode != 0:
                why = f"this machine cannot lay a copy over its root: {trial.stderr.strip()}"
    if why:
        print(f"\n*** SKIPPED, NOT TESTED: {why}\n", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
