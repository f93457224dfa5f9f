#!/usr/bin/env bash
# Berth's binds in 5,000 random states, judged by Kubernetes' own plugins (scripts/kube-oracle). oracle_test.sh ROOT; 77: no control
# plane was built, and with it nothing that the oracle is made of. BERTH_ORACLE_KUBERNETES asks another version; 77: it is not built.
set -euo pipefail
readonly kRoot=$1
version=${BERTH_ORACLE_KUBERNETES:-}

skip() {
  echo "$1"
  [[ ${BERTH_E2E:-} != required ]] || exit 1
  exit 77
}

if [[ -n $version ]]; then
  [[ -x $("$kRoot/scripts/kube-oracle" path "$version") ]] ||
    skip "the oracle of Kubernetes $version is not built: scripts/kube-oracle build $version"
elif [[ ! -x $("$kRoot/scripts/control-plane" path kube-scheduler) ]]; then
  skip "no control plane: scripts/control-plane build"
fi
exec "$kRoot/scripts/kube-oracle" check ${version:+--kubernetes "$version"} --states "${BERTH_ORACLE_STATES:-5000}" \
  --seed "${BERTH_ORACLE_SEED:-1}"
