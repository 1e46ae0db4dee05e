#!/usr/bin/env bash
# Runs a CUDA compile and keeps what ptxas says of each kernel beside the object, as OBJECT.ptxas.
# usage: record_ptxas.sh COMPILER ARGUMENTS... (as CMake's compiler launcher)
set -u
object=""
previous=""
for argument in "$@"; do
  if [ "$previous" = "-o" ]; then object="$argument"; fi
  previous="$argument"
done
messages="$(mktemp)"
trap 'rm -f "$messages"' EXIT
"$@" 2>"$messages"
code=$?
if [ -n "$object" ] && [ $code -eq 0 ]; then
  grep -E "^ptxas info|bytes stack frame" "$messages" >"$object.ptxas"
  grep -v -E "^ptxas info|bytes stack frame" "$messages" >&2
else
  cat "$messages" >&2
fi
exit $code
