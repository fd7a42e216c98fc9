# SPDX-License-Identifier: MIT
# A program that locks or advises on all that it has mapped: see tests/host/apart.sh. Without sanitizers, whose memory that would be too.
TEST_PROGRAMS += $(B)/tests/host/apart
$(B)/tests/host/apart: tests/host/apart.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -fno-optimize-sibling-calls -std=gnu11 $(CPU_FLAGS) -o $@ $< -lpthread
