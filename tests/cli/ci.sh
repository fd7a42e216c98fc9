#!/bin/sh
# SPDX-License-Identifier: MIT
# The formats for continuous integration are what their parsers take.
set -eu
# shellcheck source=tests/cli/report/fixtures.sh
. "${SRC:?}/tests/cli/report/fixtures.sh"
exec /usr/bin/python3 "$SRC/tests/cli/ci.py"
