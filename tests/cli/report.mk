# The table of names and budgets for tests/cli/report-names.sh: parts of ms-report without its main.
TEST_PROGRAMS += $(B)/tests/cli/report-names
REPORT_PARTS := $(patsubst %,$(B)/ms-report/%.o,words/names ci/budget model/figures model/recursion)
$(B)/tests/cli/report-names: $(B)/tests/cli/report-names.o $(REPORT_PARTS) $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
