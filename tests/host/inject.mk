# SPDX-License-Identifier: MIT
# Commands that nothing can be preloaded into: see tests/host/inject.py. Without sanitizers, which bring an allocator of their own.
INJECT_T := $(B)/tests/host
TEST_PROGRAMS += $(addprefix $(INJECT_T)/inject_,static static_pie own hidden)
INJECT_FLAGS := -g -O2 -Wall -Wextra -fno-builtin -std=gnu11
$(INJECT_T)/inject_static: tests/host/inject.c tests/host/every_call.h
	@mkdir -p $(@D)
	$(CC) $(INJECT_FLAGS) -static -o $@ $< -lpthread
$(INJECT_T)/inject_static_pie: tests/host/inject.c tests/host/every_call.h
	@mkdir -p $(@D)
	$(CC) $(INJECT_FLAGS) -fPIE -static-pie -o $@ $< -lpthread
$(INJECT_T)/inject_own: tests/host/inject.c tests/host/inject_own.c tests/host/every_call.h
	@mkdir -p $(@D)
	$(CC) $(INJECT_FLAGS) -o $@ $(filter %.c,$^) -lpthread
$(INJECT_T)/inject_hidden: tests/host/inject.c tests/host/inject_own.c tests/host/every_call.h
	@mkdir -p $(@D)
	$(CC) $(INJECT_FLAGS) '-DOWN=__attribute__((visibility("hidden")))' -o $@ $(filter %.c,$^) -lpthread
