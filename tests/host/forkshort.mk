# SPDX-License-Identifier: MIT
# A program whose children are soon over: see tests/host/forkshort.sh.
TEST_PROGRAMS += $(B)/tests/host/forkshort
$(B)/tests/host/forkshort: tests/host/forkshort.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -fno-builtin -D_GNU_SOURCE -std=gnu11 -o $@ $<
