#!/bin/bash
# SPDX-License-Identifier: MIT
# Losses at random, while the recorder is stopped again and again: counted to the event.
exec "${SRC:?}/tests/long/losses.sh" 24
