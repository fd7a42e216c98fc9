#!/bin/bash
# SPDX-License-Identifier: MIT
# The first screen of programs whose memory is no heap: where it is, what records it, what is mapped by site; and of a process that allocates nothing
# while it is recorded.
set -u
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
cat >holder.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MIB (1 << 20)
static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memset(p, 1, size);
}
/* HEAP and MAPPED in MiB; "gone": most of what is mapped is not at the end. Long enough to be looked at. */
int main(int argc, char **argv)
{
	int heap = atoi(argv[1]), mapped = atoi(argv[2]);
	for (int i = 0; i < heap; i++)
		memset(malloc(MIB / 2), 1, MIB / 2), memset(malloc(MIB / 2), 1, MIB / 2);
	char *p = mapped ? map((size_t)mapped * MIB) : NULL;
	sleep(3);
	if (argc > 3 && p)
		munmap(p + MIB, (size_t)(mapped - 1) * MIB);
	return 0;
}
END
gcc -O1 -g -fno-builtin -o holder holder.c
line_of() { # LABEL TRACE: that line with those that it goes on in
	ms-report --width 200 "$2" | awk -v label="$1" '$1 == label && !on{on = 1; print; next} on && /^ /{print; next} on{exit}' | tr -s '\n ' '  ' | sed 's/ $//'
}
commands() { ms-report "$1" | awk '/^Next/{on = 1} on' | grep -o 'ms-record.*'; }

ms-record -q -o mapped.trace ./holder 1 40
[[ $(line_of Where mapped.trace) =~ ^"Where of RSS "[2-4][0-9].[0-9]" MiB at "[^:]*": "[2-4][0-9].[0-9]" MiB in anonymous mappings, including stacks and what the allocator keeps, "[0-9.]*" "[MK]"iB in files; live heap was never more than 1.0 MiB"$ ]] ||
	fail "40 MiB that are mapped: $(ms-report mapped.trace)"
[[ $(ms-report --md mapped.trace) == *"| where it is | | of RSS "*" MiB in anonymous mappings"* ]] || fail "--md: $(ms-report --md mapped.trace)"
is 'what records them' "$(commands mapped.trace)" 'ms-record --mmap --resident ./holder 1 40    what is mapped, by site; what is resident'
ms-record -q -o heap.trace ./holder 40 0
is '40 MiB of heap' "$(line_of Where heap.trace)$(commands heap.trace)" ''
ms-record -q -o both.trace ./holder 30 20
is 'more heap than that' "$(line_of Where both.trace)" ''
ms-record -q -o little.trace ./holder 0 8
is '8 MiB' "$(line_of Where little.trace)" ''

# a shell that becomes it: RSS is that of the larger image
printf '#!/bin/sh\nexec ./holder 1 40\n' >wrapper
chmod +x wrapper
ms-record -q -o wrapped.trace ./wrapper
[[ $(line_of Where wrapped.trace) =~ ^"Where of RSS "[2-4][0-9].[0-9]" MiB at "[^:]*": "[2-4][0-9].[0-9]" MiB in anonymous mappings"[^\;]*"; live heap was never more than 1.0 MiB"$ ]] ||
	fail "below a shell: $(ms-report wrapped.trace)"
ms-snap -q -o wrapped.db wrapped.trace wrapped.trace.d
is 'its images' "$(sqlite3 wrapped.db "SELECT count(*) FROM process WHERE became IS NOT NULL")" 1
is 'its RSS' "$(ms-report --json wrapped.db | jq .totals.peak_rss_bytes)" "$(sqlite3 wrapped.db 'SELECT max(peak_rss_bytes) FROM process')"

