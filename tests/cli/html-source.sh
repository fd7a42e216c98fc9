#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines of source in a page of ms-report --html: around those of sites, as text, of files alone that are as they were when the program
# was built and ran; nothing else is opened. And the panels for resident memory and heaps.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$SRC/tests/cli/html"
has() { # WHAT ARGS...: what a page made with these arguments has of the source
	what=$1
	shift
	rm -f page.html
	timeout 120 ms-report -q --html=page.html "$@" run.trace
	# shellcheck disable=SC2086
	python3 "$SRC/tests/cli/html/source.py" page.html $what
}
mkdir src
{
	printf '#include <stdlib.h>\nchar *volatile kept[2];\nenum { nothing };\n#define NOINLINE __attribute__((noinline))\n'
	printf 'NOINLINE static char *first(size_t n)\n{\n\tchar *text = malloc(n); /* </script><b> & "c" */\n\tif (!text)\n#if 0\n'
	printf '\t/* \033[31m \342\200\256 ##[error] */\n#endif\n\t\treturn 0;\n\ttext[0] = 0;\n\treturn text;\n}\n'
	for i in 16 17 18 19 20 21 22 23 24 25 26 27; do echo "/* $i */"; done
	printf 'NOINLINE static char *second(size_t n)\n{\n\tchar *text = malloc(n);\n//%s\n' "$(printf '%0300d' 0 | tr 0 x)"
	printf '\ttext[0] = 0;\n\treturn text;\n}\nint main(void)\n{\n\tkept[0] = first(100000);\n\tkept[1] = second(200000);\n\treturn 0;\n}\n'
} >src/site.c
# what the compiler sees is not what is read: line 9 is part of no program, and so is what no compiler takes
gcc -g -O0 -Wno-bidi-chars -o site src/site.c
sed -i -e '9s/.*/\t\treturn ::nothing;/' -e '31s,^//,,' src/site.c
touch -d '2020-01-01' src/site.c
ms-record -q --resident -o run.trace ./site
has lines
has none --no-source
has none --anonymize
cp page.html other.html

# changed since it was built, or since it ran
touch -d '2020-06-01' site
touch -d '2020-07-01' src/site.c
has 'changed site was built'
has 'none' --no-source
touch -d tomorrow src/site.c
has "changed the recording began"
touch -d '2020-01-01' src/site.c
has lines

# what is no source file is not opened: another file by a link, a pipe, a huge file, a folder
mv src/site.c src/kept
printf 'secret\n' >src/secret
for i in 1 2 3 4 5 6 7 8 9 10; do cat src/kept; done >>src/secret
touch -d '2020-01-01' src/secret
ln -s secret src/site.c
has none
rm src/site.c
mkfifo src/site.c
has none
rm src/site.c
truncate -s 9000000 src/site.c
touch -d '2020-01-01' src/site.c
has none
rm src/site.c
mkdir src/site.c
has none
rmdir src/site.c
has none
ln -s kept src/site.c
has none
rm src/site.c
mv src/kept src/site.c
has lines

ms-report -q --no-source --json run.trace 2>err >out && { echo '--no-source was taken' && exit 1; }
grep -q -- '--source=none is for --html' err

# panels: resident memory where it was recorded, heaps where there are some
panel() { # PAGE EXPRESSION
	python3 -c "
import sys
from page import Page
j = Page(sys.argv[1]).json
sys.exit(not (eval(sys.argv[2])))" "$1" "$2" || { echo "FAILED: $1: $2" && exit 1; }
}
panel page.html 'j["resident"]["answer"] and [t["id"] for t in j["resident"]["tables"]][0] == "resident"'
panel page.html 'not any(t["id"] == "heaps" for t in j["tables"])'
ms-record -q -o plain.trace ./site
ms-report -q --html=plain.html plain.trace
panel plain.html '"resident" not in j'
