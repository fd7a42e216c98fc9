#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record, its helper, or the process that it attached to, killed at any moment. An argument: how many kills; 5000.
MS_KILLS=${1:-5000} exec python3 "${SRC:?}/tests/host/attach_kills.py"
