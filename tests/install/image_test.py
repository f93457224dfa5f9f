#!/usr/bin/env python3
"""The image that scripts/image makes: that the archive is what the OCI's specification says, and that its contents run, alone, without
root and with nothing to write to. usage: image_test.py --berth PROGRAM

Packages come from Debian's mirror; they are kept, so that the test needs no network once scripts/image has run. Where they are not
there and the mirror is out of reach it skips, loudly; with BERTH_IMAGE_TESTS=required it fails. Needs Debian 12; only root can run what
is in the image.

The image of two architectures is looked at where `scripts/image --arch arm64` has built the program for arm64 before. Its contents run in
qemu's user emulation (Debian: qemu-user-static)."""
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BERTH = None
WORK = None  # with the archive
OTHER = {"amd64": ("arm64", "aarch64"), "arm64": ("amd64", "x86_64")}.get(
    subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip())
SCENARIO = os.path.join(ROOT, "tests", "scenarios", "preempt", "whole-gang")

# Runs argv in the folder as its root, which cannot be written to, as the image's user with no right that it could gain.
INSIDE = """
set -eu
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
root=$1
shift
exec setpriv --no-new-privs chroot --userspec=65532:65532 "$root" "$@"
"""


def make(out, *more):
    command = [os.path.join(ROOT, "scripts", "image"), "--berth", BERTH, "--out", out, *more]
    done = subprocess.run([*command, "--offline"], capture_output=True, text=True, check=False)
    return done if done.returncode == 0 else subprocess.run(command, capture_output=True, text=True, check=False)


def run_in(root, *argv):
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "bash", "-c", INSIDE, "inside", root, *argv],
                          capture_output=True, text=True, check=False)


