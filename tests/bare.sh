#!/usr/bin/env bash
# Runs README's commands as on a fresh machine: in a bare root of Debian, with what debootstrap's smallest variant has and
# `make`, in a copy of the files that git knows. The last line is that of the tests.
#
#     tests/bare.sh [COMMAND]     `make test-quick` by default; SUITE=trixie takes another Debian than this machine's
#     ROOT=FOLDER ...             makes the root there, where there is none, and leaves it for the next command
#
# Exit status 3, and a line that says why, where no such root can be made.
set -uo pipefail
cd "$(dirname "$0")/.."

skip() { echo "skipped: a bare root ($1)"; exit 3; }

[ "$(id -u)" -eq 0 ] || skip "only root can make one"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces can be made"
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-}")}
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -n 1)
[ -n "$suite" ] && [ -n "$mirror" ] || skip "apt names no suite and mirror"

top=$(mktemp -d)
root=${ROOT:-$top/root}
trap 'rm -rf --one-file-system "$top"' EXIT
if [ ! -e "$root/ebb" ]; then
  mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"      # nothing in it outlives this run
  if ! debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$top/log" 2>&1; then
    tail -n 3 "$top/log"
    skip "debootstrap $suite failed"
  fi
  # apt in it takes what apt takes here.
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  mkdir "$root/ebb"
  git ls-files -z | xargs -0 cp -a --parents -t "$root/ebb" || exit 1
fi

# A namespace of its own, so that nothing stays mounted and no process stays behind.
unshare --mount --pid --fork sh -c '
  mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" || exit 3
  exec chroot "$1" env -i PATH="$PATH" HOME=/ LC_ALL=C.UTF-8 SEED="$3" sh -c "
    { apt-get -q -y update && apt-get -q -y install --no-install-recommends make; } >/dev/null 2>&1 || exit 3
    cd /ebb && $2"
' sh "$root" "${*:-make test-quick}" "${SEED:-1}"
status=$?
if [ "$status" -eq 3 ]; then skip "apt brought no make"; fi
exit "$status"
