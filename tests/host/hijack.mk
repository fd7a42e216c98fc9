# SPDX-License-Identifier: MIT
# What ms-record does to other processes, by itself: see tests/host/hijack.sh.
HIJACK_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard $(addprefix ms-record/ptrace/,hijack*.c $(CPU)*.c))) ms-record/base/clock.c ms-record/base/descriptor.c ms-record/base/quiet.c ms-record/base/timed.c)
TEST_PROGRAMS += $(B)/tests/host/hijack $(B)/tests/host/hijack_victim
$(B)/tests/host/hijack: $(B)/tests/host/hijack.o $(HIJACK_OBJ) $(COMMON_LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB)
$(B)/tests/host/hijack_victim: tests/host/hijack_victim.c
	@mkdir -p $(@D)
	$(CC) -O1 -g -Wall -Wextra -D_GNU_SOURCE -std=gnu11 -o $@ $< -lpthread
