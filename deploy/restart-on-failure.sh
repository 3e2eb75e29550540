#!/bin/sh
# Runs a command, and runs it again when it fails, unless that cannot help.
#
# Usage: restart-on-failure COMMAND [ARGUMENT ...]
#
# Exit code 0 (finished) and 2 (wrong input: plan, data, certificate) end it with the same
# code, which the restart policies of Docker cannot tell from any other failure. After any
# other one the command runs again, RESTART_SEC seconds later (default 30). SIGTERM and
# SIGINT are passed on to the command as SIGTERM; it is not run again, and its exit code
# becomes that of this script.
if [ $# -eq 0 ]; then
  echo "restart-on-failure: a command is missing, as in: restart-on-failure dssfn node run node.toml" >&2
  exit 2
fi
pause=${RESTART_SEC:-30}
case $pause in
  *[!0-9]*)
    echo "restart-on-failure: RESTART_SEC must be a whole number of seconds, got $pause" >&2
    exit 2
    ;;
esac
running='' stopped=''
stop() {
  stopped=yes
  kill -TERM "$!" 2>/dev/null # the command, or the pause before it
  [ -n "$running" ] || exit 143
}
trap stop TERM INT

while :; do
  running=yes
  "$@" &
  child=$!
  [ -z "$stopped" ] || kill -TERM "$child" # asked to stop before there was a child
  wait "$child"
  code=$?
  # A signal ends `wait` before the command has ended.
  while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
  done
  if [ "$code" -eq 0 ] || [ "$code" -eq 2 ] || [ -n "$stopped" ]; then
    exit "$code"
  fi
  running=''
  echo "restart-on-failure: exit code $code; starting again in $pause s" >&2
  # It keeps no output open: a pause that a signal misses must not keep a reader waiting.
  sleep "$pause" >/dev/null 2>&1 &
  wait "$!"
done
