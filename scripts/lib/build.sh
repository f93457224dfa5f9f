# Configures and builds with CMake presets. To be sourced after say.sh.
#
#   build_jobs                    how many compilers may run at once: one per core, fewer where memory is short
#   configure PRESET ARGS...      cmake --preset PRESET ARGS..., quiet unless it fails
#   build PRESET TARGET...        builds the targets (none = everything) with Ninja

build_jobs() {
  local cores memory_mib most
  cores=$(nproc)
  memory_mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  most=$((memory_mib / 1500))  # the largest of our sources needs 1.2 GiB
  ((most < 1)) && most=1
  echo $((cores < most ? cores : most))
}

configure() {
  local preset=$1 log
  shift
  say "Configuring (preset $preset)"
  log=$(mktemp)
  if ! (cd "$kRoot" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "cmake could not configure; its messages are above"
  fi
  rm -f "$log"
}

tenth_step() {
  local line last='' steps=0
  while IFS= read -r line; do
    if [[ $line =~ ^\[[0-9]+/[0-9]+\  ]]; then
      last=$line
      ((++steps % 10 == 1)) || continue
      last=
    fi
    printf '%s\n' "$line"
  done
  [[ -z $last ]] || printf '%s\n' "$last"
}

build() {
  local preset=$1
  shift
  say "Building $([[ $# -gt 0 ]] && echo "$*" || echo everything) (preset $preset, $(build_jobs) at once)"
  local status=0
  if [[ -t 2 ]]; then
    ninja -C "$kRoot/build/$preset" -j "$(build_jobs)" "$@" >&2 || status=$?
  else
    # Not a terminal: a line per file would bury the messages, so one step of ten is shown.
    NINJA_STATUS='[%f/%t %es] ' ninja -C "$kRoot/build/$preset" -j "$(build_jobs)" "$@" 2>&1 | tenth_step >&2 || status=$?
  fi
  ((status == 0)) || die "the build failed; the compiler's messages are above"
}
