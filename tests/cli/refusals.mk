# SPDX-License-Identifier: MIT
# What ms-record -p has to refuse.
REFUSALS_T := $(B)/tests/cli
TEST_PROGRAMS += $(REFUSALS_T)/refusals $(REFUSALS_T)/refusals_static

$(REFUSALS_T)/refusals: tests/cli/refusals/target.c
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 $(WARN) -fno-builtin -pthread -o $@ $<
$(REFUSALS_T)/refusals_static: tests/cli/refusals/target.c
	@mkdir -p $(@D)
	$(CC) -O2 -std=gnu11 $(WARN) -fno-builtin -pthread -static -s -o $@ $<
