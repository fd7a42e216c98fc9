#!/bin/bash
# SPDX-License-Identifier: MIT
# Rings, the table of rules and the writer's queue in every order of their threads, one change more than the unit tests have (tests/unit/guest/interleave.h), then the
# same with one bug each, which has to be found. An argument: only so many bugs, and no more changes than the unit tests. Runs are bugs, found is
# what is wrong with the code or the checker.
set -u
SRC=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)} MODE=${MODE:-release}
most=${1:-1000} runs=0 found=0 seen=0
here=$PWD
# Sources that are changed one by one, in place of the checkout's.
mkdir tree
for i in build format include libcommon tests; do
	ln -s "$SRC/$i" "tree/$i"
done
cp -r "$SRC/ms-record" tree/

wrong() {
	found=$((found + 1))
	echo "threads: $*" >&2
}

# Compiles and links the unit test interleave_$1 from the tree, by the commands that make uses.
build() {
	local name
	name=$(cd "$SRC" && echo tests/unit/*/interleave_"$1".c) && name=${name%.c}
	make -s -C "$SRC" MODE="$MODE" "build/$MODE/$name" >build.log 2>&1 &&
		make -n -C "$SRC" MODE="$MODE" -W "$name.c" "build/$MODE/$name" 2>/dev/null |
		grep '^gcc .*interleave' | sed "s,build/$MODE/$name,$here/$1,g" >build.sh &&
		[ -s build.sh ] && (cd tree && sh -e "$here/build.sh") >>build.log 2>&1
}

# bug TEST FILE NAME SED: a change of one file, which the test has to fail of.
bug() {
	[ $runs -lt "$most" ] || return
	runs=$((runs + 1))
	local file=tree/ms-record/$2 line
	sed "$4" "$SRC/ms-record/$2" >"$file"
	if cmp -s "$file" "$SRC/ms-record/$2"; then
		wrong "$3: nothing to change in $2"
	elif ! build "$1"; then
		wrong "$3: $(tail -n 3 build.log)"
	elif timeout 120 "./$1" >out.txt 2>&1; then
		wrong "$3: not found"
	elif ! line=$(grep -m 1 ', in run' out.txt); then
		wrong "$3: the test ended otherwise: $(tail -n 1 out.txt)"
	else
		seen=$((seen + 1))
		echo "$3: $line" >&2
	fi
	cp "$SRC/ms-record/$2" "$file"
}

for test in ring rules queue; do
	more=$([ $# = 0 ] && echo 1 || echo 0)
	if ! build $test || ! "./$test" "$more" >out.txt 2>&1; then
		cat build.log out.txt >&2
		wrong "$test: fails as it is"
	fi
	[ $found = 0 ] && sed 's/^/as it is: /' out.txt >&2
done

# ---- what a writer does ----
bug ring guest/core.h 'a record is published without release' '/mg_publish(struct/,/^}/s/head, __ATOMIC_RELEASE/head, __ATOMIC_RELAXED/'
bug ring guest/core.h 'a short record is published without release' '/mg_publish_stamped/,/^}/s/head, __ATOMIC_RELEASE/head, __ATOMIC_RELAXED/'
bug ring guest/core.h 'a stamp is no more pending, without release' '/mg_publish_stamped/,/^}/s/pending, 0, __ATOMIC_RELEASE/pending, 0, __ATOMIC_RELAXED/'
bug ring guest/core.h 'a stamp is no more pending before its record is there' '/mg_publish_stamped/,/^}/{s/&r->head, t->head,/\&r->PENDING, 0,/;s/&r->pending, 0,/\&r->head, t->head,/;s/PENDING/pending/}'
bug ring guest/core.h 'no stamp is ever pending' 's/pending, t->last + 1, __ATOMIC_RELEASE/pending, 0, __ATOMIC_RELEASE/'
bug ring guest/record.h 'a short free is published before it is written' 's/^\tw\[0\] = MG_SHORT_FREE .*/\tmg_publish_stamped(t, 1);\n&\n\treturn;/'
bug ring guest/ring.c 'who waits makes no fence' '/^\t__atomic_thread_fence(__ATOMIC_SEQ_CST);$/d'
bug ring guest/ring.c 'who waits does not say so' 's/waiting, 1, __ATOMIC/waiting, 0, __ATOMIC/'
bug ring guest/ring.c 'who waits wakes nobody' '/^static void sleep_for_tail/,/^}/{/^\tmg_wake_recorder();$/d}'
bug ring guest/ring.c 'who waits does not look again' '/^static void sleep_for_tail/,/^}/s/^\tif (.*/\tif (tail + 1)/'
bug ring guest/ring.c 'who waits reads its futex too late' 's/MG_FUTEX_WAIT, seen,/MG_FUTEX_WAIT, __atomic_load_n(\&r->tail_futex, __ATOMIC_ACQUIRE) + 0 * seen,/'
bug ring guest/ring.c 'no word is kept for the end of a lap' 's/bytes + 8 <= limit/bytes <= limit/'
bug ring guest/ring.c 'a lap ends a word late' 's/t->offset + bytes + 8 > t->size/t->offset + bytes > t->size/'
bug ring guest/ring.c 'a lap before the last one counts as read' 's/^\tif (behind > t->head - t->lap_before)/\tif (behind > 2 * t->head)/'
bug ring guest/ring.c 'the lap before is forgotten' '/^static void wrap/,/^}/{/^\tt->lap_before = t->lap;/d}'
bug ring guest/thread.c 'two threads take one ring' 's/__atomic_fetch_and(word, ~bit, __ATOMIC_ACQUIRE) & bit/(__atomic_store_n(word, free \& ~bit, __ATOMIC_RELEASE), bit)/'
# ---- what the draining thread does ----
bug ring drain/ring.c 'head is read without acquire' '/^uint64_t ring_read_all/,/^}/s/head, __ATOMIC_ACQUIRE/head, __ATOMIC_RELAXED/'
bug ring drain/ring.c 'pending is read without acquire' '/^uint64_t ring_read_all/,/^}/s/pending, __ATOMIC_ACQUIRE/pending, __ATOMIC_RELAXED/'
bug ring drain/ring.c 'head is read before pending' '/^uint64_t ring_read_all/,/^}/{s/t pending = __atomic_load_n(&r->ring->pending/t HEAD = __atomic_load_n(\&r->ring->head/;s/t head = __atomic_load_n(&r->ring->head/t pending = __atomic_load_n(\&r->ring->pending/;s/HEAD/head/}'
bug ring drain/ring.c 'head is not read again where pending does not count' 's/^\t\t\t\thead = __atomic_load_n/\t\t\t\t(void)__atomic_load_n/'
bug ring drain/ring.c 'room is given before it is read' 's/^\tint64_t read = parse_records/\t__atomic_store_n(\&r->ring->tail, head, __ATOMIC_SEQ_CST);\n&/'
bug ring drain/ring.c 'tail is stored with release only' 's/tail, r->tail, __ATOMIC_SEQ_CST/tail, r->tail, __ATOMIC_RELEASE/'
bug ring drain/ring.c 'waiting is read too early' 's/&ring->waiting, __ATOMIC_SEQ_CST/\&ring->waiting, __ATOMIC_RELAXED/'
bug ring base/wake.c 'a wake-up does not change its futex' '/^void wake_shared/,/^}/{/__atomic_add_fetch/d}'
bug ring drain/ring.c 'it sleeps without a fence' '/^bool ring_wanted/,/^}/{/^\t__atomic_thread_fence/d}'
bug ring drain/ring.c 'it sleeps without a look for new rings' '/^bool ring_wanted/,/^}/{/^\tlist_taken/d}'
bug ring drain/ring.c 'it sleeps while a thread waits' 's/(unread && __atomic_load_n(&r->ring->waiting, __ATOMIC_RELAXED))/false/'
bug ring drain/ring.c 'it spins for a ring that it leaves for later' 's/!(s->drained->left && r->later) &&/true \&\&/'
bug ring drain/drain.c 'it sleeps long though a ring is left for later' 's/if (any_left(d) ||/if ((false \&\& any_left(d)) ||/'
bug ring drain/drain.c 'it says too late that it sleeps' '/^static bool announce_idle/,/^}/{s/sleeping, how, __ATOMIC_SEQ_CST/sleeping, 0, __ATOMIC_SEQ_CST/;s/^\treturn true;/\td->pools.v[0]->head->sleeping = how;\n&/}'
# ---- the table of rules ----
bug rules guest/rules.c 'key and rule are stored one by one' 's/^#include "core.h"/&\nstatic bool torn(struct mg_rule_slot *at, const uint64_t old[2], const uint64_t new[2])\n{\n\tif (__atomic_load_n(\&at->key, __ATOMIC_SEQ_CST) != old[0])\n\t\treturn false;\n\t__atomic_store_n(\&at->key, new[0], __ATOMIC_SEQ_CST);\n\t__atomic_store_n(\&at->rule, new[1], __ATOMIC_SEQ_CST);\n\treturn true;\n}/;s/mg_swap_pair(slot/torn(slot/'
bug rules guest/step.h 'the key is not read again' 's/MG_LIKELY(__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) == key/MG_LIKELY(k == key/'
bug rules guest/step.h 'the rule is not checked' 's/(rule >> 24 & 0xff) == MG_RULE_CHECK(hash, epoch)/true/'
bug rules guest/step.h 'the key is read without acquire' 's/k = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE)/k = __atomic_load_n(\&slot->key, __ATOMIC_RELAXED)/'
bug rules guest/step.h 'the rule is read without acquire' 's/rule = __atomic_load_n(&slot->rule, __ATOMIC_ACQUIRE)/rule = __atomic_load_n(\&slot->rule, __ATOMIC_RELAXED)/'
bug rules guest/rules.c 'a thread that is late takes over what is new' 's/- epoch) < LATE)/- epoch) < 1)/'
bug rules guest/rules.c 'slots are counted without care' 's/__atomic_add_fetch(&t->used, 1, __ATOMIC_RELAXED)/++t->used/'
bug rules guest/rules.c 'a slot is copied that is taken over meanwhile' 's/^\t\tif (s.key && s.key == .*/\t\tif (s.key \&\&/;s/^\t\t    (s.rule >> 24 & 0xff) == .*/\t\t    true)/'
# ---- the writing thread's queue ----
bug queue write/writer.c 'a push wakes nobody' '/^void writer_push/,/^}/{s/^\tif (b->ends .*/\tif (false)/}'
bug queue write/writer.c 'nobody is told of room' 's/w->queued <= w->room_at/false/'
bug queue write/writer.c 'the end of the queue is lost' '/^static struct batch \*take/,/^}/{s/^\t\tif (!w->first)$/\t\tif (false)/}'
bug queue write/writer.c 'the last batches are not woken for' '/^bool writer_stop/,/^}/{/pthread_cond_signal/d}'
bug queue write/writer.c 'a queue that is full is no reason to wait' 's/while (w->queued >= QUEUE_MAX)/while (false)/'

echo "threads: runs $runs, found $found, left $found"
echo "threads: $seen of $runs bugs were seen" >&2
[ $found = 0 ]
