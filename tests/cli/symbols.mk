# The program that tests/cli/symbols.sh compares with addr2line.
TEST_PROGRAMS += $(B)/tests/cli/symbols-lookup
$(B)/tests/cli/symbols-lookup: $(B)/tests/cli/symbols-lookup.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
