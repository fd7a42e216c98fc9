# SPDX-License-Identifier: MIT
# Stacks of every kind; run under the guest, and so without sanitizers.
TEST_PROGRAMS += $(B)/tests/host/stacks
$(B)/tests/host/stacks: tests/host/stacks.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fno-builtin -fno-stack-clash-protection -o $@ $< -lpthread
