# SPDX-License-Identifier: MIT
# Code without unwind tables, with frame pointers and without; run under the guest, and so without sanitizers.
TABLELESS := $(foreach o,0 1 2 3,framed$(o) frameless$(o)) framedstatic
TEST_PROGRAMS += $(TABLELESS:%=$(B)/tests/host/tableless-%)
override TABLELESS_CFLAGS := -Wall -Wextra -D_GNU_SOURCE -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-stack-protector
$(B)/tests/host/tableless-framed%: tests/host/tableless.c
	@mkdir -p $(@D)
	$(CC) -O$(subst static,2 -static,$*) $(TABLELESS_CFLAGS) -fno-omit-frame-pointer -o $@ $<
$(B)/tests/host/tableless-frameless%: tests/host/tableless.c
	@mkdir -p $(@D)
	$(CC) -O$* $(TABLELESS_CFLAGS) -fomit-frame-pointer -o $@ $<
