#!/bin/sh
# A server of PostgreSQL for tests, in a temporary folder, on a socket there, without root.
#
#     tests/postgres.sh make                 prints the folder, once the server runs; exit status 3: not installed
#     tests/postgres.sh start|kill FOLDER    starts it again; kills it and all its processes with SIGKILL
#     tests/postgres.sh remove FOLDER        ends it and removes the folder
#
# The URL is postgresql:///postgres?host=FOLDER&user=ebb.
set -eu

bin=
for folder in "${POSTGRES_BIN:-}" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) \
  "$(dirname "$(command -v postgres || echo x)")"; do
  if [ -z "$bin" ] && [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then bin=$folder; fi
done
if [ -z "$bin" ]; then
  echo "PostgreSQL's server is not installed" >&2
  exit 3
fi

# initdb and the server refuse root.
as_user() {
  if [ "$(id -u)" -ne 0 ]; then "$@"; return; fi
  setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
}

start() {
  cd "$1"
  as_user "$bin/pg_ctl" -D "$1/data" -w -t 60 -l "$1/log" -o "-k $1 -c listen_addresses='' -c max_connections=40 \
    -c shared_buffers=16MB -c fsync=${FSYNC:-off}" start >/dev/null 2>&1 || { cat "$1/log" >&2; exit 1; }
}

case $1 in
  make)
    folder=$(mktemp -d "${TMPDIR:-/tmp}/ebb-pg-XXXXXX")
    chmod 755 "$folder"
    if [ "$(id -u)" -eq 0 ]; then chown nobody:nogroup "$folder"; fi
    cd "$folder"
    as_user "$bin/initdb" --no-sync -A trust -U ebb -E UTF8 --locale=C -D "$folder/data" >/dev/null
    start "$folder"
    echo "$folder" ;;
  start) start "$2" ;;
  kill)
    server=$(head -n 1 "$2/data/postmaster.pid")
    kill -STOP "$server"                     # it starts no process whose memory would outlive it
    all="$server $(ps -o pid= --ppid "$server")"
    kill -KILL $all 2>/dev/null || true
    for process in $all; do
      while kill -0 "$process" 2>/dev/null; do sleep 0.01; done
    done ;;
  remove)
    cd "$2"
    as_user "$bin/pg_ctl" -D "$2/data" -w -m immediate stop >/dev/null 2>&1 || true
    cd /
    rm -rf "$2" ;;
esac
