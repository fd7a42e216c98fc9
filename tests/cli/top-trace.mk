# A program that allocates what it is told, and one that writes a trace bit by bit.
TEST_PROGRAMS += $(B)/tests/cli/top/traced $(B)/tests/cli/top/feed
$(B)/tests/cli/top/traced: tests/cli/top/traced.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-optimize-sibling-calls -Iinclude -o $@ $< -lpthread
$(B)/tests/cli/top/feed: $(B)/tests/cli/top/feed.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) -lzstd -lpthread -lm
