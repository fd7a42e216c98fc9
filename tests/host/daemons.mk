# Commands that end before what they started does.
TEST_PROGRAMS += $(B)/tests/host/daemons
$(B)/tests/host/daemons: tests/host/daemons.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -Wall -Wextra -D_GNU_SOURCE -fno-builtin -o $@ $<
