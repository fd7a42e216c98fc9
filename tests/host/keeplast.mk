# SPDX-License-Identifier: MIT
# The same events each time: see tests/host/keeplast.py. Without sanitizers.
KEEPLAST_T := $(B)/tests/host/keeplast
TEST_PROGRAMS += $(KEEPLAST_T)
$(KEEPLAST_T): tests/host/keeplast.c include/memscope.h
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -std=gnu11 -Iinclude -o $@ $<
