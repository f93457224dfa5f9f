"""Random states of a cluster, small and tight, in which the constraints of Kubernetes' scheduler meet.

state(seed, version) is a list of objects, as dicts in the form of manifests, for a version of Kubernetes. Every pod that waits has three constraints or more, but in one state
of four, where it has one beside its volumes at most. Names and labels
are few, so that selectors meet pods, and amounts are small, so that nodes are full.
"""
import random

import gangs  # beside this file
import versions

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
KEYS = [ZONE, RACK, HOST]
SPACES = ["default", "team-a", "team-b"]
TAINT_KEYS = ["dedicated", "spot", "maintenance"]
DRIVER = "disk.example.com"
OVERHEAD = {"cpu": "250m", "memory": "64Mi"}


class Maker:
    def __init__(self, seed):
        self.seed = seed
        self.r = random.Random(seed)
        self.v = random.Random(f"volumes {seed}")  # apart, so that they change nothing else
        self.plain = self.v.random() < 0.25
        self.objects = []
        self.nodes = []
        self.claims = []
        self.used_ports = {}  # of pods that run, by node
        self.alone, self.taken = set(), set()  # claims that one pod may use; and those of them that a pod uses
        self.open = self.r.choice([0, 0.3, 0.6, 0.8])  # how often a requirement is one that most nodes meet

    def some(self, chance):
        return self.r.random() < chance

    def add(self, kind, name, space=None, version="v1", labels=None, annotations=None, **rest):
        meta = {"name": name}
        if space:
            meta["namespace"] = space
        if labels:
            meta["labels"] = labels
        if annotations:
            meta["annotations"] = annotations
        out = {"apiVersion": version, "kind": kind, "metadata": meta, **rest}
        self.objects.append(out)
        return out

    # ---- Nodes

    def make_nodes(self):
        self.zones = [f"z{i}" for i in range(self.r.randint(1, 3))]
        self.racks = [f"r{i}" for i in range(self.r.randint(1, 4))]
        for i in range(self.r.randint(2, 8)):
            labels = {HOST: f"n{i}"}
            if self.some(0.9):
                labels[ZONE] = self.r.choice(self.zones)
            if self.some(0.8):
                labels[RACK] = self.r.choice(self.racks)
            if self.some(0.6):
                labels["disk"] = self.r.choice(["ssd", "hdd"])
            if self.some(0.5):
                labels["generation"] = str(self.r.randint(1, 4))
            spec = {}
            taints = [{"key": self.r.choice(TAINT_KEYS), "value": self.r.choice(["", "a", "b"]),
                       "effect": self.r.choice(["NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"])}
                      for _ in range(self.r.choice([0, 0, 0, 1, 1, 2]))]
            taints = list({(t["key"], t["effect"]): t for t in taints}.values())
            if self.some(0.07):
                spec["unschedulable"] = True
                if self.some(0.5):
                    taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
            if taints:
                spec["taints"] = taints
            amounts = {"cpu": str(self.r.randint(2, 12)), "memory": f"{self.r.randint(2, 16)}Gi", "pods": str(self.r.randint(2, 10))}
            if self.some(0.75):
                amounts["nvidia.com/gpu"] = str(self.r.randint(1, 8))
            if self.some(0.8):
                amounts["ephemeral-storage"] = f"{self.r.randint(2, 10)}Gi"
            if self.some(0.5):
                amounts["hugepages-2Mi"] = f"{self.r.choice([4, 8, 16])}Mi"
            if self.some(0.3):
                amounts["example.com/card"] = str(self.r.randint(1, 3))
            self.nodes.append(self.add("Node", f"n{i}", labels=labels, spec=spec, status={
                "allocatable": amounts, "capacity": dict(amounts), "conditions": [{"type": "Ready", "status": "True"}]}))

    # ---- Volumes

    def make_volumes(self):
        if self.some(0.5):
            return
        self.add("StorageClass", "disks", version="storage.k8s.io/v1", provisioner=DRIVER, volumeBindingMode="Immediate")
        for node in self.nodes:
            if self.some(0.7):
                drivers = [{"name": DRIVER, "nodeID": node["metadata"]["name"], "topologyKeys": []}]
                if self.some(0.7):
                    drivers[0]["allocatable"] = {"count": self.r.randint(0, 3)}
                self.add("CSINode", node["metadata"]["name"], version="storage.k8s.io/v1", spec={"drivers": drivers})
        for i in range(self.r.randint(1, 6)):
            space, modes = self.r.choice(SPACES), [self.r.choice(["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany"])]
            source = {"csi": {"driver": DRIVER, "volumeHandle": f"handle-{i}"}} if self.some(0.7) else {"hostPath": {"path": "/data"}}
            spec = {"capacity": {"storage": "1Gi"}, "accessModes": modes, "storageClassName": "disks", **source,
                    "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": space, "name": f"c{i}"},
                    "persistentVolumeReclaimPolicy": "Retain"}
            labels = None
            choice = self.r.random()
            if choice < 0.5:
                terms = [{"matchExpressions": [self.requirement()]} for _ in range(self.r.randint(1, 2))]
                spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
            elif choice < 0.7:
                labels = {ZONE: self.r.choice(["z0", "z1", "z0__z1", "z2"])}
            self.add("PersistentVolume", f"v{i}", labels=labels, spec=spec, status={"phase": "Bound"})
            self.add("PersistentVolumeClaim", f"c{i}", space, annotations={"pv.kubernetes.io/bind-completed": "yes"},
                     spec={"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": f"v{i}",
                           "storageClassName": "disks"}, status={"phase": "Bound", "accessModes": modes, "capacity": {"storage": "1Gi"}})
            self.claims.append((space, f"c{i}"))
            if modes == ["ReadWriteOncePod"]:
                self.alone.add((space, f"c{i}"))
        self.make_twins()

    def make_twins(self):
        """A second volume object and claim for a volume of the driver, and volumes that are attached still."""
        t = random.Random(f"twins {self.seed}")
        known = [o for o in self.objects if o["kind"] == "PersistentVolume" and "csi" in o["spec"]]
        for twin in known if t.random() < 0.3 else []:
            if t.random() < 0.4:
                space, name = t.choice(SPACES), "twin-" + twin["metadata"]["name"]
                spec = {**twin["spec"], "claimRef": {**twin["spec"]["claimRef"], "namespace": space, "name": name}, "accessModes": ["ReadWriteMany"]}
                self.add("PersistentVolume", name, labels=twin["metadata"].get("labels"), spec=spec, status={"phase": "Bound"})
                self.add("PersistentVolumeClaim", name, space, annotations={"pv.kubernetes.io/bind-completed": "yes"},
                         spec={"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": name,
                               "storageClassName": "disks"}, status={"phase": "Bound", "accessModes": ["ReadWriteMany"]})
                self.claims.append((space, name))
        for i in range(t.choice([0, 0, 0, 1, 2, 3])):
            spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "disks",
                    "csi": {"driver": DRIVER, "volumeHandle": f"left-{t.randint(0, 1)}"}}
            self.add("PersistentVolume", f"left{i}", spec=spec, status={"phase": "Released"})
            self.add("VolumeAttachment", f"left{i}", version="storage.k8s.io/v1", status={"attached": True},
                     spec={"attacher": DRIVER, "nodeName": t.choice(self.nodes)["metadata"]["name"],
                           "source": {"persistentVolumeName": f"left{i}"}})

    # ---- Volumes that exist, for claims that wait for a pod

    def free_volume(self, name, klass, size, terms, labels=None, **more):
        spec = {"capacity": {"storage": f"{size}Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": klass,
                "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/mnt"}, **more}
        if terms is not None:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        phase = self.v.choice(["Available"] * 9 + ["Released", "Failed", "Pending"])
        self.add("PersistentVolume", name, labels=labels, spec=spec, status={"phase": phase})

    def open_claim(self, name, space, klass, size, **more):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{size}Gi"}}, "storageClassName": klass, **more}
        self.add("PersistentVolumeClaim", name, space, spec=spec, status={"phase": "Pending"})
        return name

    def late_class(self, name, provisioner="kubernetes.io/no-provisioner", **more):
        self.add("StorageClass", name, version="storage.k8s.io/v1", provisioner=provisioner, volumeBindingMode="WaitForFirstConsumer", **more)

    def make_free_volumes(self):
        """Disks of the nodes, of a few sizes."""
        self.has_disks = self.v.random() < 0.6
        if not self.has_disks:
            return
        self.late_class("local")
        for node in self.nodes:
            for i in range(self.v.choice([0, 1, 1, 2, 3])):
                name = node["metadata"]["name"]
                on = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [name]}]}]
                more = {"volumeMode": "Block"} if self.v.random() < 0.15 else {}
                if self.v.random() < 0.06:
                    more["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default", "name": "elsewhere"}
                self.free_volume(f"disk-{name}-{i}", "local", self.v.choice([1, 1, 2, 5]), on, **more)

    def mount_free(self, pod):
        """Gives a pod that waits claims of its own: disks, or one of a class of its own, whose volumes differ in all that can differ."""
        meta, spec = pod["metadata"], pod["spec"]
        name, space = meta["name"], meta["namespace"]
        claims = []
        if self.has_disks and self.v.random() < 0.5:
            for i in range(self.v.choice([1, 1, 2])):
                more = {"volumeMode": "Block"} if self.v.random() < 0.15 else {}
                claims.append(self.open_claim(f"{name}-disk{i}", space, "local", self.v.choice([1, 1, 1, 2, 4, 6]), **more))
        elif self.v.random() < 0.4:
            klass, more = f"of-{name}", {}
            makes = self.v.random() < 0.4
            meant = None if makes else self.v.choice([0, 1, None, None, None, None])  # the volume that names the claim
            if makes:
                self.late_class(klass, "made.example.com", allowedTopologies=[
                    {"matchLabelExpressions": [{"key": ZONE, "values": [self.v.choice(["z0", "z1"])]}]}])
            else:
                self.late_class(klass)
            if self.v.random() < 0.4:
                more["selector"] = {"matchLabels": {"grade": self.v.choice("ab")}}
            if self.v.random() < 0.3:
                more["accessModes"] = [self.v.choice(["ReadWriteMany", "ReadWriteOncePod"])]
            claims.append(self.open_claim(f"{name}-own", space, klass, self.v.choice([1, 3]), **more))
            for i in range(self.v.randint(0, 4)):
                key = self.v.choice([HOST, ZONE, RACK, "disk"])
                values = {HOST: ["n0", "n1", "n2"], ZONE: ["z0", "z1"], RACK: ["r0", "r1"], "disk": ["ssd", "hdd"]}[key]
                requirements = [{"key": key, "operator": self.v.choice(["In", "In", "NotIn"]), "values": [self.v.choice(values)]}]
                terms = None if self.v.random() < 0.1 else [{"matchExpressions": requirements}]
                kind = {"accessModes": self.v.choice([["ReadWriteOnce"], ["ReadWriteOnce", "ReadWriteMany"], ["ReadWriteOncePod"]])}
                if i == meant or self.v.random() < 0.1:
                    kind["claimRef"] = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": space,
                                        "name": claims[0] if i == meant else "another"}
                self.free_volume(f"own-{name}-{i}", klass, self.v.choice([1, 2, 5]), terms,
                                 {"grade": self.v.choice("ab")} if self.v.random() < 0.7 else None, **kind)
        spec.setdefault("volumes", []).extend(
            {"name": f"e{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims))

    # ---- Selectors

    def requirement(self):
        key = self.r.choice(["disk", "disk", "generation", ZONE, RACK, HOST, "absent"])
        values = {"disk": ["ssd", "hdd", "tape"], "generation": ["1", "2", "3", "x"], ZONE: ["z0", "z1", "z2"], RACK: ["r0", "r1", "r2"],
                  HOST: ["n0", "n1", "n2", "n3"], "absent": ["a"]}[key]
        operator = self.r.choice(["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        if self.some(self.open):
            key, operator = self.r.choice([("disk", "In"), (ZONE, "In"), (RACK, "In"), (HOST, "NotIn"), ("disk", "Exists"),
                                           ("absent", "DoesNotExist"), ("absent", "NotIn"), ("generation", "Gt")])
            if operator == "Gt":
                return {"key": key, "operator": operator, "values": ["0"]}
            most = {"disk": ["ssd", "hdd"], ZONE: ["z0", "z1", "z2"], RACK: ["r0", "r1", "r2"], HOST: ["n1"], "absent": ["a"]}[key]
            return {"key": key, "operator": operator, **({"values": most} if operator in ("In", "NotIn") else {})}
        if operator in ("Gt", "Lt"):
            return {"key": "generation", "operator": operator, "values": [str(self.r.randint(0, 4))]}
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": self.r.sample(values, self.r.randint(1, min(2, len(values))))}

    def pod_selector(self):
        choice = self.r.random()
        if choice < 0.05:
            return None
        if choice < 0.12:
            return {}
        out = {}
        if choice < 0.75:
            out["matchLabels"] = {"app": self.r.choice("abc")}
        if choice > 0.6:
            operator = self.r.choice(["In", "NotIn", "Exists", "DoesNotExist"])
            rule = {"key": self.r.choice(["app", "tier", "gone"]), "operator": operator}
            if operator in ("In", "NotIn"):
                rule["values"] = self.r.sample(["a", "b", "x", "y"], self.r.randint(1, 2))
            out["matchExpressions"] = [rule]
        return out

    @staticmethod
    def may_match_tier(selector, labels):
        """Whether the label may be among the keys to match: the pod has it, and the selector does not name it."""
        if selector is None or "tier" not in labels:
            return False
        return all(rule["key"] != "tier" for rule in selector.get("matchExpressions", []))

    def affinity_term(self, labels):
        selector = self.pod_selector()
        term = {"topologyKey": self.r.choice(KEYS)}
        if selector is not None:
            term["labelSelector"] = selector
        choice = self.r.random()
        if choice < 0.2:
            term["namespaces"] = self.r.sample(SPACES, self.r.randint(1, 2))
        elif choice < 0.3:
            term["namespaceSelector"] = {}
        elif choice < 0.4:
            term["namespaceSelector"] = {"matchLabels": {"team": self.r.choice("ab")}}
        if self.may_match_tier(selector, labels) and self.some(0.15):
            term[self.r.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["tier"]
        return term

    def spread(self, labels):
        selector = self.pod_selector()
        out = {"maxSkew": self.r.choice([1, 1, 2]), "topologyKey": self.r.choice(KEYS),
               "whenUnsatisfiable": self.r.choice(["DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"])}
        if selector is not None:
            out["labelSelector"] = selector
        if out["whenUnsatisfiable"] == "DoNotSchedule" and self.some(0.25):
            out["minDomains"] = self.r.randint(1, 4)
        if self.some(0.25):
            out["nodeAffinityPolicy"] = self.r.choice(["Honor", "Ignore"])
        if self.some(0.25):
            out["nodeTaintsPolicy"] = self.r.choice(["Honor", "Ignore"])
        if self.may_match_tier(selector, labels) and self.some(0.15):
            out["matchLabelKeys"] = ["tier"]
        return out

    # ---- Pods

    def containers(self, spec):
        def resources():
            amounts = {}
            if self.some(0.7):
                amounts["cpu"] = self.r.choice(["100m", "500m", "1", "1500m", "2"])
            if self.some(0.6):
                amounts["memory"] = self.r.choice(["128Mi", "512Mi", "1Gi", "2Gi"])
            if self.some(0.1):
                amounts["ephemeral-storage"] = self.r.choice(["1Gi", "3Gi"])
            limits = {}
            for name, chance, most in (("nvidia.com/gpu", 0.15, 4), ("example.com/card", 0.03, 2)):
                if self.some(chance):
                    limits[name] = amounts[name] = str(self.r.randint(1, most))
            if self.some(0.04) and ("cpu" in amounts or "memory" in amounts):
                limits["hugepages-2Mi"] = amounts["hugepages-2Mi"] = self.r.choice(["2Mi", "4Mi", "8Mi"])
            out = {}
            if self.some(0.1):  # limits alone become requests
                return {"limits": {**amounts}} if amounts else {}
            if amounts:
                out["requests"] = amounts
            if limits:
                out["limits"] = limits
            return out

        spec["containers"] = [{"name": f"m{i}", "image": "x", "resources": resources()} for i in range(self.r.choice([1, 1, 2]))]
        if self.some(0.25):
            spec["initContainers"] = []
            for i in range(self.r.randint(1, 3)):
                one = {"name": f"i{i}", "image": "x", "resources": resources()}
                if self.some(0.5):
                    one["restartPolicy"] = "Always"
                spec["initContainers"].append(one)
        if self.some(0.08):
            spec["runtimeClassName"], spec["overhead"] = "sandbox", dict(OVERHEAD)
        if self.some(0.07):
            spec["resources"] = {"requests": {"cpu": "4", "memory": "4Gi"}}

    def ports(self, spec):
        spec["containers"][0]["ports"] = [
            {"containerPort": 80 + i, "hostPort": self.r.choice([8080, 8081]), "protocol": self.r.choice(["TCP", "TCP", "UDP"]),
             **({"hostIP": self.r.choice(["127.0.0.1", "10.0.0.1", "0.0.0.0"])} if self.some(0.4) else {})}
            for i in range(self.r.choice([1, 1, 2]))]
        seen = set()
        spec["containers"][0]["ports"] = [p for p in spec["containers"][0]["ports"]
                                          if (k := (p["hostPort"], p["protocol"], p.get("hostIP"))) not in seen and not seen.add(k)]

    def free_ports_alone(self, spec):
        """A kubelet runs no pod whose port another one of its node has. Where two had it, kube-scheduler would take it for free as one of them ends."""
        there = self.used_ports.setdefault(spec["nodeName"], [])

        def is_free(port):
            return not any(port["hostPort"] == p["hostPort"] and port["protocol"] == p["protocol"] and
                           (port.get("hostIP") == p.get("hostIP") or not {port.get("hostIP", "0.0.0.0"), p.get("hostIP", "0.0.0.0")}.isdisjoint({"0.0.0.0"}))
                           for p in there)

        container = spec["containers"][0]
        if "ports" in container:
            container["ports"] = [p for p in container["ports"] if is_free(p)]
            there += container["ports"]

    def node_affinity(self, affinity):
        terms = []
        for _ in range(self.r.choice([1, 1, 2])):
            term = {"matchExpressions": [self.requirement() for _ in range(self.r.choice([1, 1, 2]))]}
            if self.some(0.15):
                term["matchFields"] = [{"key": "metadata.name", "operator": self.r.choice(["In", "NotIn"]),
                                        "values": [f"n{self.r.randint(0, 4)}"]}]
            terms.append(term)
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    def tolerations(self, spec):
        spec["tolerations"] = []
        for _ in range(self.r.randint(1, 3)):
            out = {"operator": self.r.choice(["Exists", "Equal"])}
            if out["operator"] == "Equal" or self.some(0.85):
                out["key"] = self.r.choice(TAINT_KEYS + ["node.kubernetes.io/unschedulable"])
            if out["operator"] == "Equal":
                out["value"] = self.r.choice(["", "a", "b"])
            if self.some(0.5):
                out["effect"] = self.r.choice(["NoSchedule", "NoExecute"])
            spec["tolerations"].append(out)

    def pod(self, name, node=None):
        space = self.r.choice(SPACES)
        labels = {"app": self.r.choice("abc")} if self.some(0.9) else {}
        if self.some(0.6):
            labels["tier"] = self.r.choice("xy")
        spec, affinity = {}, {}
        self.containers(spec)
        required = "requiredDuringSchedulingIgnoredDuringExecution"

        def pod_affinity():
            terms = [self.affinity_term(labels) for _ in range(self.r.choice([1, 1, 2]))]
            if self.some(self.open):  # near its own kind: the first of them may go anywhere
                terms = [{"topologyKey": self.r.choice(KEYS), "labelSelector": {"matchLabels": dict(labels)}}]
            affinity["podAffinity"] = {required: terms}

        def anti_affinity():
            affinity["podAntiAffinity"] = {required: [self.affinity_term(labels) for _ in range(self.r.choice([1, 1, 2]))]}

        def spreads():
            found = {}
            for _ in range(self.r.choice([1, 1, 2])):
                one = self.spread(labels)
                found.setdefault((one["topologyKey"], one["whenUnsatisfiable"]), one)
            spec["topologySpreadConstraints"] = list(found.values())

        def selector():
            if self.some(self.open):
                spec["nodeSelector"] = {ZONE: self.r.choice(self.zones)}
                return
            spec["nodeSelector"] = dict([self.r.choice([("disk", "ssd"), ("disk", "hdd"), (ZONE, "z0"), (RACK, "r0"), ("generation", "2")])])

        def claim():
            mine = [c for c in self.claims if c[0] == space and (node is None or c not in self.taken)]
            if mine:
                chosen = self.r.sample(mine, min(len(mine), self.r.choice([1, 1, 2])))
                spec["volumes"] = [{"name": f"d{i}", "persistentVolumeClaim": {"claimName": name}} for i, (_, name) in enumerate(chosen)]
                if node is not None:
                    self.taken |= set(chosen) & self.alone

        if self.preempts:
            priority = self.r.choice([0, 0, 10, 100])
            if priority:
                spec["priorityClassName"], spec["priority"] = f"p{priority}", priority
                if priority == 100 and self.some(0.15):
                    spec["priorityClassName"], spec["preemptionPolicy"] = "p100-never", "Never"
        families = [pod_affinity, anti_affinity, anti_affinity, spreads, spreads, selector, lambda: self.node_affinity(affinity),
                    lambda: self.ports(spec), lambda: self.tolerations(spec), claim]
        if node is None and self.some(0.02):
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        count = self.r.choice([3, 3, 3, 4, 4, 5]) if node is None else self.r.randint(0, 3)
        if self.plain and node is None:
            count = self.v.choice([0, 0, 1])
        for family in self.r.sample(families, count):
            family()
        if affinity:
            spec["affinity"] = affinity
        status = {"phase": "Pending"}
        if node is not None:
            spec["nodeName"] = node["metadata"]["name"]
            self.free_ports_alone(spec)
            status = {"phase": "Running"}
        pod = self.add("Pod", name, space, labels=labels, spec=spec, status=status)
        if node is None:
            self.mount_free(pod)

    def make(self):
        self.add("Namespace", "default", labels={"kubernetes.io/metadata.name": "default"})
        self.add("Namespace", "team-a", labels={"team": "a", "kubernetes.io/metadata.name": "team-a"})
        self.add("Namespace", "team-b", labels={"team": "b", "kubernetes.io/metadata.name": "team-b"})
        self.add("RuntimeClass", "sandbox", version="node.k8s.io/v1", handler="sandbox", overhead={"podFixed": dict(OVERHEAD)})
        self.preempts = self.some(0.5)
        if self.preempts:
            for value in (10, 100):
                self.add("PriorityClass", f"p{value}", version="scheduling.k8s.io/v1", value=value)
            self.add("PriorityClass", "p100-never", version="scheduling.k8s.io/v1", value=100, preemptionPolicy="Never")
        self.make_nodes()
        self.make_volumes()
        self.make_free_volumes()
        for i in range(self.r.randint(0, 2 * len(self.nodes))):
            self.pod(f"b{i}", self.r.choice(self.nodes))
        for i in range(self.r.randint(1, 8)):
            self.pod(f"p{i}")
        gangs.make(self)
        return self.objects


def state(seed, version):
    return versions.add(Maker(seed).make(), seed, version)
