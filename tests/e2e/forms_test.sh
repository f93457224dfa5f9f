#!/usr/bin/env bash
# Random pods and nodes in the API server's two forms (scripts/api-forms). forms_test.sh ROOT PROGRAM PROGRAM; 77: no control plane was built, and with
# it nothing that the forms are made by.
set -euo pipefail
readonly kRoot=$1
if [[ ! -x $("$kRoot/scripts/control-plane" path kube-apiserver) ]]; then
  echo "no control plane: scripts/control-plane build"
  [[ ${BERTH_E2E:-} != required ]] || exit 1
  exit 77
fi
exec "$kRoot/scripts/api-forms" check --objects "${BERTH_FORMS_OBJECTS:-1000}" --seed "${BERTH_FORMS_SEED:-1}" --test "$2" --test "$3"
