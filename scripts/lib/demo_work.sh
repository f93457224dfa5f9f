# The stream of work of scripts/demo. To be sourced after demo_cluster.sh.
#
#   stream_work SECONDS SEED NODES   makes Jobs and changes services until so many seconds are over (0: until it is ended)
#   summary_of_work                  prints what ran

work_number=0

# job KIND QUEUE PODS GPUS SECONDS PRIORITY ANNOTATION...: a Job that waits suspended until Berth releases it.
job() {
  local kind=$1 queue=$2 pods=$3 gpus=$4 runs=$5 priority=$6
  shift 6
  local name annotations=
  ((++work_number))
  name=$(printf '%s-%04d' "$kind" "$work_number")
  (($# == 0)) || annotations=$(printf '%s, ' "$@")
  cat <<TEXT
---
apiVersion: batch/v1
kind: Job
metadata: {name: $name, namespace: default, labels: {berth.dev/queue: $queue}, annotations: {${annotations%, }}}
spec:
  suspend: true
  parallelism: $pods
  completions: $pods
  completionMode: Indexed
  backoffLimit: 1000
  ttlSecondsAfterFinished: 120
  template:
    metadata:
      annotations: {demo.berth.dev/runs: ${runs}s}
    spec:
      schedulerName: berth
      priorityClassName: $priority
      restartPolicy: Never
      containers: [{name: main, image: demo, resources: {limits: {cpu: "$((gpus * 8))", memory: $((gpus * 64))Gi, nvidia.com/gpu: "$gpus"}}}]
TEXT
}

one_of() {
  local -n list=$1
  drawn=${list[RANDOM % ${#list[@]}]}
}

# A large cluster gets larger gangs, so that about as much is asked for as there is.
draw_work() {
  local -a sizes runs
  local dice=$((RANDOM % 100)) scale=$1 pods
  if ((dice < 35)); then
    sizes=(1 1 2 4) runs=(20 40 60)
    one_of sizes; pods=$drawn
    one_of runs
    job sweep sweeps "$pods" 1 "$drawn" normal
  elif ((dice < 70)); then
    sizes=(1 2 2 4 4 8) runs=(60 90 120 180)
    one_of sizes; pods=$((drawn * scale))
    one_of runs
    job train research "$pods" 8 "$drawn" normal 'berth.dev/topology-preferred: demo.berth.dev/rack' 'berth.dev/checkpoint-every: 30s'
  elif ((dice < 92)); then
    sizes=(1 2 4) runs=(40 60 90)
    one_of sizes; pods=$((drawn * scale))
    one_of runs
    job tune product "$pods" 4 "$drawn" normal
  else
    job urgent product $((3 * scale)) 8 45 urgent 'berth.dev/topology-preferred: demo.berth.dev/rack'
  fi
}

stream_work() {
  local most=$1 began=$SECONDS scale=$((($3 + 49) / 50)) round=0 waiting replicas
  RANDOM=$2
  say "A stream of work"
  while ((most == 0 || SECONDS - began < most)); do
    kill -0 "${demo_pids[-1]}" 2>/dev/null || {
      tail -n 5 "$kFolder/berth.log" >&2
      die "Berth has ended; the end of its log is above"
    }
    # While much waits already, no more comes.
    waiting=$(kube get jobs -o jsonpath='{range .items[?(@.spec.suspend==true)]}x{end}')
    if ((${#waiting} < 30)); then
      # Through a file: a pipe would draw in a shell of its own, with numbers of its own.
      for _ in 1 2 3; do draw_work "$scale"; done >"$kFolder/next.yaml"
      kube create -f "$kFolder/next.yaml" >/dev/null
    fi
    # The services breathe: up to six times the pods of the night.
    if ((round++ % 10 == 0)); then
      replicas=$((scale * (2 + (round / 10) % 6)))
      kube scale deployment/assistant --replicas="$replicas" >/dev/null
      kube scale deployment/search --replicas=$((scale * 7 - replicas / 2)) >/dev/null
    fi
    sleep 2
  done
}

summary_of_work() {
  local jobs pods
  jobs=$(kube get jobs -o jsonpath='{range .items[*]}{.status.succeeded}/{.spec.completions} {.spec.suspend}{"\n"}{end}' |
    awk '{ split($1, n, "/"); if (n[1] == n[2]) done++; else if ($2 == "true") waits++; else runs++ }
         END { printf "%d Jobs have finished, %d run, %d wait", done, runs, waits }')
  pods=$(kube get pods -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}' | sort | uniq -c | awk '{ printf "%s%d %s", sep, $1, $2; sep = ", " }')
  say "$jobs; pods: $pods"
}
