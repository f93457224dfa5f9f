# Installs the Debian packages of scripts/dependencies.txt. To be sourced after say.sh.
#
#   install_packages GROUP...
#
# Calls apt only when a package of the groups is missing, so that a second run changes nothing and needs no rights. As root
# apt is called directly, otherwise through sudo. Lists of packages go stale and mirrors have bad moments: both the update
# and the installation are tried three times.

readonly kDependencies="$kRoot/scripts/dependencies.txt"

# The packages of the groups in $@, one per line. A group that the file does not know is an error.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '!/^#/ && $1 == group { print $2; found = 1 } END { exit !found }' "$kDependencies" ||
      die "scripts/dependencies.txt has no group '$group'"
  done
}

# Those of the packages in $@ that are not installed.
missing_of() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q -o DPkg::Lock::Timeout=180 -o Acquire::Retries=3 \
    -o Dpkg::Use-Pty=0 "$@"
}

# Runs "$@" up to three times, with a pause between.
three_times() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    ((try == 3)) || {
      note "failed, trying again in $((try * 5)) seconds"
      sleep $((try * 5))
    }
  done
  return 1
}

update_and_install() {
  apt_get update || return 1
  apt_get install -y --no-install-recommends "$@"
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "this system has no apt. Install what scripts/dependencies.txt lists (groups: $*) by other means and use --no-packages"
  local wanted missing
  wanted=$(packages_of "$@") || exit 1
  # shellcheck disable=SC2086  # names of packages have no spaces
  missing=$(missing_of $wanted)
  if [[ -z $missing ]]; then
    say "Packages ($*): all $(wc -l <<<"$wanted") are installed"
    return
  fi
  missing=$(tr '\n' ' ' <<<"$missing")
  say "Packages ($*): installing $missing"
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "installing needs root, and this system has no sudo. Run as root:  apt-get update && apt-get install -y $missing"
    [[ -t 0 ]] || sudo -n true 2>/dev/null ||
      die "installing needs root; sudo asks for a password, but there is no terminal. Run as root:  apt-get update && apt-get install -y $missing"
  fi
  # shellcheck disable=SC2086
  three_times update_and_install $missing >&2 ||
    die "apt could not install the packages; its messages are above. Is the network up, and is this Debian 12 or newer?"
}
