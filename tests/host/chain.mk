# SPDX-License-Identifier: MIT
# Links of chains of programs: see tests/host/chain.py. Without sanitizers, which bring an allocator of their own.
CHAIN_T := $(B)/tests/host
TEST_PROGRAMS += $(addprefix $(CHAIN_T)/chain_,static dynamic own)
CHAIN_FLAGS := -g -O1 -Wall -Wextra -fno-builtin -std=gnu11
$(CHAIN_T)/chain_static: tests/host/chain.c
	@mkdir -p $(@D)
	$(CC) $(CHAIN_FLAGS) -static -o $@ $<
$(CHAIN_T)/chain_dynamic: tests/host/chain.c
	@mkdir -p $(@D)
	$(CC) $(CHAIN_FLAGS) -o $@ $<
$(CHAIN_T)/chain_own: tests/host/chain.c tests/host/inject_own.c
	@mkdir -p $(@D)
	$(CC) $(CHAIN_FLAGS) -o $@ $^ -lpthread
