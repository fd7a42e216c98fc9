#!/bin/sh
# SPDX-License-Identifier: MIT
# No text view is wider than it was told to be, from 40 columns on: with long names, wide characters, large figures, hostile inputs.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "$SRC/tests/cli/report/fixtures.sh"
long=$(printf 'ns::%.0s' $(seq 60))
fixture long.db "UPDATE frame SET function = '${long}insert', file = '/very/long/folder/of/sources/that/nobody/shortens/src/kasse/größe/cache.cpp' WHERE id = 6;
	UPDATE frame SET function = '値段の変更を処理する関数::値段の変更を処理する関数::値段の変更を処理する関数', file = NULL WHERE id = 5;
	UPDATE thread SET name = '値段の変更を処理する関数スレッド'; UPDATE module SET path = '/opt/${long}lib.so.17' WHERE id = 1;
	UPDATE process SET host = '${long}', exe = '/opt/${long}', command = NULL, allocator = '${long}', allocations = 987654321012345,
	allocated_bytes = 9123456789012345678, peak_blocks = 123456789012, cut = '$long by --from 1s';
	INSERT INTO growth SELECT 1, id, 'growing', 10000000000, 1800000000000, 9123456789012, 9123456789012, 9000000000000, 9200000000000, 1e-9, 0.97,
	600000000000, 2990, 23, 1700000000000 FROM site; INSERT INTO growth VALUES (1, 0, 'filling', 1, 1800000000000, 120000000000, 4000000000, 1, 2, 1e-9, 0.97, NULL, NULL, NULL, 1700000000000);
	INSERT INTO mark VALUES (1, 99, '${long}', 1000000, 1, 1)"
fixture mended.db "UPDATE site SET verdict = 'unreachable', one_time = '${long}' WHERE id IN (1, 2)"
exec python3 "$SRC/tests/cli/narrow.py"
