# SPDX-License-Identifier: MIT
# A program that ends in many ways: see tests/host/leaktrace.sh.
TEST_PROGRAMS += $(B)/tests/host/leaktrace
$(B)/tests/host/leaktrace: tests/host/leaktrace.c include/memscope.h
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -fno-builtin -D_GNU_SOURCE -std=gnu11 -I. -o $@ $< -lpthread
