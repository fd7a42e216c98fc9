# The writer of long traces for the benchmark of the readers; tests use it too.
TEST_PROGRAMS += $(B)/tests/bench/bigtrace
bench: $(B)/tests/bench/bigtrace

$(B)/tests/bench/bigtrace: $(B)/tests/bench/bigtrace.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
