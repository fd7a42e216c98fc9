# trace-dump prints a trace as text; trace-golden writes the traces that tests/golden keeps.
TRACE_TOOLS := $(B)/tests/trace-dump $(B)/tests/trace-golden
TEST_PROGRAMS += $(TRACE_TOOLS)
$(TRACE_TOOLS): $(B)/tests/%: $(B)/tests/golden/%.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) -lzstd
