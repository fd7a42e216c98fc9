#!/bin/sh
# SPDX-License-Identifier: MIT
# A Python program that is attached to, and recorders of it that are killed, for some seconds.
exec "${SRC:?}/tests/long/storms.sh" 6
