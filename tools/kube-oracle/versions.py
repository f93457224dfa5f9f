"""What states have beside the rest: pods that are being resized, and what only some versions of Kubernetes have.

Each draws numbers of its own, so that a seed makes the same state for all versions but for these.
"""
import copy
import random

OPERATORS_SINCE = (1, 35)  # Lt and Gt in tolerations: the oracle has their alpha gate on
FEATURES_SINCE = (1, 36)  # declared by nodes
MISSING_SINCE = (1, 37)  # preventPodSchedulingIfMissing of a CSIDriver
AMOUNTS = {"cpu": ["100m", "500m", "1", "2"], "memory": ["128Mi", "512Mi", "1Gi"]}


def number(version):
    """(1, 36) of "1.36.3"."""
    return tuple(int(part) for part in version.split(".")[:2])


def add(objects, seed, version):
    resize(objects, random.Random(f"resizes {seed}"))
    if number(version) >= OPERATORS_SINCE:
        compare(objects, random.Random(f"operators {seed}"))
    if number(version) >= FEATURES_SINCE:
        declare(objects, random.Random(f"features {seed}"))
    if number(version) >= MISSING_SINCE:
        guard(objects, random.Random(f"drivers {seed}"))
    return objects


def declare(objects, r):
    """In one state of five, containers that end with all others of their pod, and nodes that can do that."""
    if r.random() > 0.2:
        return
    for one in objects:
        if one["kind"] == "Node" and r.random() < 0.6:
            one["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
        if one["kind"] == "Pod" and not one["spec"].get("nodeName") and r.random() < 0.3:
            one["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[
                {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}])


def guard(objects, r):
    """In one state of four with a driver, pods with its volumes go only to nodes that list it."""
    names = sorted({o["spec"]["csi"]["driver"] for o in objects if o["kind"] == "PersistentVolume" and "csi" in o["spec"]})
    if r.random() < 0.25:
        objects += [{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
                     "spec": {"preventPodSchedulingIfMissing": r.random() < 0.8}} for name in names]


def asked_by(container):
    """Its requests, as the API server completes them."""
    resources = container.get("resources", {})
    return {**resources.get("limits", {}), **resources.get("requests", {})}


def given_to(container, r):
    """The status of a container: what it has, and what the kubelet has allocated to it."""
    asked = asked_by(container)
    amounts = [name for name in AMOUNTS if name in asked]
    there = {**asked, **{name: r.choice(AMOUNTS[name]) for name in amounts if r.random() < 0.7}}
    given = there if r.random() < 0.6 else {**there, **{name: r.choice(AMOUNTS[name]) for name in amounts}}
    return {"name": container["name"], "image": "x", "imageID": "x", "ready": True, "restartCount": 0, "allocatedResources": given,
            "resources": {"requests": there}}


def resize(objects, r):
    """In one state of four, running pods whose kubelet has not given yet what they ask for, or says that it never will."""
    if r.random() > 0.25:
        return
    for pod in objects:
        if pod["kind"] != "Pod" or not pod["spec"].get("nodeName") or "resources" in pod["spec"] or r.random() > 0.4:
            continue
        # The kubelet says it of sidecars, too.
        sidecars = [c for c in pod["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"]
        for field, containers in (("containerStatuses", pod["spec"]["containers"]), ("initContainerStatuses", sidecars)):
            if containers:
                pod["status"][field] = [given_to(container, r) for container in containers]
        if r.random() < 0.3:
            pod["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": r.choice(["Infeasible", "Deferred"])}]


def amount(text):
    """A quantity as a number."""
    for suffix, factor in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("m", 0.001)):
        if text.endswith(suffix):
            return float(text[:-len(suffix)]) * factor
    return float(text)


def settled(objects):
    """The same objects, where each resize is done with the largest amounts of each container; None where no pod is being resized.

    Kubernetes up to 1.36 counts a pod so while it is being resized, and Berth does for all versions. 1.37 takes the largest of three sums, and
    counts nothing for a container without a status if the resize is infeasible.
    """
    out, any_pod = copy.deepcopy(objects), False
    for pod in out:
        if pod["kind"] != "Pod":
            continue
        infeasible = any(c["type"] == "PodResizePending" and c.get("status") == "True" and c["reason"] == "Infeasible"
                         for c in pod.get("status", {}).get("conditions", []))
        if "containerStatuses" not in pod.get("status", {}) and "initContainerStatuses" not in pod.get("status", {}):
            continue
        any_pod = True
        for statuses, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
            known = {s["name"]: s for s in pod["status"].get(statuses, []) if "resources" in s}
            pod["status"][statuses] = []
            for container in pod["spec"].get(containers, []):
                status = known.get(container["name"])
                asked = asked_by(container)
                all_of = [asked] if status is None else [status["resources"].get("requests", {}), status.get("allocatedResources", {})]
                if not infeasible:
                    all_of.append(asked)
                most = {name: max((a[name] for a in all_of if name in a), key=amount) for a in all_of for name in a}
                container.setdefault("resources", {})["requests"] = most
                pod["status"][statuses].append({"name": container["name"], "image": "x", "imageID": "x", "ready": True, "restartCount": 0,
                                                "allocatedResources": most, "resources": {"requests": most}})
    return out if any_pod else None


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
