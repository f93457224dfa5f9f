"""The one kind of disagreement about single pods that is known: a pod waits, and a node at its limit of CSI volumes has a volume of it already.

Kubernetes counts that volume as nothing new. So does Berth if a pod there has it by the same claim. It counts one more if the node has it by
another claim. A node above its limit takes no pod with volumes (docs/constraints.md, limits of volumes).
"""


def is_known(objects, steps, pod, node):
    """Whether the node has no place for the pod's volumes as Berth counts them, and one as Kubernetes does."""
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

    def claims_of(name):
        """Its claims with a volume of CSI, and that volume."""
        space = pods[name]["metadata"].get("namespace")
        names = [v["persistentVolumeClaim"]["claimName"] for v in pods[name]["spec"].get("volumes", []) if "persistentVolumeClaim" in v]
        return {(space, claim): claims[space, claim] for claim in names if claims.get((space, claim))}

    by_claim = {}
    for name, on in where.items():
        if on == node:
            by_claim.update(claims_of(name))
    mounted = set(by_claim.values())
    there = mounted | {handles.get(o["spec"]["source"].get("persistentVolumeName")) for o in objects
              if o["kind"] == "VolumeAttachment" and o["spec"]["nodeName"] == node} - {None}
    for driver, most in limits.items():
        mine = {claim: volume for claim, volume in claims_of(pod).items() if volume[0] == driver}
        used = sum(volume[0] == driver for volume in there)
        as_new = {volume for claim, volume in mine.items() if claim not in by_claim}
        if mine and (used > most or used + len(as_new) > most):
            return bool(set(mine.values()) & mounted) or used > most
    return False
