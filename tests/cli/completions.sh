#!/bin/sh
# SPDX-License-Identifier: MIT
# Completions have every option of the tables but older spellings, and bash completes with them what is typed.
set -eu
folder=$BIN/../completions
for tool in "$BIN"/ms-*; do
	name=${tool##*/}
	"$tool" --help=rows | grep -v "$(printf '\t')Older spellings$(printf '\t')" | cut -f 1 >options
	[ -s options ]
	while read -r option; do
		if ! grep -qE -- "--$option( |=|')" "$folder/$name.bash" || ! grep -qF -- "*--$option" "$folder/_$name" ||
			! grep -qE -- "-l $option " "$folder/$name.fish"; then
			echo "FAILED: $name --$option is not in all completions"
			exit 1
		fi
	done <options
done
if grep -E -e '--folded|-l folded' "$folder"/*; then
	echo 'FAILED: an older spelling is completed'
	exit 1
fi
exec python3 "$SRC/tests/cli/completions.py" "$folder" bash
