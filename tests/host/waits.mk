# SPDX-License-Identifier: MIT
# System calls that wait: see tests/host/attach_waits.py. Without sanitizers, which have waits of their own.
TEST_PROGRAMS += $(B)/tests/host/waits
$(B)/tests/host/waits: tests/host/waits.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -o $@ $< -lpthread -lrt
