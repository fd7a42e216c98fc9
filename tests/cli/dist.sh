#!/bin/bash
# SPDX-License-Identifier: MIT
# The tarball of make dist builds, in a folder with spaces in its path; what is built runs there, from another folder.
set -eu -o pipefail
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'only with make check-all: it builds everything'
	exit 77
fi
tarball=$SRC/$(make -s -C "$SRC" --no-print-directory dist | tail -n 1)
mkdir 'a folder'
tar -xzf "$tarball" -C 'a folder'
cd 'a folder'/memscope-*
make -j2 >../../log 2>&1 || { tail -n 20 ../../log && exit 1; }
bin=$PWD/build/release/bin
mkdir '../my work'
cd '../my work'
"$bin/ms-record" -q --follow=all -o 'a run.trace' sh -c 'ls / | sort' >said 2>&1
cmp said <(sh -c 'ls / | sort') || { cat said && exit 1; }
"$bin/ms-report" --by process 'a run.trace' 'a run.trace.d' >report
for program in ls sort; do
	grep -q "/$program " report || { echo "FAILED: $program was not recorded" && cat report && exit 1; }
done
