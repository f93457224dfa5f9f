#!/usr/bin/env bash
# Berth's binds in 5,000 random states, judged by Kubernetes' own plugins (scripts/kube-oracle). oracle_test.sh ROOT; 77: no control
# plane was built, and with it nothing that the oracle is made of.
set -euo pipefail
readonly kRoot=$1
if [[ ! -x $("$kRoot/scripts/control-plane" path kube-scheduler) ]]; then
  echo "no control plane: scripts/control-plane build"
  [[ ${BERTH_E2E:-} != required ]] || exit 1
  exit 77
fi
exec "$kRoot/scripts/kube-oracle" check --states "${BERTH_ORACLE_STATES:-5000}" --seed "${BERTH_ORACLE_SEED:-1}"
