# SPDX-License-Identifier: MIT
# Many threads; run under the guest, and so without sanitizers.
TEST_PROGRAMS += $(B)/tests/host/crowd $(B)/tests/host/crowd_slow.so
$(B)/tests/host/crowd: tests/host/crowd.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fno-builtin -o $@ $< -lpthread
$(B)/tests/host/crowd_slow.so: tests/host/crowd_slow.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fPIC -shared -o $@ $<
