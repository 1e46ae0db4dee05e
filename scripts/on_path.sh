#!/usr/bin/env bash
# Makes plain `dit-ar` work in a new shell: a link in ~/.local/bin where that folder is on PATH,
# else the exact line to type. Never replaces a file that it did not make.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin="$PWD/build/cpu/bin"
[ -x "$bin/dit-ar" ] || { echo "on_path: build first: bash scripts/build.sh cpu" >&2; exit 69; }
if [ "$(command -v dit-ar || true)" -ef "$bin/dit-ar" ]; then
  echo "dit-ar is on PATH: $(command -v dit-ar)"
  exit 0
fi
case ":$PATH:" in
  *":$HOME/.local/bin:"*)
    target="$HOME/.local/bin/dit-ar"
    if [ ! -e "$target" ] || [ -L "$target" ]; then
      mkdir -p "$HOME/.local/bin"
      ln -sfn "$bin/dit-ar" "$target"
      echo "dit-ar is on PATH: $target"
      exit 0
    fi
    ;;
esac
echo "To use plain dit-ar, type: export PATH=\"$bin:\$PATH\""
