# The program that tests/cli/anonymize.sh looks into traces with.
TEST_PROGRAMS += $(B)/tests/cli/anonymize-bytes
$(B)/tests/cli/anonymize-bytes: $(B)/tests/cli/anonymize-bytes.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
