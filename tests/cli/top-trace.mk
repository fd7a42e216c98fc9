# A program that allocates what it is told, one that writes a trace bit by bit, one that has a number given anew.
TEST_PROGRAMS += $(addprefix $(B)/tests/cli/top/,traced feed again)
$(B)/tests/cli/top/traced: tests/cli/top/traced.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-optimize-sibling-calls -Iinclude -o $@ $< -lpthread
$(B)/tests/cli/top/feed: $(B)/tests/cli/top/feed.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) -lzstd -lpthread -lm
$(B)/tests/cli/top/again: tests/cli/top/again.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -o $@ $<
