# A heap of which no frozen copy can be made.
TEST_PROGRAMS += $(B)/tests/host/leakasked
$(B)/tests/host/leakasked: tests/host/leakasked.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fno-builtin -o $@ $<
