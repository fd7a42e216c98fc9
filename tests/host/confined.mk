# SPDX-License-Identifier: MIT
# A program under seccomp filters of its own: see tests/host/confined.sh. Without sanitizers, which make system calls of their own.
TEST_PROGRAMS += $(B)/tests/host/confined
$(B)/tests/host/confined: tests/host/confined.c ms-record/guest/layout.h
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -fno-optimize-sibling-calls -std=gnu11 $(CPU_FLAGS) -I. -o $@ $< -lpthread
