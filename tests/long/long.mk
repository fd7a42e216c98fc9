# SPDX-License-Identifier: MIT
# What the campaigns need: tests/long/run.
TEST_PROGRAMS += $(B)/tests/long/failing.so
$(B)/tests/long/failing.so: tests/long/failing.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -fno-builtin -fPIC -shared -o $@ $<
