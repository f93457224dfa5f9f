"""What states have beside the rest: pods that are being resized, and what only some versions of Kubernetes have.

Each draws numbers of its own, so that a seed makes the same state for all versions but for these.
"""
import random

OPERATORS_SINCE = (1, 35)  # Lt and Gt in tolerations: the oracle has their alpha gate on
AMOUNTS = {"cpu": ["100m", "500m", "1", "2"], "memory": ["128Mi", "512Mi", "1Gi"]}


def number(version):
    """(1, 36) of "1.36.3"."""
    return tuple(int(part) for part in version.split(".")[:2])


def add(objects, seed, version):
    resize(objects, random.Random(f"resizes {seed}"))
    if number(version) >= OPERATORS_SINCE:
        compare(objects, random.Random(f"operators {seed}"))
    return objects


def resize(objects, r):
    """In one state of four, running pods whose kubelet has not given yet what they ask for, or says that it never will."""
    if r.random() > 0.25:
        return
    for pod in objects:
        if pod["kind"] != "Pod" or not pod["spec"].get("nodeName") or "resources" in pod["spec"] or r.random() > 0.4:
            continue
        statuses = []
        for container in pod["spec"]["containers"]:
            asked = container["resources"].get("requests", {})
            amounts = [name for name in AMOUNTS if name in asked]
            there = {**asked, **{name: r.choice(AMOUNTS[name]) for name in amounts if r.random() < 0.7}}
            given = there if r.random() < 0.6 else {**there, **{name: r.choice(AMOUNTS[name]) for name in amounts}}
            statuses.append({"name": container["name"], "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "allocatedResources": given,
                             "resources": {"requests": there}})
        pod["status"]["containerStatuses"] = statuses
        if r.random() < 0.3:
            pod["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": r.choice(["Infeasible", "Deferred"])}]


def compare(objects, r):
    """In one state of five, taints with numbers, and tolerations of larger or smaller ones."""
    if r.random() > 0.2:
        return
    for node in objects:
        if node["kind"] == "Node" and r.random() < 0.6:
            taints = [t for t in node["spec"].get("taints", []) if t["key"] != "spot"]
            node["spec"]["taints"] = taints + [{"key": "spot", "value": r.choice(["-3", "0", "7", "20", "a"]),
                                                "effect": r.choice(["NoSchedule", "NoSchedule", "NoExecute"])}]
    for pod in objects:
        if pod["kind"] == "Pod" and not pod["spec"].get("nodeName") and r.random() < 0.6:
            pod["spec"].setdefault("tolerations", []).append(
                {"key": "spot", "operator": r.choice(["Lt", "Gt"]), "value": r.choice(["-3", "0", "7", "12"]),
                 **({"effect": "NoSchedule"} if r.random() < 0.3 else {})})
