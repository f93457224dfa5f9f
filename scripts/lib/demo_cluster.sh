# The cluster of scripts/demo. To be sourced after say.sh; needs $kRoot, $kBerth and $kFolder, a folder for data, keys and logs.
#
#   start_cluster NODES     etcd, API server, controller manager, KWOK, and so many nodes
#   apply_berth_objects     kinds and rights
#   apply_teams NODES       topology, priorities, and teams whose amounts suit so many nodes
#   start_berth PORT        the scheduler, with the rights that deploy/berth.yaml gives it, and its dashboard
#   stay SECONDS            until the API server ends, or so many seconds are over (0: until Ctrl-C)
#   stop_cluster            ends all of it
#   kube ARGS...            kubectl as an administrator
#   program_of NAME         where a program of the control plane is
#   write_env               the file `env` for a shell: kubectl and berth in PATH, KUBECONFIG of the administrator

demo_pids=()

program_of() { "$kRoot/scripts/control-plane" path "$1"; }
kube() { "$kKubectl" --kubeconfig "$kFolder/admin.kubeconfig" --cache-dir "$kFolder/kubectl-cache" "$@"; }

# Ports that nothing listens on now. Loopback alone is used.
free_ports() {
  local wanted=$1 port=$((20000 + RANDOM % 9000)) found=()
  while ((${#found[@]} < wanted)); do
    ((++port))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
  done
  echo "${found[@]}"
}

# run NAME PROGRAM ARGS...: in the background, with its output in NAME.log.
run() {
  local name=$1
  shift
  "$@" >"$kFolder/$name.log" 2>&1 &
  demo_pids+=($!)
  last_name=$name
}

# Waits until "$@" succeeds, and says why not where the process that was run last ends.
wait_for() {
  local i
  for ((i = 0; i < 300; ++i)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    kill -0 "${demo_pids[-1]}" 2>/dev/null || {
      tail -n 5 "$kFolder/$last_name.log" >&2
      die "$last_name has ended; the end of its log is above"
    }
    sleep 0.2
  done
  tail -n 5 "$kFolder/$last_name.log" >&2
  die "$last_name was not ready within a minute; the end of its log is above"
}

# certificate NAME SUBJECT [EXTENSION]: a key, and a certificate of the demo's authority for a day.
certificate() {
  openssl req -newkey rsa:2048 -nodes -keyout "$kFolder/$1.key" -subj "$2" -out "$kFolder/$1.csr" 2>/dev/null
  openssl x509 -req -in "$kFolder/$1.csr" -CA "$kFolder/ca.crt" -CAkey "$kFolder/ca.key" -CAcreateserial -days 1 \
    -extfile <(printf '%s\n' "${3:-extendedKeyUsage=clientAuth}") -out "$kFolder/$1.crt" 2>/dev/null
}

# kubeconfig NAME: for the identity of that certificate.
kubeconfig() {
  cat >"$kFolder/$1.kubeconfig" <<TEXT
apiVersion: v1
kind: Config
current-context: demo
clusters: [{name: demo, cluster: {server: "https://127.0.0.1:$api_port", certificate-authority: $kFolder/ca.crt}}]
users: [{name: demo, user: {client-certificate: $kFolder/$1.crt, client-key: $kFolder/$1.key}}]
contexts: [{name: demo, context: {cluster: demo, user: demo}}]
TEXT
}

make_identities() {
  (umask 077
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=berth-demo-ca -keyout "$kFolder/ca.key" -out "$kFolder/ca.crt" 2>/dev/null
    openssl genrsa -out "$kFolder/accounts.key" 2048 2>/dev/null
    certificate server /CN=kube-apiserver $'extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1'
    certificate admin /O=system:masters/CN=demo-admin
    certificate berth /O=system:serviceaccounts/O=system:serviceaccounts:berth-system/CN=system:serviceaccount:berth-system:berth)
  openssl rsa -in "$kFolder/accounts.key" -pubout -out "$kFolder/accounts.pub" 2>/dev/null
}

start_api() {
  local etcd_port peer_port etcd
  read -r etcd_port peer_port api_port manager_port kwok_port <<<"$(free_ports 5)"
  etcd="http://127.0.0.1:$etcd_port"
  make_identities
  kubeconfig admin
  kubeconfig berth
  run etcd "$(program_of etcd)" --name=demo --data-dir="$kFolder/etcd" --listen-client-urls="$etcd" --advertise-client-urls="$etcd" \
    --listen-peer-urls="http://127.0.0.1:$peer_port" --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" \
    --initial-cluster="demo=http://127.0.0.1:$peer_port" --unsafe-no-fsync=true --log-level=warn
  wait_for curl -sf "$etcd/health"
  # Without the check of the default account at each pod: the demo's pods need none.
  run kube-apiserver "$(program_of kube-apiserver)" --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$api_port" \
    --endpoint-reconciler-type=none --tls-cert-file="$kFolder/server.crt" --tls-private-key-file="$kFolder/server.key" \
    --client-ca-file="$kFolder/ca.crt" --cert-dir="$kFolder/apiserver" --authorization-mode=RBAC --anonymous-auth=false \
    --service-cluster-ip-range=10.0.0.0/24 --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$kFolder/accounts.pub" --service-account-signing-key-file="$kFolder/accounts.key" \
    --disable-admission-plugins=TaintNodesByCondition,ServiceAccount --profiling=false
  wait_for kube get --raw /readyz
  run kube-controller-manager "$(program_of kube-controller-manager)" --kubeconfig="$kFolder/admin.kubeconfig" \
    --authentication-kubeconfig="$kFolder/admin.kubeconfig" --authorization-kubeconfig="$kFolder/admin.kubeconfig" \
    --bind-address=127.0.0.1 --secure-port="$manager_port" --cert-dir="$kFolder/controller-manager" --leader-elect=false \
    --root-ca-file="$kFolder/ca.crt" --service-account-private-key-file="$kFolder/accounts.key" \
    --kube-api-qps=1000 --kube-api-burst=2000 --profiling=false
  wait_for kube get serviceaccount default
  run kwok "$(program_of kwok)" --kubeconfig="$kFolder/admin.kubeconfig" --config="$kRoot/examples/demo/kwok.yaml" \
    --server-address="127.0.0.1:$kwok_port"
  wait_for curl -sf "http://127.0.0.1:$kwok_port/healthz"
}

# Nodes of 8 GPUs, 96 cores and 1 TiB: racks of 8, blocks of 4 racks.
make_nodes() {
  local i
  for ((i = 0; i < $1; ++i)); do
    printf -- '---\napiVersion: v1\nkind: Node\nmetadata:\n  name: gpu-%03d\n  labels: {kubernetes.io/hostname: gpu-%03d, demo.berth.dev/rack: rack-%02d, demo.berth.dev/block: block-%d}\n' \
      "$i" "$i" $((i / 8)) $((i / 32))
    printf 'status:\n  allocatable: &all {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}\n  capacity: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}\n'
  done | sed 's/&all //' | kube create -f - >/dev/null
}

start_cluster() {
  kKubectl=$(program_of kubectl)
  say "A control plane on loopback ($kFolder)"
  start_api
  say "$1 nodes of 8 GPUs"
  make_nodes "$1"
}

write_env() {
  mkdir -p "$kFolder/bin"
  ln -s "$kKubectl" "$kFolder/bin/kubectl"
  ln -s "$kBerth" "$kFolder/bin/berth"
  ln -s "$kBerth" "$kFolder/bin/kubectl-berth"
  printf 'export KUBECONFIG=%q PATH=%q:$PATH\n' "$kFolder/admin.kubeconfig" "$kFolder/bin" >"$kFolder/env"
}

apply_berth_objects() {
  say "Kinds and rights"
  kube apply --server-side -f "$kRoot/deploy/crds" -f "$kRoot/deploy/berth.yaml" -f "$kRoot/deploy/roles.yaml" >/dev/null
  # Berth runs beside the cluster here, with the same rights.
  kube -n berth-system delete deployment berth >/dev/null
}

apply_teams() {
  say "Three teams"
  kube apply --server-side -f "$kRoot/examples/demo/teams.yaml" >/dev/null
  # The amounts there are for 100 nodes.
  local gpus=$(($1 * 8))
  guarantee research "$((gpus * 56 / 100))"
  guarantee product "$((gpus * 32 / 100))" "$((gpus * 64 / 100))"
}

# guarantee QUEUE GPUS [LIMIT]
guarantee() {
  local limit=
  (($# < 3)) || limit=$(printf ', "limit": {"nvidia.com/gpu": %d}' "$3")
  kube patch queues.berth.dev "$1" --type merge -p "{\"spec\": {\"guaranteed\": {\"nvidia.com/gpu\": $2}$limit}}" >/dev/null
}

start_berth() {
  say "Berth"
  run berth "$kBerth" scheduler --kubeconfig "$kFolder/berth.kubeconfig" --lease-namespace berth-system \
    --http-address off --health-address off --metrics-address off --dashboard-address "127.0.0.1:$1" \
    --decision-log "$kFolder/decisions.jsonl"
  wait_for curl -sf "http://127.0.0.1:$1/api/v1/summary"
}

stay() {
  local began=$SECONDS
  while (($1 == 0 || SECONDS - began < $1)) && kill -0 "${demo_pids[1]}" 2>/dev/null; do sleep 0.5; done
}

# Clients first, etcd last. An orderly end of the API server would wait for open watches.
stop_cluster() {
  local i
  for ((i = ${#demo_pids[@]} - 1; i >= 0; --i)); do kill -9 "${demo_pids[i]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
