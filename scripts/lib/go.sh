# The Go that builds the tools of tests, shared by the scripts. To be sourced after kTools (the folder tools/control-plane), kCache and
# the functions say and die are there.
#
#   pinned MODULE_FOLDER MODULE   the version that tools/control-plane/MODULE_FOLDER requires, without its v
#   find_go                       sets go_command to a Go that is new enough, fetched from the module proxy where the machine has none
#   build_module ...              builds programs of one of our modules (below)

readonly kGoNeeded=26  # Go 1.26 builds every version that we list

pinned() { awk -v module="$2" '{ sub(/^require /, "") } $1 == module { sub(/^v/, "", $2); print $2; exit }' "$kTools/$1/go.mod"; }

go_minor() { GOTOOLCHAIN=local "$1" version 2>/dev/null | sed -nE 's/^go version go1\.([0-9]+).*/\1/p'; }

# Sets go_command to a Go that is new enough.
find_go() {
  local candidate minor
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go/bin/go; do
    [[ -n $candidate && -x $candidate ]] || continue
    minor="$(go_minor "$candidate")"
    if [[ -n $minor ]] && ((minor >= kGoNeeded)); then
      go_command=$candidate
      return
    fi
    [[ -n ${older:-} ]] || local older=$candidate
  done
  local version platform
  platform="$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')"
  version="$(pinned go-toolchain golang.org/toolchain | sed -E "s/\.linux-[a-z0-9]+\$/.$platform/")"
  local home="$kCache/../go/$version"
  if [[ ! -x $home/bin/go ]]; then
    [[ -n ${older:-} ]] || die "there is no Go on this machine. Install Debian's (apt-get install golang-go); it is used to fetch Go 1.$kGoNeeded"
    say "fetching Go 1.$kGoNeeded ($version) from the Go module proxy with $older"
    grep -q "^golang.org/toolchain v$version h1:" "$kTools/go-toolchain/go.sum" ||
      die "no checksum for the platform $platform in tools/control-plane/go-toolchain/go.sum"
    local work
    mkdir -p "$kCache/../go"
    work="$(mktemp -d "$kCache/../go/.new.XXXXXX")"
    # The go command checks what it downloads against the go.sum that lies beside. It downloads into a module cache of its own,
    # since files of a module cache are not executable and 240 MiB are not wanted twice.
    if ! (cd "$kTools/go-toolchain" && GOTOOLCHAIN=local GOFLAGS=-modcacherw GOWORK=off GOMODCACHE="$work/modules" \
      "$older" mod download "golang.org/toolchain@v$version"); then
      rm -rf "$work"
      die "could not fetch Go from the module proxy ($("$older" env GOPROXY))"
    fi
    local unpacked="$work/modules/golang.org/toolchain@v$version"
    chmod -R u+w "$unpacked"
    chmod +x "$unpacked"/bin/* "$unpacked"/pkg/tool/*/*
    mv -T "$unpacked" "$home" 2>/dev/null || [[ -x $home/bin/go ]] || die "could not move Go to $home"
    rm -rf "$work"
  fi
  go_command="$home/bin/go"
}

# build_module FOLDER OUTPUT LDFLAGS PACKAGE...: builds the packages of one of our modules into the folder OUTPUT, all or none.
build_module() {
  local folder=$1 output=$2 ldflags=$3 work
  shift 3
  mkdir -p "$output"
  work="$(mktemp -d "$output/.new.XXXXXX")"
  if ! (cd "$kTools/$folder" && GOTOOLCHAIN=local GOFLAGS='-mod=readonly -modcacherw' GOWORK=off CGO_ENABLED=0 GOEXPERIMENT='' \
    nice -n 5 "$go_command" build -trimpath -buildvcs=false -ldflags "-s -w $ldflags" -o "$work/" "$@"); then
    rm -rf "$work"
    die "the build failed (module $kTools/$folder)"
  fi
  [[ ! -e $work/v3 ]] || mv "$work/v3" "$work/etcd"  # a program is named after the end of its package's path
  [[ ! -e $work/server ]] || mv "$work/server" "$work/etcd"
  mv "$work"/* "$output/"
  rmdir "$work"
}
