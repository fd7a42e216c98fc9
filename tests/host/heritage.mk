# SPDX-License-Identifier: MIT
# heritage: what forked children inherit, by ms-record's own files.
HERITAGE := $(B)/tests/host/heritage
TEST_PROGRAMS += $(HERITAGE)
$(HERITAGE): $(B)/tests/host/heritage.o $(patsubst %.c,$(B)/%.o,$(filter-out ms-record/main.c,$(sort $(wildcard ms-record/*.c)))) $(COMMON_LIB) $(FORMAT_LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
