#!/bin/bash
# SPDX-License-Identifier: MIT
# Every example of every manual page and of every --help runs as it stands, in a folder with a program `app`, its traces and its
# snapshot. One in C is compiled and recorded.
set -u
export TERM=xterm # who runs us may have none
cat >app.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memscope.h>

static char *kept[100];

static void *parse_words(void *arg)
{
	for (int i = 0; i < 100; i++)
		kept[i] = strdup(arg);
	return NULL;
}

static char *load_table(size_t n)
{
	char *table = malloc(n);
	return table ? memset(table, 1, n) : NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc == 1 && system("./app child >/dev/null") != 0)
		return 1;
	pthread_create(&thread, NULL, parse_words, "some words");
	pthread_join(thread, NULL);
	ms_mark("warm");
	ms_mark("warm");
	char *table = load_table(1 << 20);
	for (int i = 0; i < 1000; i++)
		free(malloc(64));
	printf("%s %d\n", kept[99], table[5]);
	free(table);
	return system("exec ls /dev/null") != 0;
}
END
gcc -g -pthread -I"$SRC/include" -o app app.c || exit 1
"$BIN/ms-record" -q --follow=all -o run.trace ./app >/dev/null || { echo 'cannot record ./app' && exit 1; }
"$BIN/ms-snap" -o run.db run.trace || { echo 'cannot make run.db' && exit 1; }

# The literal displays of the section EXAMPLES, one file each, without the few escapes of mdoc.
blocks() {
	awk -v to="$2" '
		/^\.Sh / { on = $2 == "EXAMPLES" }
		on && /^\.Ed/ { in_block = 0 }
		on && in_block { print > file }
		on && /^\.Bd .*-literal/ { in_block = 1; file = sprintf("%s/%02d", to, ++n) }
		on && /^\.Dl / { file = sprintf("%s/%02d", to, ++n); sub(/^\.Dl /, ""); print > file }' "$1"
	sed -i -e 's/\\&//g' -e 's/\\-/-/g' -e 's/\\(aq/'\''/g' -e 's/\\(dq/"/g' -e 's/\\e/\\/g' "$2"/* 2>/dev/null
	# Where a prompt shows what is typed, the rest is what the program says.
	for b in "$2"/*; do
		if grep -q '^\$ ' "$b" 2>/dev/null; then sed -i -n 's/^\$ //p' "$b"; fi
	done
}

# A display that is a C program is built and run, any other is given to the shell.
run() {
	if head -n 1 "$1" | grep -q '^#include'; then
		gcc -Wall -Werror -I"$SRC/include" -o example -x c "$1" && ./example
	else
		# What it has in the background ends with it, also where a line in between fails.
		bash -e -o pipefail -c 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT && . "$1"' bash "$1"
	fi
}
export -f run

# The last lines of a tool's --help, one file each. What is only for a terminal gets one, and q typed there.
help_lines() { # TOOL FOLDER
	local n=0 line
	"$1" --help | sed '1,/^examples:$/d' | while read -r line; do
		n=$((n + 1))
		case $line in
		*--batch* | [!m]* | ms-[!t]*) printf '%s\n' "$line" ;;
		*) printf '(sleep 1; printf q) | script -qec %q /dev/null\n' "$line" ;;
		esac >"$2/0$n"
	done
	[ "$(find "$2" -type f | wc -l)" = 3 ]
}
# The process that --help examples choose is ours, whoever else runs one of that name.
mkdir bin running && cp "$(command -v sleep)" running/app
printf '#!/bin/sh\nexec %s -P %s "$@"\n' "$(command -v pgrep)" $$ >bin/pgrep
chmod +x bin/pgrep
PATH=$PWD/bin:$PATH
cp run.trace old.trace
cp run.trace new.trace

ran=0 failed=0
for tool in "$BIN"/ms-*; do
	name=${tool##*/}
	mkdir -p "blocks/$name.help" "work/$name.help"
	cp -r app ./*.trace run.trace.d run.db "work/$name.help"
	help_lines "$tool" "blocks/$name.help" || { echo "$name --help: not three examples" && failed=1; }
	for b in "blocks/$name.help"/*; do
		running=
		if grep -q pgrep "$b"; then
			running/app 600 &
			running=$!
			while [ "$(cat /proc/$running/comm)" != app ]; do sleep 0.01; done
		fi
		if (cd "work/$name.help" && timeout 600 bash -e -o pipefail "../../$b") >out 2>&1 </dev/null; then
			ran=$((ran + 1))
		else
			echo "$name --help: fails: $(cat "$b")" && tail -n 20 out && failed=1
		fi
		[ -z "$running" ] || { kill $running && wait $running; } 2>/dev/null
	done
done
[ "$ran" = 18 ] || { echo "only $ran of 18 examples of --help ran" && failed=1; }
for page in "$SRC"/man/*.[1-9]; do
	name=${page##*/}
	[ "${name%.1}" = "$name" ] || grep -q '^\.Sh EXAMPLES' "$page" || { echo "$name has no EXAMPLES" && failed=1; }
	mkdir -p "blocks/$name" "work/$name"
	cp -r app run.trace run.trace.d run.db "work/$name"
	blocks "$page" "blocks/$name"
	for b in "blocks/$name"/*; do
		[ -f "$b" ] || continue
		block=$PWD/$b
		if head -n 1 "$b" | grep -q '^#include'; then
			cp "$b" "work/$name/example.c"
			if [ "$name" = memscope-read.3 ]; then # uses the library, and is not to be recorded
				flags=
				[ "$MODE" != asan ] || flags=-fsanitize=address,undefined
				printf 'gcc -Wall -I"%s/libcommon/api" %s -o example example.c "%s/../lib/libmemscope.a" -lzstd -lm && ./example\n' \
					"$SRC" "$flags" "$TB" >"$b"
			else
				printf 'gcc -I"%s/include" -o example example.c && ms-record -q -o example.trace ./example\n' "$SRC" >"$b"
			fi
		fi
		if head -n 1 "$b" | grep -q '^import'; then
			cp "$b" "work/$name/example.py"
			printf 'PYTHONPATH="%s/include" ms-record -q -o example.trace python3 example.py\n' "$SRC" >"$b"
		fi
		(cd "work/$name" && timeout 600 bash -c "run '$block'") >out 2>&1 </dev/null && ran=$((ran + 1)) && continue
		echo "$b: status $?"
		sed 's/^/    $ /' "$b"
		tail -n 20 out | sed 's/^/    /'
		failed=1
	done
done
echo "$ran examples ran"
[ "$failed" = 0 ] && [ "$ran" -gt 0 ]
