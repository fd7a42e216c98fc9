# SPDX-License-Identifier: MIT
# A program that delivers its pages itself: see tests/host/uffd.py. Without sanitizers, whose memory it would have to deliver, too.
TEST_PROGRAMS += $(B)/tests/host/uffd
$(B)/tests/host/uffd: tests/host/uffd.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -std=gnu11 -o $@ $< -lpthread
