# SPDX-License-Identifier: MIT
# A program under load that is scanned for leaks while it runs: see tests/host/leakscan.sh.
TEST_PROGRAMS += $(B)/tests/host/leakload
$(B)/tests/host/leakload: tests/host/leakload.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -fno-builtin -D_GNU_SOURCE -std=gnu11 -o $@ $< -lpthread
