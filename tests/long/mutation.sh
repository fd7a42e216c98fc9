#!/bin/bash
# SPDX-License-Identifier: MIT
# Mutants of a line each, of the trace format, the merge, the replay and the scan, against the tests of their rooms. Arguments: how many, 200,
# then a seed, 1. A mutant that all of its room's tests let pass is printed; the campaign fails when more than one in twenty is.
exec python3 "${SRC:?}/tests/long/mutation.py" "${1:-200}" "${2:-1}"
