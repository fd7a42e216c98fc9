# SPDX-License-Identifier: MIT
# Processes to attach to: see tests/host/attach.py. Without sanitizers, which bring an allocator of their own.
ATTACH_T := $(B)/tests/host
ATTACH_C := $(addprefix tests/host/,attach.c attach_counts.c attach_odd.c)
ATTACH_H := $(addprefix tests/host/,attach_target.h every_call.h)
TEST_PROGRAMS += $(ATTACH_T)/attach $(ATTACH_T)/attach_static $(ATTACH_T)/attach_plug.so $(ATTACH_T)/attach_early $(ATTACH_T)/attach_execs
$(ATTACH_T)/attach: $(ATTACH_C) $(ATTACH_H)
	@mkdir -p $(@D)
	$(CC) -g -O2 -Wall -Wextra -fno-builtin -std=gnu11 -o $@ $(ATTACH_C) -ldl -lpthread
$(ATTACH_T)/attach_static: $(ATTACH_C) $(ATTACH_H)
	@mkdir -p $(@D)
	$(CC) -g -O2 -static -fno-builtin -std=gnu11 -o $@ $(ATTACH_C) -lpthread 2>/dev/null
$(ATTACH_T)/attach_plug.so: tests/host/attach_plug.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -shared -fPIC -fno-optimize-sibling-calls -o $@ $<
$(ATTACH_T)/attach_early: tests/host/attach_early.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -nostdlib -static -fno-stack-protector -o $@ $<
$(ATTACH_T)/attach_execs: tests/host/attach_execs.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -o $@ $<
