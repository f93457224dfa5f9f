"""The one kind of disagreement about single pods that is known: a pod waits, and a node at its limit of CSI volumes has a volume of it already.

Kubernetes counts that volume as nothing new, Berth as one more until the pod is bound (docs/constraints.md, limits of volumes).
"""


def is_known(objects, steps, pod, node):
    """Whether the pod has a volume in common with the node, and its volumes and the node's together are above the limit."""
    handles = {o["metadata"]["name"]: (o["spec"]["csi"]["driver"], o["spec"]["csi"].get("volumeHandle"))
               for o in objects if o["kind"] == "PersistentVolume" and "csi" in o["spec"]}
    claims = {(o["metadata"].get("namespace"), o["metadata"]["name"]): handles.get(o["spec"].get("volumeName"))
              for o in objects if o["kind"] == "PersistentVolumeClaim"}
    pods = {f"{o['metadata'].get('namespace')}/{o['metadata']['name']}": o for o in objects if o["kind"] == "Pod"}
    where = {name: one["spec"].get("nodeName") for name, one in pods.items()}
    for step in steps:
        if "bind" in step:
            where[step["bind"]] = step["node"]
        else:
            where.pop(step["end"], None)
    limits = {}
    for one in objects:
        if one["kind"] == "CSINode" and one["metadata"]["name"] == node:
            limits = {d["name"]: d["allocatable"]["count"] for d in one["spec"]["drivers"] if "allocatable" in d}

    def volumes_of(name):
        one = pods[name]
        names = [v["persistentVolumeClaim"]["claimName"] for v in one["spec"].get("volumes", []) if "persistentVolumeClaim" in v]
        return {claims.get((one["metadata"].get("namespace"), name)) for name in names} - {None}

    there = set().union(*(volumes_of(name) for name, on in where.items() if on == node))
    there |= {handles.get(o["spec"]["source"].get("persistentVolumeName")) for o in objects
              if o["kind"] == "VolumeAttachment" and o["spec"]["nodeName"] == node} - {None}
    for driver, most in limits.items():
        mine = {v for v in volumes_of(pod) if v[0] == driver}
        if mine & there and len(mine) + sum(v[0] == driver for v in there) > most:
            return True
    return False
