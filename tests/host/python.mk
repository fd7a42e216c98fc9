# SPDX-License-Identifier: MIT
# What CPython says of its own stack: see tests/host/python.py. Without sanitizers, for a program that has none.
TEST_PROGRAMS += $(B)/tests/host/python_probe.so
$(B)/tests/host/python_probe.so: tests/host/python_probe.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -std=gnu11 -fPIC -shared -o $@ $<
TEST_PROGRAMS += $(B)/tests/host/leaky.so
$(B)/tests/host/leaky.so: tests/host/python_leak.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -fno-builtin -fPIC -shared -o $@ $<
TEST_PROGRAMS += $(B)/tests/host/python_embed
$(B)/tests/host/python_embed: tests/host/python_embed.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -o $@ $< -ldl
UNKNOWN_PYTHONS = 3.7 3.16 3.14t
UNKNOWN_3.16 = -DHEX=0x031000f0
UNKNOWN_3.14t = -DHEX=0x030e02f0 -DFREE_THREADED
TEST_PROGRAMS += $(UNKNOWN_PYTHONS:%=$(B)/tests/host/libpython%.so)
$(UNKNOWN_PYTHONS:%=$(B)/tests/host/libpython%.so): $(B)/tests/host/libpython%.so: tests/host/python_unknown.c
	@mkdir -p $(@D)
	$(CC) -O1 -Wall -Wextra -std=gnu11 $(UNKNOWN_$*) -fPIC -shared -o $@ $<
