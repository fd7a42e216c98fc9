# SPDX-License-Identifier: MIT
# Test programs of the guest.
TEST_PROGRAMS += $(B)/tests/host/guest_recorder
$(B)/tests/host/guest_recorder: $(B)/tests/host/guest_recorder.o
	$(CC) $(ALL_LDFLAGS) -o $@ $<
