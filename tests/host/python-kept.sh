#!/bin/sh
# SPDX-License-Identifier: MIT
# What a Python program keeps is kept by its interpreter's heap, as one row, with what it kept by site and type below it, whichever allocator Python uses;
# 10,000 objects of 1,033 bytes, which a dictionary of a module has.
set -eu
. "$SRC/tests/lib.sh"
# shellcheck source=tests/targets/kept/common.sh
. "$SRC/tests/targets/kept/common.sh"
cat >keep.py <<'END'
import json
import sys


def make():
    return bytes(1000)


class Node:
    def __init__(self):
        self.value = 1


keep = {i: make() for i in range(10000)}
nodes = [Node() for i in range(7000)]
print(sys.getsizeof(keep[0]), file=open("truth", "w"))
open("ready", "w").close()
open("go").close()
END
for allocator in pymalloc malloc; do
	record $allocator --env PYTHONMALLOC=$allocator /usr/bin/python3 keep.py
	is "$allocator: an object" "$(cat truth)" 1033
	heap=$(sql "SELECT k.id FROM kept k JOIN keeper r ON r.id = k.keeper AND r.scan = k.scan
		WHERE k.scan = 1 AND k.parent IS NULL AND r.kind = 'section' AND r.name LIKE '%python3% interpreter heap'")
	is "$allocator: other keepers of 5 % or more" "$(sql "SELECT count(*) FROM kept k, retention r
		WHERE k.scan = 1 AND r.scan = 1 AND k.parent IS NULL AND k.id != ${heap:-0} AND k.retained_bytes * 20 >= r.live_bytes")" 0
	# A word that is left over in free memory may keep some of them by another way.
	is "$allocator: objects" "$(sql "WITH RECURSIVE below(id) AS (VALUES (${heap:-0}) UNION ALL SELECT k.id FROM kept k JOIN below b ON k.parent = b.id
		WHERE k.scan = 1) SELECT k.bytes - 1033 * k.blocks, k.type FROM kept k JOIN below b ON b.id = k.id
		WHERE k.scan = 1 AND k.blocks BETWEEN 9900 AND 10000 AND k.bytes > 10000000")" '0 PyBytes_Type'
	[ $allocator = pymalloc ] || is "$allocator: a class" "$(sql "SELECT sum(blocks) FROM kept WHERE scan = 1 AND type = 'Node'")" 7000
	grep -q 'python3.* interpreter heap keeps' said || fail "$allocator: said: $(cat said)"
done
finish
