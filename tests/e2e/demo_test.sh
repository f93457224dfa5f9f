#!/usr/bin/env bash
# scripts/demo from its start to its end: the dashboard answers while work runs, Jobs finish, and nothing is left behind.
# usage: demo_test.sh ROOT   exit 77: the control plane is not built
set -euo pipefail
root=$1
if ! "$root/scripts/control-plane" path kube-apiserver >/dev/null 2>&1 || [[ ! -x $("$root/scripts/control-plane" path kube-apiserver) ]]; then
  [[ ${BERTH_E2E:-} == required ]] && exit 1
  echo "no control plane: scripts/control-plane build"
  exit 77
fi
folder=$(mktemp -d)
trap 'kill "$demo" 2>/dev/null || true; rm -rf "$folder"' EXIT
port=$((29000 + RANDOM % 900))
"$root/scripts/demo" --no-build --no-packages --nodes 24 --seconds 50 --port "$port" --folder "$folder/cluster" >"$folder/log" 2>&1 &
demo=$!
ask() { curl -sf "http://127.0.0.1:$port$1"; }
check() {  # WORDS COMMAND...: within a minute the output has the words
  local words=$1 i
  shift
  for ((i = 0; i < 120; ++i)); do
    if "$@" 2>/dev/null | grep -q "$words"; then return 0; fi
    kill -0 "$demo" 2>/dev/null || break
    sleep 0.5
  done
  echo "no '$words' in: $*"
  cat "$folder/log"
  return 1
}
check '<html' ask /
check '"nodes":24' ask /api/v1/summary
check '"running":[1-9][0-9]' ask /api/v1/summary
check '"name":"research"' ask /api/v1/queues
wait "$demo"
cat "$folder/log"
grep -q '[1-9][0-9]* Jobs have finished' "$folder/log"
[[ ! -e $folder/cluster ]] || { echo "the demo leaves its folder"; exit 1; }
if pgrep -f "$folder/cluster" >/dev/null; then
  echo "programs of the demo run on"
  exit 1
fi
