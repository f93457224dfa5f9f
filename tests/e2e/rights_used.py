#!/usr/bin/env python3
"""Which rights of the shipped roles Berth has used, by what API servers wrote down of real requests.

usage: rights_used.py FOLDER

FOLDER has the audit logs of tests that ran with BERTH_E2E_AUDIT=FOLDER. Prints each right with how often it was used. Exit: 0 each is
used, or there is a reason below why no test can, and nothing else was; 1 otherwise; 2 wrong usage.
"""
import collections
import glob
import json
import os
import sys

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANIFESTS = ("deploy/berth.yaml", "deploy/visibility.yaml")
SCHEDULER = "berth"  # its user agent; that of its commands is berth-cli
# A list of what is watched too.
STREAMED = ("the API server streams what is there into the watch (sendInitialEvents); listed is where it refuses to, stays silent, or sends an "
            "object that is too long (kube/reflector.h)")
UNSEEN = "only for an owner that no watch has shown (Core::ask_for_missing_owners)"
LOST = UNSEEN + ", or after a lost answer to its release"
# A right -> why the tests may pass without a use.
NOT_HERE = {
    "patch jobs/status.batch": "only before Kubernetes 1.35",
    "create endpointslices.discovery.k8s.io": "asked of the patch that makes the object (server-side apply)",
    **{f"get {name}": UNSEEN for name in ("deployments.apps", "replicasets.apps", "statefulsets.apps")},
    **{f"get {name}": LOST for name in ("jobs.batch", "jobsets.jobset.x-k8s.io")},
}
# Rights that are no part of these roles -> where they come from.
ELSEWHERE = {
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews"): "everybody has it (system:basic-user)",
    ("create", "authorization.k8s.io", "subjectaccessreviews"): "the dashboard's: system:auth-delegator (docs/dashboard.md)",
    ("create", "authentication.k8s.io", "tokenreviews"): "the same",
    **{(verb, "", "configmaps"): "extension-apiserver-authentication alone: a Role of the cluster's (deploy/visibility.yaml)"
       for verb in ("get", "list", "watch")},
    **{(verb, "flow.example.com", "flowruns"): "a kind that a test declares" for verb in ("get", "list", "watch", "patch")},
}


def granted(manifests):
    """(verb, group, resource) of every rule for Berth's own service account, with the objects' names that it is for."""
    out = {}
    for path in manifests:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            for o in yaml.safe_load_all(f):
                # The ClusterRoles of visibility.yaml are for people.
                if o and (o["kind"] == "Role" or (o["kind"], o["metadata"]["name"]) == ("ClusterRole", "berth")):
                    for rule in o["rules"]:
                        for group in rule["apiGroups"]:
                            for resource in rule["resources"]:
                                for verb in rule["verbs"]:
                                    out[(verb, group, resource)] = rule.get("resourceNames", [])
    return out


def used(folder):
    """(verb, group, resource) -> how many requests the API server took."""
    out = collections.Counter()
    for path in sorted(glob.glob(os.path.join(folder, "*.log"))):
        with open(path, encoding="utf-8") as f:
            for line in f:
                try:
                    event = json.loads(line)
                except ValueError:  # the end of a log of a killed server
                    continue
                about, code = event.get("objectRef", {}), event.get("responseStatus", {}).get("code", 0)
                # A watch is written down when it begins and again when it ends.
                if event.get("userAgent") != SCHEDULER or "resource" not in about or code in (0, 401, 403) or (
                        event["verb"] == "watch" and event["stage"] != "ResponseStarted"):
                    continue
                resource = about["resource"] + ("/" + about["subresource"] if "subresource" in about else "")
                out[(event["verb"], about.get("apiGroup", ""), resource)] += 1
    return out


def words(verb, group, resource):
    return f"{verb} {resource}{'.' if group else ''}{group}"


def alike():
    """(verb, group, resource) -> others for which the same code asks: kinds that are declared differ in their paths only, and an owner is
    got by its kind's path, whatever kind it is. A lost answer is only of a kind that is released."""
    with open(os.path.join(ROOT, "deploy/chart/berth/files/kinds.yaml"), encoding="utf-8") as f:
        declared = [(kind["group"], kind["resource"], "suspend" in kind) for kind in yaml.safe_load(f)]
    owners = [("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), *(("apps", name) for name in ("deployments", "replicasets", "statefulsets")),
              *((group, resource) for group, resource, _ in declared)]
    out = {("get", *owner): [("get", *other) for other in owners] for owner in owners}
    for verb in ("watch", "patch"):
        kinds = [(verb, group, resource) for group, resource, suspends in declared if suspends or verb == "watch"]
        out.update({kind: kinds for kind in kinds})
    return out


def judge(rights, count):
    """(lines of the table, what is wrong)."""
    lines, wrong, same = [], [], alike()
    for verb, group, resource in sorted(rights, key=lambda one: (one[1], one[2], one[0])):
        name = words(verb, group, resource)
        number = count[(verb, group, resource)]
        others = {other: count[other] for other in same.get((verb, group, resource), ()) if count[other]}
        streamed = verb == "list" and ("watch", group, resource) in rights
        reason = "" if number else STREAMED if streamed else NOT_HERE.get(name, "")
        if not number and others:
            reason = "the same code: " + ", ".join(f"{times} of {other[2]}" for other, times in sorted(others.items()))
        if not number and not reason and (verb, group, resource) in same and verb == "get":
            reason = LOST if ("patch", group, resource) in rights else UNSEEN
        lines.append(f"{number:8} {name}{'  (' + reason + ')' if reason else ''}")
        if not number and not reason:
            wrong.append(f"{name} is granted, and nothing used it")
    for verb, group, resource in sorted(count):
        if (verb, group, resource) not in rights and (verb, group, resource) not in ELSEWHERE:
            wrong.append(f"{words(verb, group, resource)} was used, and is not granted")
    return lines, wrong


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    rights, count = granted(MANIFESTS), used(sys.argv[1])
    lines, wrong = judge(rights, count)
    print("\n".join(lines))
    for line in wrong:
        print(f"rights_used: {line}", file=sys.stderr)
    print(f"{len(rights)} rights, {sum(1 for one in rights if count[one])} of them used by {sum(count.values())} requests; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
