#!/bin/sh
# SPDX-License-Identifier: MIT
# The options of each tool are the same in its table, in its --help and in its manual page; what other pages and README type exists too.
cd "${SRC:?}" && exec tests/lint/options "${BIN:?}" --run
