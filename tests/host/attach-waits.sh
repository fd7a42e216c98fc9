#!/bin/bash
# SPDX-License-Identifier: MIT
# ms-record -p: system calls that wait go on waiting.
set -e
python3 "$SRC/tests/host/attach_waits.py"
exec python3 "$SRC/tests/host/attach_waits.py" -c 2 io_uring_enter connect_unix_timed epoll_wait semop nanosleep write_full_pipe read_pipe
