#!/usr/bin/env python3
"""Rules and dashboards in Prometheus: its unit tests of the rules, and a real server that scrapes what Berth tells (data/metrics.txt, which
tests/observe/exposition_test.cc keeps true) and two stubs of DCGM's exporter, an old one and a new one. usage: prometheus_test.py

promtool and prometheus come from Debian's package (scripts/test --metrics); without them the tests that need them skip, loudly, and fail
with BERTH_PROMETHEUS=required.
"""
import http.server
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = os.path.join(ROOT, "deploy", "chart", "berth", "files", "rules.yaml")
TESTS = os.path.join(ROOT, "tests", "install", "alerts_test.yaml")
TOLD = os.path.join(ROOT, "tests", "install", "data", "metrics.txt")
QUIET, NOISY = {}, {  # what is changed in Berth's text, by the start of a line
    "berth_leader ": "0", "berth_follower_differs ": "1", "berth_watch_silence_seconds{kind=\"Pod\"} ": "400",
    "berth_workload_oldest_wait_seconds{priority=\"1000\",queue=\"research\"} ": "9000", "berth_series_dropped ": "3"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def expressions():
    done = subprocess.run([os.path.join(ROOT, "tools", "dashboards"), "expressions"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def told_metrics():
    """Name -> labels, of docs/metrics.md."""
    out = {}
    for line in read(os.path.join(ROOT, "docs", "metrics.md")).splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if match := re.match(r"\| `(berth[_:][\w:]+)`", line):
            out[match.group(1)] = (cells[3] if "_" in match.group(1).split(":")[0] else cells[2]).replace(",", " ").split()
    return out


NEEDS_PROMETHEUS = unittest.skipUnless(shutil.which("promtool") and shutil.which("prometheus"), "there is no promtool or no prometheus")


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules = [rule for group in yaml.safe_load(read(RULES))["groups"] for rule in group["rules"]]
        self.alerts = {rule["alert"] for rule in self.rules if "alert" in rule}

    def test_each_alert_fires_in_a_test_and_is_silent_in_another(self):
        quiet, fires = set(), set()
        for one in yaml.safe_load(read(TESTS))["tests"]:
            for case in one.get("alert_rule_test", []):
                (fires if case["exp_alerts"] else quiet).add(case["alertname"])
        self.assertEqual(self.alerts, fires)
        self.assertEqual(self.alerts, quiet)

    def test_each_alert_has_its_place_on_the_page(self):
        headings = {match.lower() for match in re.findall(r"^## (\w+)$", read(os.path.join(ROOT, "docs", "alerts.md")), re.M)}
        for rule in self.rules:
            if "alert" in rule:
                self.assertEqual(rule["annotations"]["runbook"], f"docs/alerts.md#{rule['alert'].lower()}")
        self.assertEqual(headings, {name.lower() for name in self.alerts})

    @NEEDS_PROMETHEUS
    def test_promtool(self):
        promtool = shutil.which("promtool")
        for arguments in (["check", "rules", RULES], ["test", "rules", TESTS]):
            done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Names(unittest.TestCase):
    def test_dashboards_are_up_to_date(self):
        done = subprocess.run([os.path.join(ROOT, "tools", "dashboards"), "check"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_panels_and_rules_ask_for_what_there_is(self):
        metrics = {name for name in told_metrics() if name.startswith("berth_")}
        records = {rule["record"] for group in yaml.safe_load(read(RULES))["groups"] for rule in group["rules"] if "record" in rule}
        asked = [one["expr"] for one in expressions()]
        asked += [rule["expr"] for group in yaml.safe_load(read(RULES))["groups"] for rule in group["rules"]]
        self.assertGreater(len(asked), 80)
        for expr in asked:
            for name in re.findall(r"berth[_:][\w:]+", expr):
                exists = name in records or re.sub("_(bucket|sum|count)$", "", name) in metrics or "webhook" in name
                self.assertTrue(exists, f"{name} of {expr}")

    def test_the_page_has_every_metric_with_its_labels(self):
        # The recorded text has each metric of the header (tests/observe/metrics_test.cc) once or more.
        found = {}
        for line in read(TOLD).splitlines():
            if match := re.match(r"(berth_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$", line):
                labels = set(re.findall(r"(\w+)=\"", match.group(2) or "")) - {"le"}
                found.setdefault(match.group(1), labels)
        told = {name: set(labels) for name, labels in told_metrics().items() if name.startswith("berth_")}
        self.assertEqual(told.pop("berth_missing_rights"), {"verb", "resource"})  # of a cluster in which none is missing
        self.assertEqual(told, found)


class Stub:
    """Serves text at /metrics on loopback."""

    def __init__(self, text):
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = stub.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.text = text
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class BerthStub(Stub):
    """The recorded text. Counters grow by what is recorded with each scrape."""

    def __init__(self):
        self.recorded, self.scrapes, self.changes = read(TOLD), 0, QUIET
        super().__init__(self.now)

    def now(self):
        self.scrapes += 1
        out, counts = [], False
        for line in self.recorded.splitlines():
            if line.startswith("# TYPE "):
                counts = line.endswith((" counter", " histogram"))
            elif counts and not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                line = f"{series} {float(value) * self.scrapes}"
            for start, value in self.changes.items():
                if line.startswith(start):
                    line = start + value
            out.append(line)
        return "\n".join(out) + "\n"


class DcgmStubs:
    """An old exporter (Hostname, pod, no profiling) and a new one; a GPU for each pod of the recorded text, turn by turn."""

    def __init__(self):
        self.busy = 0.97
        self.pods = re.findall(r'berth_pod_gpus\{node_name="(.*?)",pod_name="(.*?)",pod_namespace="(.*?)".*?\} (\d+)', read(TOLD))
        self.old, self.new = Stub(self.old_text), Stub(self.new_text)

    def old_text(self):
        out = ["# TYPE DCGM_FI_DEV_GPU_UTIL gauge"]
        for node, pod, ns, gpus in self.pods[::2]:
            for gpu in range(int(gpus)):
                out.append(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{gpu}",UUID="old-{pod}-{gpu}",Hostname="{node}",container="main",namespace="{ns}",pod="{pod}"}} {self.busy * 100}')
        out.append('DCGM_FI_DEV_GPU_UTIL{gpu="7",UUID="old-free",Hostname="n",container="",namespace="",pod=""} 9223372036854775794')
        out.append("# TYPE DCGM_FI_DEV_XID_ERRORS gauge")
        out.append('DCGM_FI_DEV_XID_ERRORS{gpu="7",UUID="old-free",Hostname="n",container="",namespace="",pod=""} 43')
        return "\n".join(out) + "\n"

    def new_text(self):
        out = ["# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge"]
        for node, pod, ns, gpus in self.pods[1::2]:
            for gpu in range(int(gpus)):
                out.append(f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{gpu="{gpu}",UUID="new-{pod}-{gpu}",hostname="{node}",namespace="{ns}",pod="{pod}",pod_uid="u"}} {self.busy}')
        out.append("# TYPE DCGM_FI_DEV_GPU_UTIL gauge")
        for node, pod, ns, gpus in self.pods[1::2]:
            for gpu in range(int(gpus)):
                out.append(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{gpu}",UUID="new-{pod}-{gpu}",hostname="{node}",namespace="{ns}",pod="{pod}",pod_uid="u"}} 100')
        out.append("# TYPE DCGM_FI_DEV_XID_ERRORS gauge")
        out.append('DCGM_FI_DEV_XID_ERRORS{gpu="7",UUID="new-free",hostname="n",err_code="0",err_msg="No Error"} 0')
        return "\n".join(out) + "\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@NEEDS_PROMETHEUS
class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="berth-prometheus-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.berth, cls.dcgm, cls.port = BerthStub(), DcgmStubs(), free_port()
        rules = yaml.safe_load(read(RULES))
        for group in rules["groups"]:  # its own interval and times are for people
            group["interval"] = "1s"
            for rule in group["rules"]:
                rule.pop("for", None)
        job = lambda name, port, **more: {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {
            "namespace": "monitoring", "pod": f"{name}-0"}}], **more}
        config = {"global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
                  "scrape_configs": [job("berth", cls.berth.port), job("dcgm-old", cls.dcgm.old.port, honor_labels=True),
                                     job("dcgm-new", cls.dcgm.new.port)]}
        for name, content in (("rules.yaml", rules), ("prometheus.yaml", config)):
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as f:
                yaml.safe_dump(content, f)
        cls.log = open(os.path.join(cls.folder, "log"), "w", encoding="utf-8")
        cls.process = subprocess.Popen(
            [shutil.which("prometheus"), f"--config.file={cls.folder}/prometheus.yaml", f"--storage.tsdb.path={cls.folder}/data",
             f"--web.listen-address=127.0.0.1:{cls.port}"], stdout=cls.log, stderr=cls.log)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.log.close()

    @classmethod
    def api(cls, path, **query):
        url = f"http://127.0.0.1:{cls.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def wait_for(self, what, seconds=180):  # a loaded machine misses scrapes
        end, last = time.monotonic() + seconds, "nothing"
        while time.monotonic() < end:
            try:
                last = what()
            except OSError as error:
                last = str(error)
            if not last:
                return
            time.sleep(1)
        self.fail(f"after {seconds} s: {last}")

    def values(self, expr):
        return [(one["metric"], float(one["value"][1])) for one in self.api("query", query=expr)["result"]]

    def empty_panels(self):
        out = []
        for one in expressions():
            expr = one["expr"].replace("$__rate_interval", "30s").replace("$queue", ".*").replace("$pool", ".*")
            if all(math.isnan(value) for _, value in self.values(expr)):
                out.append(f"{one['dashboard']}, {one['panel']}: {expr}")
        return out

    def alerts(self, *states):
        return {rule["name"] for group in self.api("rules", type="alert")["groups"] for rule in group["rules"] if rule["state"] in states}

    def test_panels_have_data_and_alerts_are_silent_until_there_is_cause(self):
        targets = lambda: [t for t in self.api("targets")["activeTargets"] if t["health"] != "up"] or not self.api("targets")["activeTargets"]
        self.wait_for(targets)
        self.wait_for(self.empty_panels)
        for group in self.api("rules")["groups"]:
            for rule in group["rules"]:
                self.assertEqual(rule["health"], "ok", rule)
        pods = {pod for _, pod, _, _ in self.dcgm.pods}
        self.wait_for(lambda: pods ^ {metric["pod_name"] for metric, _ in self.values("berth:pod_gpu_used:ratio")})
        for metric, value in self.values("berth:pod_gpu_used:ratio"):
            self.assertAlmostEqual(value, 0.97, 6, metric)
        self.wait_for(lambda: self.alerts("firing", "pending"))

        self.berth.changes, self.dcgm.busy = NOISY, 0.02
        expected = {"BerthNoLeader", "BerthFollowerDiffers", "BerthWatchSilent", "BerthWaitsTooLong", "BerthSeriesDropped", "BerthGpusUnused"}
        self.wait_for(lambda: expected ^ self.alerts("firing", "pending"))


if __name__ == "__main__":
    if not (shutil.which("promtool") and shutil.which("prometheus")):
        print("\n*** PARTLY SKIPPED: there is no promtool or no prometheus (Debian: prometheus)\n", file=sys.stderr)
        if os.environ.get("BERTH_PROMETHEUS") == "required":
            sys.exit(1)
    unittest.main()
