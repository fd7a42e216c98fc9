#!/bin/bash
# SPDX-License-Identifier: MIT
# make lint finds what it promises to find: a small tree with one breach of each rule.
set -eu
mkdir -p tree/{format,libcommon/{base,proc,snapshot},ms-filter,ms-record/guest/{preload,image},ms-report/{model,words},man,tests/cli}
cd tree
cp -r "$SRC/Makefile" "$SRC/.clang-format" .
cp -r "$SRC/tests/lint" tests/
cp "$SRC"/libcommon/base/{arena,err}.[ch] libcommon/base/
cp "$SRC"/libcommon/snapshot/{columns,columns.def,schema.sql} libcommon/snapshot/
cp "$SRC/CONTRIBUTING.md" .
echo '/build/' >.gitignore
later=TO""DO
spdx='/* SPDX-License-Identifier: MIT */'
printf '%s\n#include <stdio.h>\n#include "libcommon/base/err.h"\n' "$spdx" >format/reader.c
printf '%s\n#include "ms-filter/thing.h"\n#include <zstd.h>\nint bad;\n' "$spdx" >libcommon/base/bad.c
printf '%s\n#include "libcommon/snapshot/thing.h"\n' "$spdx" >libcommon/proc/back.c
printf '%s\n' '/* Of the tree. */' '/* Often asked, */ /* The same. */' '/*' ' * Then of two lines.' ' * So it is. */' >>libcommon/proc/back.c
printf '%s\n' "$spdx" >libcommon/snapshot/thing.h
printf '%s\n#include "ms-report/words/thing.h"\n#include "ms-report/thing.h"\n' "$spdx" >ms-report/model/back.c
printf '%s\n' "$spdx" | tee ms-report/words/thing.h >ms-report/thing.h
printf '%s\n#include <sqlite3.h>\n#include "../libcommon/base/err.h"\n#include "ms-record/guest/layout.h"\n#include "ms-filter/thing.h"\n' \
	"$spdx" >ms-filter/main.c
printf 'int main(void)\n{\n  int unused;\n  return 0; // %s\n}\n' "$later" >>ms-filter/main.c
printf 'extern int thing;\n' >ms-filter/thing.h
printf '%s\n' "$spdx" >ms-record/guest/layout.h
printf '%s\n#include <malloc.h>\n#include "libcommon/base/arena.h"\n#include "format/functions.def"\n#include "format/trace.h"\n' \
	"$spdx" >ms-record/guest/hook.c
touch format/functions.def
printf '%s\n' "$spdx" | tee format/trace.h ms-record/guest/core.h >ms-record/guest/preload/preload.h
printf '%s\n#include "ms-record/guest/core.h"\n#include "ms-record/guest/preload/preload.h"\n' "$spdx" >ms-record/guest/image/image.c
printf '%s\nlong long now(void)\n{\n\treturn __rdtsc();\n}\n' "$spdx" >libcommon/base/ticks.c
sed 's/now/then/' libcommon/base/ticks.c >libcommon/base/x86_64_ticks.c
printf '%s\n' "$spdx" >ms-record/guest/entry.S
printf '.Dd today\n.Dt X 1\n.Os\nno section\n' >man/ms-x.1
# a program with a table of options, and its page
mkdir -p build/release/bin
# shellcheck disable=SC2016 # the program that is written here expands it
printf '#!/bin/sh\n[ "$1" != --help=old ] || exit 0\nprintf "%%s\\t%%s\\t%%s\\n" %s %s %s\n' 'new - -' 'output o FILE' 'pid p PID' >build/release/bin/ms-x
chmod +x build/release/bin/ms-x
printf '%s\n' '.Sh SYNOPSIS' '.Op Fl o' '.Op Fl g' '.Sh DESCRIPTION' '.It Fl o Ar file , Fl -output Ns = Ns Ar file' \
	'.It Fl -gone' '.It Fl -pid' >>man/ms-x.1
printf '%s\n' '#!/bin/sh' '# SPDX-License-Identifier: MIT' "echo \$1" >tests/cli/silent.sh
{ echo "$spdx"; seq -f '/* %g */' 800; } >ms-filter/long.c
export LINT_TIDY=0
if tests/lint/run >../found 2>&1; then
	echo 'lint found nothing'
	exit 1
fi
missed=0
grep -F 'may not include format/functions.def' ../found && missed=1
while read -r line; do
	grep -qF -- "$line" ../found || { echo "not found: $line" && missed=1; }
done <<'END'
format/reader.c:2: format/ may not include <stdio.h>
format/reader.c:3: format/ may not include libcommon/base/err.h
libcommon/base/bad.c:2: libcommon/ may not include ms-filter/thing.h
libcommon/base/bad.c:3: <zstd.h> belongs to libcommon/trace/*
libcommon/base/ticks.c:4: instructions (__rdtsc)
ms-record/guest/entry.S:1: assembly in a file
libcommon/proc/back.c:2: libcommon/proc may not include libcommon/snapshot/thing.h
libcommon/proc/back.c:3: a comment begins with 'Of': begin with a verb
libcommon/proc/back.c:4: a comment begins with 'The same'
libcommon/proc/back.c:6: a comment begins with 'Then'
ms-filter/main.c:2: <sqlite3.h> belongs to libcommon/snapshot/*
ms-filter/main.c:3: path with '..': ../libcommon/base/err.h
ms-filter/main.c:4: ms-filter/ may not include ms-record/guest/layout.h
ms-filter/main.c:5: a header of one's own folder is included bare: thing.h
ms-filter/main.c:8: unused variable
ms-filter/main.c:9: a note to do something later
ms-filter/main.c:7: not as clang-format has it
ms-filter/thing.h:1: no SPDX line
ms-record/guest/hook.c:3: ms-record/guest/ may not include libcommon/base/arena.h
ms-record/guest/hook.c:5: ms-record/guest/ may not include format/trace.h
ms-record/guest/hook.c:2: the guest may not include <malloc.h>
ms-record/guest/image/image.c:3: ms-record/guest/image may not include ms-record/guest/preload/preload.h (CONTRIBUTING.md, Rooms)
ms-filter/long.c:801: more than 800 lines
ms-report/model/back.c:2: ms-report/model may not include ms-report/words/thing.h
ms-report/model/back.c:3: ms-report/model may not include ms-report/thing.h
man/ms-x.1:1: WARNING: cannot parse date
man/ms-x.1:6: -o takes an argument
man/ms-x.1:7: ms-x has no option -g
man/ms-x.1:10: ms-x has no option --gone
man/ms-x.1:11: --pid takes an argument
man/ms-x.1:1: no item for --new
man/ms-x.1:1: -p, --pid: no item has both
man/ms-x.1:1: --new is not in the synopsis
tests/cli/silent.sh:3: note: Double quote
tests/cli/silent.sh:1: not executable
END
tail -n 1 ../found | grep -qE '^lint: [0-9]+ problems$' || { echo 'no last line' && missed=1; }
[ $missed = 0 ] || cat ../found
exit $missed
