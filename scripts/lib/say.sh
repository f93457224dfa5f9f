# Words for the person at the terminal, shared by the scripts. To be sourced after `set -euo pipefail`.
#
#   say TEXT...        a step that begins or is done
#   die TEXT...        what is wrong and what to do; ends the script with 1
#   usage_error TEXT   a wrong argument; ends the script with 2

say() { printf '\n==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
die() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}
usage_error() {
  printf '%s: %s\nTry %s --help\n' "$(basename "$0")" "$*" "$0" >&2
  exit 2
}
