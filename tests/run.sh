#!/bin/sh
# Installs what is missing, builds everything and runs all tests. Arguments go to CMake's configuration.
set -eu
CDPATH= cd -- "$(dirname -- "$0")/.."
. .ci/setup.sh

need_packages $build_packages
configure release "$@"
cmake --build --preset release
ctest --preset release --parallel "$(nproc)"
