# Sourced by tests/run.sh, examples/run.sh and .ci/run, from the root of the repository: what they need, and getting it.

# Debian's names of what building and testing need.
build_packages="g++ cmake ninja-build libboost-dev libboost-program-options-dev libfmt-dev libxsimd-dev
  nlohmann-json3-dev libopenblas-dev liblapacke-dev catch2"

say() { printf '%s\n' "$*" >&2; }

# Makes sure that the Debian packages named are there: asks for the network, root or sudo only when one is missing. On a
# system that is not Debian's kind: says what is needed, and stops if the tools are not there (CMake checks libraries).
need_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    tools=
    for tool in c++ cmake ninja; do command -v $tool >/dev/null || tools="$tools $tool"; done
    say "This system has no apt-get, so nothing is installed. Needed, by their names in Debian: $(echo $*)"
    say "(g++ 12 or clang 16, CMake 3.25, Ninja, Boost 1.74, fmt 9, xsimd 8, nlohmann JSON 3, OpenBLAS, LAPACKE, Catch2 2.13 or 3; or newer)"
    [ -z "$tools" ] || { say "Missing:$tools"; exit 1; }
    return 0
  fi
  absent=
  for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status} ' "$package" 2>/dev/null) in
      "installed "*) ;;
      *) absent="$absent $package" ;;
    esac
  done
  [ -n "$absent" ] || return 0
  as_root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "Needs root or sudo to run: apt-get install$absent"; exit 1; }
    as_root=sudo
  fi
  say "Installing$absent"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $absent
}

# Configures the preset named; more arguments go to CMake. Uses ccache where it is installed.
configure() {
  preset=$1
  shift
  if command -v ccache >/dev/null; then set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"; fi
  cmake --preset "$preset" "$@"
}
