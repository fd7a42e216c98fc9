# The program with which tests/cli/sums.sh adds sums to short traces, too, and asks whether they are used.
TEST_PROGRAMS += $(B)/tests/cli/sums
$(B)/tests/cli/sums: $(B)/tests/cli/sums.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
