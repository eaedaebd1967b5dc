#!/bin/sh
# Installs what is missing, builds the review classifier, trains it on the built-in pile (synthetic reviews), lets it judge
# three reviews and shows the tape of a short one. Arguments go to CMake's configuration.
set -eu
CDPATH= cd -- "$(dirname -- "$0")/.."
. .ci/setup.sh

need_packages $build_packages
configure release "$@"
cmake --build --preset release --target imdb

imdb=build/release/examples/imdb
model=build/release/pile.safetensors
show() { printf '\n$ %s\n' "$1"; }

show "imdb train --save pile.safetensors"
$imdb train --save $model

reviews="The script was clever and the music was lovely. I would see it again.
The jokes were stale and the ending was dreary. I hated it.
The acting was good and the plot was not boring."
show "imdb predict --model pile.safetensors"
printf '%s\n' "$reviews" | sed 's/^/> /'
printf '%s\n' "$reviews" | $imdb predict --model $model

show "imdb explain --model pile.safetensors \"The plot was not good.\""
$imdb explain --model $model "The plot was not good."

printf '\nThe program is %s, its model %s.\n' "$imdb" "$model"
