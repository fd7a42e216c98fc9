#!/bin/sh
# SPDX-License-Identifier: MIT
# What forked children inherit, against a model; and directories of slots that no honest child writes.
exec "$TB/host/inherited_heap"
