#!/bin/bash
# SPDX-License-Identifier: MIT
# A PostgreSQL server under the recorder: it answers as without, each of its processes is recorded, and what these inherited from the server is what
# the server's own trace says it held when they were forked.
set -u
bin=$(find /usr/lib/postgresql -name postgres -path '*/bin/*' 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo 'postgresql is not installed' && exit 77; }
bin=${bin%/*}
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# PostgreSQL does not run as root, and whoever it runs as must reach the files.
home=$(mktemp -d /tmp/memscope-postgres.XXXXXX) || exit 1
server='' running=''
stop() { # the server, as an administrator would: SIGINT to the recorder would be the terminal's
	[ -z "$server" ] || { kill -INT "$(head -n 1 "$home/$1/postmaster.pid")" && wait "$server"; }
	local status=$?
	server=
	return $status
}
trap 'stop "$running"; rm -rf "$home"' EXIT
mkdir "$home/bin" && cp "$BIN/ms-record" "$BIN/ms-snap" "$BIN/libmemscope-preload.so" "$home/bin" || exit 1
as=()
if [ "$(id -u)" = 0 ]; then
	chown -R nobody "$home" || exit 1
	as=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
fi
cd "$home" || exit 1
psql=("${as[@]}" "$bin/psql" -X -q -h "$home" -U owner -d postgres)

"${as[@]}" "$bin/initdb" -D "$home/clean" -U owner -A trust --no-sync --locale=C.UTF-8 >initdb.out 2>&1 || { cat initdb.out && exit 1; }
cat >>clean/postgresql.conf <<END
listen_addresses = ''
unix_socket_directories = '$home'
log_connections = on
log_line_prefix = '%p '
fsync = off
shared_buffers = 16MB
END
cat >questions.sql <<'END'
CREATE TABLE word(id int PRIMARY KEY, name text, day date);
INSERT INTO word SELECT i, 'word' || i % 97, date '2026-01-01' + i % 365 FROM generate_series(1, 20000) i;
SELECT name, count(*), min(id), max(day) FROM word GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10;
SELECT string_agg(name, ',' ORDER BY id DESC) FROM word WHERE id % 1999 = 0;
WITH RECURSIVE f(a, b) AS (SELECT 0::numeric, 1::numeric UNION ALL SELECT b, a + b FROM f WHERE b < 1e60) SELECT max(b) FROM f;
SELECT a.name, b.id FROM word a JOIN word b ON a.id = b.id * 2 WHERE b.id BETWEEN 100 AND 110 ORDER BY 2;
SELECT json_agg(t) FROM (SELECT id, regexp_replace(name, '(\d+)', '<\1>') AS x FROM word ORDER BY id LIMIT 5) t;
SELECT 1 / 0;
SELECT no_such_column FROM word;
SELECT md5(string_agg(id::text || name, '' ORDER BY name, id)) FROM word;
END

# Runs the server as COMMAND and asks it; answers go to NAME.out.
run() { # NAME CLIENTS SECONDS COMMAND...
	local name=$1 clients=$2 seconds=$3
	shift 3
	"${as[@]}" cp -r clean "$name"
	"${as[@]}" "$@" "$bin/postgres" -D "$home/$name" >"$name.log" 2>&1 &
	server=$! running=$name
	for _ in $(seq 3000); do
		"${psql[@]}" -c 'SELECT 1' >/dev/null 2>&1 && break
		sleep 0.1
	done
	"${psql[@]}" -f questions.sql >"$name.out" 2>&1
	"${psql[@]}" -A -t -c "SELECT pid FROM pg_stat_activity" >"$name.pids" 2>&1
	"${as[@]}" "$bin/pgbench" -q -i -h "$home" -U owner postgres >"$name.init" 2>&1 || fail "$name: pgbench -i: $(cat "$name.init")"
	"${as[@]}" "$bin/pgbench" -n -c "$clients" -T "$seconds" -h "$home" -U owner postgres >"$name.bench" 2>&1 || fail "$name: pgbench: $(cat "$name.bench")"
	"${psql[@]}" -A -t -c 'SELECT count(*) > 0, sum(delta) = (SELECT sum(abalance) FROM pgbench_accounts) FROM pgbench_history' >>"$name.out" 2>&1
	stop "$name"
	echo "status $?" >>"$name.out"
}
run plain 4 2
run recorded 4 10 "$home/bin/ms-record" -o "$home/pg.trace"
cmp plain.out recorded.out || { fail 'the server answers something else' && diff plain.out recorded.out; }
is 'the last answers' "$(tail -n 2 recorded.out | tr '\n' ' ')" 't|t status 0 '
grep -q 'number of failed transactions: 0' recorded.bench || fail "pgbench: $(cat recorded.bench)"

# ---- each backend and each process of the server's own is an image, by its number ----
sed -n 's/^\([0-9]*\) LOG:  connection received.*/\1/p' recorded.log | sort -u >backends
grep -v '^#' pg.trace.d/index | cut -f 3 | sort -u >recorded.images
n=$(wc -l <backends)
[ "$n" -gt 8 ] || fail "only $n backends: $(tail recorded.log)"
is 'backends that are no image' "$(comm -23 backends recorded.images)" ''
is 'processes of the server that are no image' "$(sort -u recorded.pids | comm -23 - recorded.images)" ''
python3 "$SRC/tests/host/trees.py" tree pg.trace || fail 'the snapshot of the server is wrong'
python3 "$SRC/tests/host/trees.py" forks pg.trace || fail 'what the backends inherited is wrong'
echo "$n backends; $(grep -o 'tps = [0-9]*' plain.bench) without, $(grep -o 'tps = [0-9]*' recorded.bench) with the recorder"
finish
