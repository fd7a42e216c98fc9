# SPDX-License-Identifier: MIT
# A program that opens a plugin over and over, and two builds of the plugin: see tests/host/reload.py. Without sanitizers.
RELOAD_T := $(B)/tests/host
RELOAD_FLAGS := -g -O1 -Wall -Wextra -fno-builtin -std=gnu11
TEST_PROGRAMS += $(RELOAD_T)/reload $(RELOAD_T)/reload_a.so $(RELOAD_T)/reload_b.so
$(RELOAD_T)/reload: tests/host/reload.c
	@mkdir -p $(@D)
	$(CC) $(RELOAD_FLAGS) -o $@ $< -ldl
$(RELOAD_T)/reload_%.so: tests/host/reload.c
	@mkdir -p $(@D)
	$(CC) $(RELOAD_FLAGS) -fPIC -shared -DPLUGIN=inner_$* -DBUILD_$* -o $@ $<
