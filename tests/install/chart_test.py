#!/usr/bin/env python3
"""The chart, rendered by Helm: that it says what it should for several files of values, that no value does nothing, that what is
misspelt is refused. usage: chart_test.py [--berth PROGRAM] [unittest's arguments]

Helm comes from scripts/helm, whose `build` fetches and builds it once; without it the tests skip, loudly, and fail with
BERTH_HELM_TESTS=required. That the API server takes the objects is tested in tests/e2e/berth_install_test.cc.
"""
import base64
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = os.path.join(ROOT, "deploy", "chart", "berth")
VALUES = os.path.join(ROOT, "tests", "install", "values")
NAMESPACE = "elsewhere"  # not the one of the plain manifests
HELM = subprocess.run([os.path.join(ROOT, "scripts", "helm"), "path"], capture_output=True, text=True, check=True).stdout.strip()
BERTH = None

ALL = ["all-policy", "all-webhook", "least", "nothing-gets-in", "own-certificates"]

# Another value for each leaf of values.yaml that is neither a switch, a number nor a choice of few.
OTHER = {
    "image.repository": "registry.example/other",
    "image.tag": "9.9.9",
    "image.digest": "sha256:" + "f" * 64,
    "imagePullSecrets": [{"name": "other"}],
    "scheduler.names": ["berth", "other"],
    "scheduler.deviceResources": ["example.com/other"],
    "scheduler.kueueConfig": "kind: Configuration\n",
    "scheduler.extraArgs": ["--max-in-flight=99"],
    "scheduler.extraVolumes": [{"name": "other", "emptyDir": {}}],
    "scheduler.extraVolumeMounts": [{"name": "other", "mountPath": "/other"}],
    "kinds.more": [{"group": "example.com", "resource": "runs"}],
    "tenantPolicy.controllers": ["system:serviceaccount:other:operator"],
    "visibility.caBundle": "b3RoZXI=",
    "webhook.caBundle": "b3RoZXI=",
    "monitoring.serviceMonitor.interval": "17s",
    "networkPolicy.metricsFrom": [{"podSelector": {"matchLabels": {"app": "other"}}}],
}


def run_helm(*arguments):
    return subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)