# what was freed and is still resident at the end, though it was most of RSS at the peak
cat >freed.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	enum { BLOCKS = 400000, SIZE = 100 };
	static char *v[BLOCKS];
	(void)argv;
	for (int i = 0; i < BLOCKS; i++)
		v[i] = memset(malloc(SIZE), argc, SIZE);
	for (int i = 0; i < BLOCKS - 1; i++) /* the last one holds the top of the heap */
		free(v[i]);
	return 0;
}
END
gcc -O1 -g -fno-builtin -o freed freed.c
command=$(cat <<'END'
ms-record --mmap --resident ./freed 'a word' '$HOME' 'it'\''s'
END
)
ms-record -q -o freed.trace ./freed 'a word' "\$HOME" "it's"
[[ $(line_of Where freed.trace) =~ "; live heap was 100 B at the end"$ ]] || fail "what was freed: $(ms-report freed.trace)"
is 'what records it' "$(commands freed.trace)" "$command"
[[ $(ms-report --md freed.trace) == *$'\nNext:\n\n```text\nms-report --site '*$'\n'"$command  # what is mapped, by site; what is resident"$'\n```' ]] || fail "Next of --md: $(ms-report --md freed.trace)"
# typed as it stands, it records the same command; that trace then says what to do
eval "$command" 2>/dev/null || fail "typed: $command"
is 'the command again' "$(ms-snap -q -o - freed.*.trace | cat >again.db; sqlite3 again.db 'SELECT command FROM process')" "$(ms-snap -q -o - freed.trace | cat >once.db; sqlite3 once.db 'SELECT command FROM process')"
[[ $(line_of Where freed.*.trace) == *" is free but held by the allocator: call malloc_trim(0) to free about "* ]] || fail "recorded: $(ms-report freed.*.trace)"
[[ $(ms-report freed.*.trace) == *$'\n         ms-report --resident freed.'* && -z $(commands freed.*.trace) ]] || fail "its Next: $(ms-report freed.*.trace | sed -n '/^Next/,$p')"
# a command that is wider than the screen is continued as a shell takes it; a word that is wider is no part of it
ms-record -q -o long.trace ./freed {1..30}
is 'folded' "$(ms-report --width 60 long.trace | sed -n '/ms-record/,$p' | tr -d '\\\n' | tr -s ' ')" " ms-record --mmap --resident ./freed $(echo {1..30})"
ms-record -q -o wide.trace ./freed "$(printf 'x%.0s' {1..80})"
is 'a wide word' "$(ms-report --width 60 wide.trace | grep -o 'ms-record --mmap.*')" 'ms-record --mmap --resident COMMAND'
is 'no heap that is still in use' "$(line_of Where heap.trace)" ''

# recorded by site: at the end where it is all there, else at the moment at which most was
ms-record -q --mmap -o stays.trace ./holder 1 40
is 'what stays: first' "$(ms-report stays.trace | grep -m1 '^[A-Z]* [aA][tT]')" "MAPPED at the end, not counting the allocator's own mappings: 40.0 MiB, 1 site"
[[ $(ms-report stays.trace) =~ " 40.0 MiB      1  "[0-9]"  map       holder.c:8" ]] || fail "what stays: no row of map: $(ms-report stays.trace)"
is 'what records the rest' "$(commands stays.trace)" 'ms-record --resident ./holder 1 40    what is resident'
ms-record -q --mmap -o gone.trace ./holder 1 40 gone
[[ $(ms-report gone.trace | grep -m1 '^[A-Z]* [aA][tT]') =~ ^"MAPPED at "[0-9.]*"s, not counting the allocator's own mappings: 40.0 MiB, 1 site"$ ]] || fail "what is gone at the end: $(ms-report gone.trace)"
[[ $(ms-report --md gone.trace) == *"#### MAPPED at "*"| 40.0 MiB | 1 |"* ]] || fail '--md'
is 'a moment that was asked for' "$(ms-report --at end gone.trace | grep -m1 '^MAPPED')" "MAPPED at the end, not counting the allocator's own mappings: 1.0 MiB, 1 site"
is 'JSON is of the end' "$(ms-report --json gone.trace | jq -r .at)" end
ms-record -q --mmap -o heap2.trace ./holder 40 1
is 'heap that was recorded with what is mapped' "$(ms-report heap2.trace | grep -c '^MAPPED')" 0

# ---- nothing is allocated while it is recorded ----
cat >idle.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *volatile p = malloc(1000);
	(void)p;
	if (write(1, "\n", 1) == 1)
		for (;;)
			pause();
}
END
gcc -O1 -g -o idle idle.c
coproc ./idle
# shellcheck disable=SC2153 # coproc sets it
read -r <&"${COPROC[0]}"
ms-record -q -p "$COPROC_PID" -d 1s -o idle.trace || fail 'not attached'
# shellcheck disable=SC2153
kill "$COPROC_PID"
screen=$(ms-report idle.trace)
[[ $screen == *$'\nCalls    no allocation in '[0-9.]*[0-9]' '* && $screen == *"complete, every event, no allocation in "* ]] || fail "idle: $screen"
[[ $screen != *NOTHING* ]] || fail "idle: nothing: $screen"
cat >none.c <<'END'
int main(void) { return 0; }
END
gcc -O1 -o none none.c
ms-record -q -o none.trace ./none
[[ $(ms-report none.trace 2>/dev/null | head -n 1) == '*** NOTHING WAS RECORDED'* ]] || fail "what was launched: $(ms-report none.trace)"
finish
