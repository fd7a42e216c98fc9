# The program that writes the traces of the manual pages' examples.
TEST_PROGRAMS += $(B)/tests/cli/snap-traces
$(B)/tests/cli/snap-traces: $(B)/tests/cli/snap-traces.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) -lzstd
