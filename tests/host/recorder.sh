#!/bin/sh
# SPDX-License-Identifier: MIT
# ms-record's draining, merging and writing against a guest played by a test program, hostile ones too.
"$TB/host/recorder" && "$TB/host/recorder_stacks"