def read_blob(layout, descriptor, mode="r"):
    with open(os.path.join(layout, "blobs", *descriptor["digest"].split(":")), mode, encoding=None if "b" in mode else "utf-8") as f:
        return f.read()


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = next(os.path.join(WORK, name) for name in os.listdir(WORK) if name.endswith(".oci.tar"))
        cls.layout = os.path.join(WORK, "layout")
        with tarfile.open(cls.path) as tar:
            tar.extractall(cls.layout)
        cls.index = cls.read_json("index.json")
        cls.manifest = cls.blob_json(cls.index["manifests"][0])
        cls.config = cls.blob_json(cls.manifest["config"])
        cls.root = os.path.join(WORK, "root")
        for layer in cls.manifest["layers"]:
            with tarfile.open(cls.blob(layer)) as tar:
                tar.extractall(cls.root)

    @classmethod
    def read_json(cls, name):
        with open(os.path.join(cls.layout, name), encoding="utf-8") as f:
            return json.load(f)

    @classmethod
    def blob(cls, descriptor):
        return os.path.join(cls.layout, "blobs", *descriptor["digest"].split(":"))

    @classmethod
    def blob_json(cls, descriptor):
        return cls.read_json(os.path.relpath(cls.blob(descriptor), cls.layout))

    def run_inside(self, *argv):
        if os.geteuid() != 0:
            self.skipTest("only root can make it the root of a process")
        return run_in(self.root, *argv)

    def test_every_blob_is_what_its_name_says(self):
        self.assertEqual(self.read_json("oci-layout"), {"imageLayoutVersion": "1.0.0"})
        descriptors = [self.index["manifests"][0], self.manifest["config"], *self.manifest["layers"]]
        self.assertEqual({os.path.basename(self.blob(d)) for d in descriptors}, set(os.listdir(os.path.join(self.layout, "blobs", "sha256"))))
        for descriptor in descriptors:
            with open(self.blob(descriptor), "rb") as f:
                data = f.read()
            self.assertEqual(descriptor["digest"], "sha256:" + hashlib.sha256(data).hexdigest())
            self.assertEqual(descriptor["size"], len(data))
        for layer, diff in zip(self.manifest["layers"], self.config["rootfs"]["diff_ids"]):
            with gzip.open(self.blob(layer)) as f:
                self.assertEqual(diff, "sha256:" + hashlib.sha256(f.read()).hexdigest())

    def test_it_says_what_it_is(self):
        config = self.config["config"]
        self.assertEqual((config["User"], config["Entrypoint"]), ("65532:65532", ["/usr/bin/berth"]))
        version = subprocess.run([BERTH, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], version)
        self.assertEqual(self.index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], version)
        self.assertEqual(self.config["architecture"], subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True,
                                                                     check=True).stdout.strip())

    def test_the_program_runs_alone(self):
        done = self.run_inside("/usr/bin/berth", "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, subprocess.run([BERTH, "--version"], capture_output=True, text=True, check=True).stdout)
        done = self.run_inside("/usr/bin/berth", "scheduler", "--in-cluster")
        self.assertEqual(done.returncode, 2)
        self.assertIn("KUBERNETES_SERVICE_HOST", done.stderr)

    def test_it_decides(self):
        # A scenario of this tree, laid into the image from outside.
        shutil.copytree(SCENARIO, os.path.join(self.root, "tmp", "scenario"), dirs_exist_ok=True)
        done = self.run_inside("/usr/bin/berth", "plan", "-f", "/tmp/scenario")
        outside = subprocess.run([BERTH, "plan", "-f", SCENARIO], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (outside.returncode, outside.stdout), done.stderr)

    def test_there_is_no_shell_and_nothing_with_more_rights(self):
        for folder, _, files in os.walk(self.root):
            for name in files:
                path = os.path.join(folder, name)
                self.assertNotIn(name, ("sh", "bash", "dash", "perl", "apt", "dpkg"))
                if not os.path.islink(path):
                    self.assertFalse(os.stat(path).st_mode & 0o6022, path)

    def test_certificates_of_authorities_are_there(self):
        with open(os.path.join(self.root, "etc/ssl/certs/ca-certificates.crt"), encoding="utf-8") as f:
            self.assertGreater(f.read().count("BEGIN CERTIFICATE"), 100)

    def test_bill_of_materials(self):
        name = next(n for n in os.listdir(WORK) if n.endswith(".spdx.json"))
        with open(os.path.join(WORK, name), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(self.root, "usr/share/doc/berth/sbom.spdx.json"), encoding="utf-8") as f:
            self.assertEqual(text, f.read())
        sbom = json.loads(text)
        self.assertEqual(sbom["spdxVersion"], "SPDX-2.3")
        ids = [p["SPDXID"] for p in sbom["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for link in sbom["relationships"]:
            for end in ("spdxElementId", "relatedSpdxElement"):
                self.assertIn(link[end], [*ids, "SPDXRef-DOCUMENT"])
        status = os.path.join(self.root, "var/lib/dpkg/status.d")
        inside = {n for n in os.listdir(status) if not n.endswith(".md5sums")}
        self.assertEqual(inside, {p["name"] for p in sbom["packages"] if "?arch=" in p["externalRefs"][0]["referenceLocator"]})
        self.assertLess({"libc6", "libcurl4", "libjemalloc2", "libssl3", "ca-certificates"}, inside)
        with open(os.path.join(self.root, "usr/bin/berth"), "rb") as f:
            self.assertEqual(sbom["packages"][0]["checksums"][0]["checksumValue"], hashlib.sha256(f.read()).hexdigest())


class TwoArchitectures(unittest.TestCase):
    def test_its_index_has_both_and_the_other_one_runs(self):
        arch, machine = OTHER
        program = os.path.join(ROOT, "build", f"release-{arch}", "berth")
        emulator = shutil.which(f"qemu-{machine}-static")
        if not os.path.exists(program) or emulator is None or os.geteuid() != 0:
            print(f"\n*** SKIPPED, NOT TESTED: needs {program} (scripts/image --arch {arch}), qemu-{machine}-static and root\n", file=sys.stderr)
            self.skipTest("not built")
        out = os.path.join(WORK, "both")
        made = make(out, "--berth", f"{arch}={program}")
        self.assertEqual(made.returncode, 0, made.stderr)
        layout, root = os.path.join(out, "layout"), os.path.join(out, "root")
        with tarfile.open(made.stdout.strip()) as tar:
            tar.extractall(layout)
        with open(os.path.join(layout, "index.json"), encoding="utf-8") as f:
            top = json.load(f)["manifests"]
        self.assertEqual([entry["mediaType"] for entry in top], ["application/vnd.oci.image.index.v1+json"])
        images = {image["platform"]["architecture"]: image for image in json.loads(read_blob(layout, top[0]))["manifests"]}
        self.assertEqual(set(images), {"amd64", "arm64"})
        for name, image in images.items():
            self.assertEqual(image["platform"]["os"], "linux")
            config = json.loads(read_blob(layout, json.loads(read_blob(layout, image))["config"]))
            self.assertEqual((config["architecture"], config["config"]["User"]), (name, "65532:65532"))
            self.assertTrue(any(file.endswith(f"-{name}.spdx.json") for file in os.listdir(out)), name)
        for descriptor in json.loads(read_blob(layout, images[arch]))["layers"]:
            with tarfile.open(os.path.join(layout, "blobs", *descriptor["digest"].split(":"))) as tar:
                tar.extractall(root)
        shutil.copy2(emulator, os.path.join(root, "tmp", "emulator"))
        shutil.copytree(SCENARIO, os.path.join(root, "tmp", "scenario"))
        done = run_in(root, "/tmp/emulator", "/usr/bin/berth", "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^berth [0-9.]+ \(commit [0-9a-f]+")
        done = run_in(root, "/tmp/emulator", "/usr/bin/berth", "plan", "-f", "/tmp/scenario")
        outside = subprocess.run([BERTH, "plan", "-f", SCENARIO], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (outside.returncode, outside.stdout), done.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--berth"]:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    BERTH = os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="berth-image-test-") as WORK:
        made = make(WORK)
        if made.returncode != 0:
            print(f"\n*** SKIPPED, NOT TESTED: the image could not be made:\n{made.stderr}", file=sys.stderr)
            sys.exit(1 if os.environ.get("BERTH_IMAGE_TESTS") == "required" else 77)
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