def render(values=None, *arguments, namespace=NAMESPACE, text=False):
    """Objects of the chart with these values (a dict, or the name of a file), or the error's text."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        if isinstance(values, str):
            arguments = ("--values", os.path.join(VALUES, values + ".yaml"), *arguments)
        else:
            yaml.safe_dump(values or {}, f)
            f.flush()
            arguments = ("--values", f.name, *arguments)
        done = run_helm("template", "berth", CHART, "--namespace", namespace, *arguments)
    if done.returncode != 0:
        return done.stderr
    return done.stdout if text else [o for o in yaml.safe_load_all(done.stdout) if o is not None]


def one(objects, kind, name):
    found = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    assert len(found) == 1, f"{len(found)} objects {kind} {name}"
    return found[0]


def has(objects, kind, name):
    return any((o["kind"], o["metadata"]["name"]) == (kind, name) for o in objects)


def rules_of(objects, name):
    """(group, resource) -> verbs."""
    out = {}
    for rule in one(objects, "ClusterRole", name)["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                out.setdefault((group, resource), set()).update(rule["verbs"])
    return out


def arguments_of(objects, deployment):
    return one(objects, "Deployment", deployment)["spec"]["template"]["spec"]["containers"][0]["args"]


def leaves(values, path=()):
    for key, value in values.items():
        if isinstance(value, dict) and value and not (set(value) & {"requests", "limits"}):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def at(schema, path):
    for key in path:
        schema = schema["properties"][key]
    return schema


def with_value(values, path, value):
    out = copy.deepcopy(values)
    inner = out
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    return out


class Chart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as f:
            cls.values = yaml.safe_load(f)
        with open(os.path.join(CHART, "values.schema.json"), encoding="utf-8") as f:
            cls.schema = json.load(f)

    def test_lint_finds_nothing(self):
        for name in [None, *ALL]:
            files = [] if name is None else ["--values", os.path.join(VALUES, name + ".yaml")]
            done = run_helm("lint", "--strict", "--quiet", CHART, *files)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")

    def test_every_file_of_values_is_listed(self):
        self.assertEqual(sorted(os.path.basename(p)[:-5] for p in glob.glob(os.path.join(VALUES, "*.yaml"))), ALL)

    def test_objects_are_in_the_namespace_and_carry_its_labels(self):
        for name in [None, *ALL]:
            objects = render(name)
            self.assertIsInstance(objects, list, objects)
            keys = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects]
            self.assertEqual(len(keys), len(set(keys)), "an object stands there twice")
            for o in objects:
                key = f"{name}: {o['kind']} {o['metadata']['name']}"
                self.assertEqual(o["metadata"]["labels"]["app.kubernetes.io/part-of"], "berth", key)
                self.assertIn(o["metadata"].get("namespace"), (None, NAMESPACE, "kube-system"), key)
            text = render(name, text=True)
            self.assertNotIn("berth-system", re.sub(r"^ *#.*", "", text, flags=re.M), name)

    def test_no_value_does_nothing(self):
        # Beside what makes a value count: its part is on, and nothing stands before it.
        webhook = {"webhook": {"enabled": True}, "visibility": {"enabled": True}, "tenantPolicy": {"enabled": True},
                   "monitoring": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}, "dashboards": {"enabled": True}},
                   "certificates": {"source": "secret"}}
        for part in ("webhook", "visibility"):
            webhook[part]["caBundle"] = "bWluZQ=="
        policy = {**webhook, "webhook": {"enabled": False}, "admissionPolicy": {"enabled": True}}
        seen = 0
        before = {"policy": self.text_of(policy), "webhook": self.text_of(webhook)}
        self.assertEqual(before, {"policy": self.text_of(policy), "webhook": self.text_of(webhook)}, "it differs by itself")
        for path, value in leaves(self.values):
            name = ".".join(path)
            base, which = (webhook, "webhook") if path[0] == "webhook" else (policy, "policy")
            if path == ("webhook", "enabled"):
                other = with_value(webhook, path, False)
            elif path[0] in ("admissionPolicy", "visibility", "tenantPolicy", "monitoring") and path[-1] == "enabled":
                other = with_value(policy, path, False)
            else:
                other = with_value(base, path, self.other(name, path, value))
            self.assertNotEqual(self.text_of(other), before[which], f"{name} does nothing")
            seen += 1
        self.assertGreater(seen, 50)

    def text_of(self, values):
        text = render(values, text=True)
        self.assertIn("kind: Deployment", text)
        return text

    def other(self, name, path, value):
        if name in OTHER:
            return OTHER[name]
        schema = at(self.schema, path)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + 1
        if "enum" in schema:
            return next(v for v in schema["enum"] if v not in (value, "secret"))
        if "requests" in schema.get("properties", {}):
            return {"requests": {"cpu": "77m"}}
        if "matchLabels" in schema.get("properties", {}):
            return {"matchLabels": {"other": "label"}}
        if schema.get("type") == "array":
            return [{"key": "other", "operator": "Exists"}]
        if schema.get("type") == "object":
            return {"example.com/other": "yes"}
        return "other"

    def test_schema_and_values_have_the_same_names(self):
        def compare(values, schema, path):
            names = set(schema["properties"]) - ({"global"} if not path else set())
            self.assertEqual(names, set(values), path)
            self.assertIs(schema["additionalProperties"], False, path)
            for key, value in values.items():
                inner = schema["properties"][key]
                if isinstance(value, dict) and value and "requests" not in inner.get("properties", {}):
                    compare(value, inner, (*path, key))
        compare(self.values, self.schema, ())

    def test_what_is_wrong_is_refused_with_its_name(self):
        for values, words in [
                ({"visiblity": {"enabled": True}}, "visiblity"),
                ({"scheduler": {"replica": 2}}, "replica"),
                ({"scheduler": {"replicas": 0}}, "replicas"),
                ({"scheduler": {"placement": "packed"}}, "placement"),
                ({"scheduler": {"names": []}}, "names"),
                ({"scheduler": {"names": ["a'b"]}}, "names"),
                ({"scheduler": {"extraArgs": ["--lease-namespace=x"]}}, "extraArgs"),
                ({"webhook": {"failurePolicy": "Sometimes"}}, "failurePolicy"),
                ({"image": {"digest": "sha256:abc"}}, "digest"),
                ({"crds": {"kueue": "yes"}}, "kueue"),
                ({"webhook": {"enabled": True}, "admissionPolicy": {"enabled": True}}, "use one of them"),
                ({"webhook": {"enabled": True}, "scheduler": {"names": ["other"]}}, "the first of scheduler.names"),
                ({"scheduler": {"names": ["default-scheduler"]}}, "places Berth's own pods"),
                ({"certificates": {"source": "secret"}, "visibility": {"enabled": True}}, "visibility.caBundle is empty"),
                ({"certificates": {"source": "secret"}, "webhook": {"enabled": True}}, "webhook.caBundle is empty")]:
            answer = render(values)
            self.assertIsInstance(answer, str, values)
            self.assertIn(words, answer)

    def test_rights_follow_what_is_switched_off(self):
        everything = rules_of(render({}), "berth")
        self.assertEqual(everything[("batch", "jobs")], {"get", "list", "watch", "patch"})
        without_jobs = rules_of(render({"scheduler": {"holdJobs": False}}), "berth")
        self.assertEqual(set(everything) - set(without_jobs), {("batch", "jobs/status")})
        self.assertEqual(without_jobs[("batch", "jobs")], {"get", "list", "watch"})
        without_objects = rules_of(render({"scheduler": {"kueueObjects": False}}), "berth")
        self.assertEqual(sorted(set(everything) - set(without_objects)), [
            ("", "podtemplates"), ("autoscaling.x-k8s.io", "provisioningrequests"), ("coordination.k8s.io", "leases"),
            ("kueue.x-k8s.io", "admissionchecks/status"), ("kueue.x-k8s.io", "clusterqueues/status"), ("kueue.x-k8s.io", "localqueues/status"),
            ("kueue.x-k8s.io", "provisioningrequestconfigs"), ("kueue.x-k8s.io", "workloads"), ("kueue.x-k8s.io", "workloads/status")])
        configured = {"scheduler": {"kueueObjects": False, "kueueConfig": "waitForPodsReady: {enable: true}\n"}}
        self.assertEqual(rules_of(render(configured), "berth"), without_objects)

    def test_declared_kinds_have_rights_and_a_fence(self):
        objects = render({"tenantPolicy": {"enabled": True}, "kinds": {
            "declared": "kinds: []\n",
            "more": [{"group": "example.com", "resource": "runs", "suspend": "spec.paused", "templates": ["spec.tasks[].template"]},
                     {"group": "example.com", "resource": "looks"}]}})
        rights = rules_of(objects, "berth")
        self.assertEqual(rights[("ray.io", "rayclusters")], {"get", "list", "watch", "patch"})
        self.assertEqual(rights[("leaderworkerset.x-k8s.io", "leaderworkersets")], {"get", "list", "watch"})
        self.assertEqual(rights[("example.com", "runs")], {"get", "list", "watch", "patch"})
        self.assertEqual(rights[("example.com", "looks")], {"get", "list", "watch"})
        self.assertEqual(rules_of(objects, "berth-plan")[("example.com", "runs")], {"list"})
        self.assertIn("--kinds=/etc/berth/kinds/kinds.yaml", arguments_of(objects, "berth"))
        self.assertEqual(one(objects, "ConfigMap", "berth-kinds")["data"]["kinds.yaml"], "kinds: []\n")
        policy = one(objects, "ValidatingAdmissionPolicy", "berth-tenant-kinds")["spec"]
        fenced = {(g, r) for rule in policy["matchConstraints"]["resourceRules"] for g in rule["apiGroups"] for r in rule["resources"]}
        self.assertLessEqual({("example.com", "runs"), ("example.com", "looks"), ("kubeflow.org", "mpijobs")}, fenced)
        self.assertIn("o.?spec.?paused.orValue(false)", next(v["expression"] for v in policy["variables"] if v["name"] == "suspended"))
        templates = next(v["expression"] for v in policy["variables"] if v["name"] == "templates")
        self.assertIn("[?object.?spec.?driver].map(p, dyn({'metadata': p, 'spec': p}))", templates)
        self.assertTrue(any("'workload.codeflare.dev/appwrappers'" in v["expression"] for v in policy["validations"]))
        self.assertIn("object.?spec.?tasks.orValue([]).filter(e, has(e.template)).map(e, e.template)", templates)

    def test_roles_for_people_are_there_for_every_kind(self):
        objects = render({})
        kinds = set()
        for path in glob.glob(os.path.join(ROOT, "deploy", "crds", "*.yaml")):
            with open(path, encoding="utf-8") as f:
                kind = yaml.safe_load(f)
            group, plural = kind["spec"]["group"], kind["spec"]["names"]["plural"]
            kinds.add(f"{plural}.{group}")
            view = one(objects, "ClusterRole", f"berth-view-{plural}.{group}")
            edit = one(objects, "ClusterRole", f"berth-edit-{plural}.{group}")
            self.assertEqual(rules_of(objects, view["metadata"]["name"])[(group, plural)], {"get", "list", "watch"})
            self.assertLessEqual({"create", "update", "patch", "delete"}, rules_of(objects, edit["metadata"]["name"])[(group, plural)])
            self.assertEqual(view["metadata"]["labels"].get("rbac.authorization.k8s.io/aggregate-to-view") == "true",
                             kind["spec"]["scope"] == "Namespaced", "tenants view what is in their namespaces")
            # A LocalQueue is the key to its ClusterQueue, and a Workload boosts a priority (docs/security.md).
            self.assertEqual(edit["metadata"]["labels"].get("rbac.authorization.k8s.io/aggregate-to-edit") == "true",
                             plural == "podgroups")
        self.assertEqual({o["metadata"]["name"].split("-", 2)[2] for o in objects
                          if o["kind"] == "ClusterRole" and re.match(r"berth-(view|edit)-", o["metadata"]["name"])}, kinds)
        for which in ("view", "edit"):
            total = {}
            for kind in kinds:
                total.update(rules_of(objects, f"berth-{which}-{kind}"))
            self.assertEqual(rules_of(objects, f"berth-{which}"), total)

    def test_no_role_is_summed_by_a_controller(self):
        # It writes a role again that is being deleted, and then a second installation fails.
        self.assertFalse([o for o in render("all-policy") if "aggregationRule" in o])

    def test_kinds_follow_their_switches_and_outlive_the_release(self):
        groups = {"berth": {"berth.dev"}, "kueue": {"kueue.x-k8s.io"}, "schedulerPlugins": {"scheduling.x-k8s.io"},
                  "volcano": {"scheduling.volcano.sh", "topology.volcano.sh"}, "kai": {"scheduling.run.ai", "kai.scheduler"}}
        self.assertEqual(set(groups), set(self.values["crds"]))
        off = {name: False for name in groups}
        total = 0
        for name, those in groups.items():
            kinds = [o for o in render({"crds": {**off, name: True}}) if o["kind"] == "CustomResourceDefinition"]
            total += len(kinds)
            self.assertEqual({k["spec"]["group"] for k in kinds}, those)
            for kind in kinds:
                self.assertEqual(kind["metadata"]["annotations"]["helm.sh/resource-policy"], "keep")
                path = os.path.join(ROOT, "deploy", "crds", f"{kind['spec']['group']}_{kind['spec']['names']['plural']}.yaml")
                with open(path, encoding="utf-8") as f:
                    self.assertEqual(kind["spec"], yaml.safe_load(f)["spec"], path)
        self.assertEqual(total, len(glob.glob(os.path.join(ROOT, "deploy", "crds", "*.yaml"))))
        self.assertFalse([o for o in render({"crds": off}) if o["kind"] == "CustomResourceDefinition"])

    def test_flags_exist(self):
        if BERTH is None:
            self.skipTest("needs --berth PROGRAM")
        for name in [None, *ALL]:
            objects = render(name)
            for deployment in ("berth", "berth-webhook"):
                if not has(objects, "Deployment", deployment):
                    continue
                subcommand, *flags = arguments_of(objects, deployment)
                known = subprocess.run([BERTH, subcommand, "--help"], capture_output=True, text=True, check=True).stdout
                known = set(re.findall(r"--[\w-]+", known))
                self.assertFalse([f for f in flags if f.split("=")[0] not in known], f"{name}: {deployment}")

    def test_settings_become_flags(self):
        flags = arguments_of(render("all-policy"), "berth")
        for flag in ("--scheduler-name=berth", "--scheduler-name=team-scheduler", "--placement=pack", "--log-level=debug",
                     "--device-resource=example.com/fpga", "--kueue-config=/etc/berth/kueue/config.yaml", "--gang-deadline=60",
                     f"--lease-namespace={NAMESPACE}"):
            self.assertIn(flag, flags)
        flags = arguments_of(render("least"), "berth")
        self.assertLessEqual({"--hold-jobs=false", "--kueue-objects=false"}, set(flags))
        self.assertFalse([f for f in flags if "visibility" in f])

    def test_policies_write_and_accept_the_names(self):
        objects = render("all-policy")
        for name in ("berth-jobs", "berth-pods"):
            policy = one(objects, "MutatingAdmissionPolicy", name)["spec"]
            self.assertIn('schedulerName: "berth"', policy["mutations"][0]["applyConfiguration"]["expression"])
            binding = one(objects, "MutatingAdmissionPolicyBinding", name)["spec"]["matchResources"]["namespaceSelector"]
            self.assertEqual(binding["matchLabels"], {"team": "research"})
            self.assertEqual(binding["matchExpressions"], [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", NAMESPACE]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}])
        jobs = json.dumps(one(objects, "MutatingAdmissionPolicy", "berth-jobs"))
        self.assertIn("['', 'default-scheduler', 'berth', 'team-scheduler']", jobs)
        tenants = json.dumps(one(objects, "ValidatingAdmissionPolicy", "berth-tenant-pods"))
        self.assertIn("in ['berth', 'team-scheduler']", tenants)

    def test_made_certificates_fit_and_are_trusted(self):
        objects = render("all-webhook")
        for service, bundles in (
                ("berth-webhook", [w["clientConfig"]["caBundle"] for w in one(objects, "MutatingWebhookConfiguration", "berth")["webhooks"]]),
                ("berth-visibility", [o["spec"]["caBundle"] for o in objects if o["kind"] == "APIService"])):
            secret = one(objects, "Secret", f"{service}-tls")["data"]
            self.assertEqual(set(bundles), {secret["ca.crt"]}, service)
            self.assertEqual(len(bundles), 2)
            with tempfile.TemporaryDirectory() as folder:
                for name, text in secret.items():
                    with open(os.path.join(folder, name), "wb") as f:
                        f.write(base64.b64decode(text))
                done = subprocess.run(["openssl", "verify", "-purpose", "sslserver", "-verify_hostname", f"{service}.{NAMESPACE}.svc",
                                       "-CAfile", f"{folder}/ca.crt", f"{folder}/tls.crt"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                keys = [subprocess.run(["openssl", *words], capture_output=True, text=True, check=True).stdout for words in
                        (["pkey", "-in", f"{folder}/tls.key", "-pubout"], ["x509", "-in", f"{folder}/tls.crt", "-pubkey", "-noout"])]
                self.assertEqual(keys[0], keys[1])

    def test_images(self):
        def image(values):
            return one(render(values), "Deployment", "berth")["spec"]["template"]["spec"]["containers"][0]["image"]
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
            version = re.search(r"project\(berth VERSION ([\d.]+)", f.read()).group(1)
        self.assertEqual(image({}), f"berth:{version}")
        self.assertEqual(image("all-policy"), "registry.example/berth:0.1.0-1")
        self.assertTrue(image("all-webhook").startswith("registry.example/berth@sha256:"))
        with open(os.path.join(CHART, "Chart.yaml"), encoding="utf-8") as f:
            self.assertEqual(yaml.safe_load(f)["version"], version)
        with open(os.path.join(ROOT, "deploy", "kustomization.yaml"), encoding="utf-8") as f:
            self.assertEqual(yaml.safe_load(f)["images"][0]["newTag"], version)

    def test_network_policy_lets_in_what_is_asked_for(self):
        def ports(values):
            return [[p["port"] for p in rule["ports"]] for rule in one(render(values), "NetworkPolicy", "berth")["spec"]["ingress"]]
        self.assertEqual(ports({}), [["metrics"]])
        self.assertEqual(ports("all-webhook"), [["metrics"], ["visibility"]])
        self.assertEqual(ports("own-certificates"), [["visibility"]])
        self.assertEqual(ports("nothing-gets-in"), [])
        self.assertFalse(has(render("least"), "NetworkPolicy", "berth"))

    def test_pods_meet_the_restricted_standard(self):
        for name in [None, *ALL]:
            for o in render(name):
                if o["kind"] != "Deployment":
                    continue
                pod = o["spec"]["template"]["spec"]
                self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertEqual(pod["schedulerName"], "default-scheduler")
                for container in pod["containers"]:
                    self.assertEqual(container["securityContext"], {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
                if o["spec"]["replicas"] > 1:
                    self.assertEqual(pod["topologySpreadConstraints"][0]["topologyKey"], "kubernetes.io/hostname")

    def test_alerts_ask_for_metrics_that_there_are(self):
        told = set()
        for page in ("metrics.md", "operations.md"):
            with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as f:
                told |= set(re.findall(r"`(berth_\w+)`", "".join(line for line in f if line.startswith("| `berth_"))))
        source = subprocess.run(["grep", "-rhoE", '"berth_[a-z_]+"', os.path.join(ROOT, "src")], capture_output=True, text=True, check=True)
        exist = set(re.findall(r"berth_\w+", source.stdout))
        rules = one(render("all-policy"), "PrometheusRule", "berth")["spec"]["groups"]
        asked = set(re.findall(r"berth_\w+", " ".join(rule["expr"] for group in rules for rule in group["rules"])))
        asked = {re.sub("_bucket$", "", name) for name in asked}
        self.assertGreater(len(asked), 8)
        self.assertFalse(asked - told, "not in docs/")
        self.assertFalse(asked - exist, "not in src")

    def test_grafana_gets_the_dashboards(self):
        found = one(render("all-policy"), "ConfigMap", "berth-dashboards")
        self.assertEqual(found["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual({name: json.loads(text)["title"] for name, text in found["data"].items()},
                         {"berth-queues.json": "Berth: queues and GPUs", "berth-scheduler.json": "Berth: the scheduler"})
        self.assertFalse(has(render("least"), "ConfigMap", "berth-dashboards"))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--berth"]:
        BERTH, arguments = arguments[1], arguments[2:]
    if not os.access(HELM, os.X_OK):
        print(f"\n*** SKIPPED, NOT TESTED: there is no Helm at {HELM}; scripts/helm build\n", file=sys.stderr)
        sys.exit(1 if os.environ.get("BERTH_HELM_TESTS") == "required" else 77)
    unittest.main(argv=[sys.argv[0], *arguments])
