# SPDX-License-Identifier: MIT
# What the campaigns need: tests/long/run.
TEST_PROGRAMS += $(B)/tests/long/failing.so $(B)/tests/long/counting.so
$(B)/tests/long/failing.so $(B)/tests/long/counting.so: $(B)/%.so: %.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -fno-builtin -fPIC -shared -o $@ $<
# Libraries with an allocator of their own, and with more static TLS than most have.
HOSTILE := hostile hostile_lib.so hostile_own.so hostile_tls.so
TEST_PROGRAMS += $(HOSTILE:%=$(B)/tests/long/%)
$(B)/tests/long/hostile: tests/long/hostile.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -fno-builtin -o $@ $< -lpthread -ldl
$(B)/tests/long/hostile_lib.so $(B)/tests/long/hostile_own.so $(B)/tests/long/hostile_tls.so: tests/long/hostile_lib.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -std=gnu11 -fno-builtin -fPIC -shared $(if $(findstring _own,$@),-DOWN) $(if $(findstring _tls,$@),-DTLS=1400) -o $@ $<
TEST_PROGRAMS += $(B)/tests/long/hostile_split
$(B)/tests/long/hostile_split: tests/long/hostile.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -std=gnu11 -fno-builtin -fsplit-stack -o $@ $< -lpthread -ldl
