# SPDX-License-Identifier: MIT
# A process for --standby: see tests/host/standby.py. Without sanitizers, which bring an allocator of their own.
TEST_PROGRAMS += $(B)/tests/host/standby
$(B)/tests/host/standby: tests/host/standby.c
	@mkdir -p $(@D)
	$(CC) -g -O2 -Wall -Wextra -fno-builtin -std=gnu11 -o $@ $< -lpthread
