"""Gangs in the random states (states.py): members that exclude or attract each other, are spread, and share or exclude volumes and ports.

Two states of five have some. They draw their numbers apart from all else.
"""
import random

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
GANG, SIZE = "berth.dev/gang", "berth.dev/gang-size"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def members(objects):
    """The members of each gang, as namespace/name, by the name that Berth gives to the gang."""
    out = {}
    for one in objects:
        meta = one["metadata"]
        if one["kind"] != "Pod" or GANG not in meta.get("labels", {}):
            continue
        out.setdefault(f"{meta['namespace']}/{meta['labels'][GANG]}", []).append(f"{meta['namespace']}/{meta['name']}")
    return out


class Gang:
    def __init__(self, maker, name, random_of):
        self.maker, self.name, self.r = maker, name, random_of
        self.space = self.r.choice(["default", "team-a", "team-b"])
        self.size = self.r.randint(2, 5)
        self.priority = self.r.choice([0, 0, 10]) if maker.preempts else 0
        self.parts = self.r.choice([["x"], ["x"], ["x", "y"]])  # members of one part are alike, volumes aside
        self.whole = self.r.random() < 0.5  # relations are to the whole gang, or to one part of it

    def near_or_apart(self, part):
        """A selector of members, seen from one of this part."""
        if self.whole or self.r.random() < 0.3:
            return {"matchLabels": {GANG: self.name}}
        return {"matchLabels": {GANG: self.name, "part": self.r.choice(self.parts + [part])}}

    def spec_of(self, part):
        r, affinity = self.r, {}
        amounts = {"cpu": r.choice(["100m", "500m", "1", "2"]), "memory": r.choice(["128Mi", "512Mi", "1Gi"])}
        if r.random() < 0.3:
            amounts["nvidia.com/gpu"] = str(r.randint(1, 3))
        limits = {"limits": {"nvidia.com/gpu": amounts["nvidia.com/gpu"]}} if "nvidia.com/gpu" in amounts else {}
        spec = {"containers": [{"name": "m", "image": "x", "resources": {"requests": amounts, **limits}}]}

        def apart():
            affinity["podAntiAffinity"] = {REQUIRED: [{"topologyKey": r.choice([HOST, HOST, ZONE, RACK]),
                                                       "labelSelector": self.near_or_apart(part)}]}

        def near():
            affinity["podAffinity"] = {REQUIRED: [{"topologyKey": r.choice([HOST, ZONE, ZONE, RACK]),
                                                   "labelSelector": self.near_or_apart(part)}]}

        def spread():
            spec["topologySpreadConstraints"] = []
            for key in r.sample([HOST, ZONE, RACK], r.choice([1, 1, 2])):
                one = {"maxSkew": r.choice([1, 1, 2]), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
                       "labelSelector": self.near_or_apart(part)}
                if r.random() < 0.2:
                    one["minDomains"] = r.randint(1, 3)
                spec["topologySpreadConstraints"].append(one)

        def port():
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": r.choice([8080, 9090])}]

        def others():
            affinity.setdefault("podAntiAffinity", {}).setdefault(REQUIRED, []).append(
                {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": r.choice("abc")}}})

        def shared():
            mine = [claim for space, claim in self.maker.claims if space == self.space]
            if mine:
                spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": r.choice(mine)}}]

        def where():
            spec["nodeSelector"] = {"disk": r.choice(["ssd", "hdd"])}

        for family in r.sample([apart, near, spread, spread, port, others, shared, where], r.randint(1, 3)):
            family()
        if affinity:
            spec["affinity"] = affinity
        spec["tolerations"] = [{"operator": "Exists"}] if r.random() < 0.7 else []
        if self.priority:
            spec["priorityClassName"], spec["priority"] = f"p{self.priority}", self.priority
        return spec

    def make(self):
        specs = {part: self.spec_of(part) for part in self.parts}
        disks = self.maker.has_disks and self.r.random() < 0.25
        for i in range(self.size):
            part = self.parts[i % len(self.parts)]
            name = f"{self.name}-{i}"
            spec = {**specs[part], "volumes": list(specs[part].get("volumes", []))}
            if disks:
                claim = self.maker.open_claim(f"{name}-disk", self.space, "local", 1)
                spec["volumes"].append({"name": "disk", "persistentVolumeClaim": {"claimName": claim}})
            self.maker.add("Pod", name, self.space, labels={GANG: self.name, SIZE: str(self.size), "part": part, "app": "g"}, spec=spec,
                           status={"phase": "Pending"})


def make(maker):
    random_of = random.Random(f"gangs {maker.seed}")
    if random_of.random() < 0.4:
        for i in range(random_of.choice([1, 1, 2])):
            Gang(maker, f"g{i}", random_of).make()
