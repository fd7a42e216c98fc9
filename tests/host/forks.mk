# SPDX-License-Identifier: MIT
# Forks in every way; run under the guest, and so without sanitizers.
TEST_PROGRAMS += $(B)/tests/host/forks
$(B)/tests/host/forks: tests/host/forks.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fno-builtin -o $@ $< -lpthread
