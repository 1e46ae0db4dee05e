#!/usr/bin/env bash
# Sets up, builds the cpu preset and runs every test that needs no GPU. Starts from a bare clone.
# usage: scripts/test.sh [arguments for ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/setup.sh
bash scripts/build.sh cpu
echo "test: all tests without a GPU"
ctest --preset cpu -j "$(nproc)" "$@"
bash scripts/on_path.sh
