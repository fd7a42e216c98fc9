# A fuzz target is one file tests/fuzz/fuzz_NAME.c with LLVMFuzzerTestOneInput, and seeds in tests/fuzz/corpus/NAME/.
# `make check` replays the corpus with gcc and no libFuzzer; `make fuzz` fuzzes each target with clang.
FUZZ_SECONDS ?= 60
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_REPLAY := $(FUZZ_NAMES:%=$(B)/tests/fuzz/fuzz_%)
TEST_PROGRAMS += $(FUZZ_REPLAY)

# ms-record as a library: a target gets the files that it needs, and may include one itself to reach what is static there.
RECORD_SRC := $(filter-out ms-record/main.c,$(call tool_src,ms-record))
RECORD_LIB := $(B)/tests/fuzz/librecord.a
$(RECORD_LIB): $(RECORD_SRC:%.c=$(B)/%.o)
	@mkdir -p $(@D); rm -f $@; ar crs $@ $^
FUZZ_LIBS := $(sort $(LIBS_common) $(LIBS_ms-record))
# Functions that kept.h puts its own before.
KEPT := ms_snapshot_new sqlite3_close sqlite3_exec sqlite3_finalize sqlite3_prepare_v2
$(B)/tests/fuzz/fuzz_snap build/fuzz/fuzz_snap: FUZZ_LIBS += $(KEPT:%=-Wl,--wrap=%)

$(FUZZ_REPLAY): $(B)/tests/fuzz/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(RECORD_LIB) $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(RECORD_LIB) $(COMMON_LIB) $(FORMAT_LIB) $(FUZZ_LIBS)
# All of ms-top but its main; it has names that the recorder has too.
FUZZ_TOP_SRC := $(sort $(wildcard ms-top/*/*.c))
$(B)/tests/fuzz/fuzz_top: $(FUZZ_TOP_SRC:%.c=$(B)/%.o)
$(B)/tests/fuzz/fuzz_top: FUZZ_LIBS := $(LIBS_ms-top)

F := build/fuzz
FUZZ_FLAGS := $(BASE) -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_OBJ := $(RECORD_SRC:%.c=$(F)/%.o) $(FORMAT_SRC:%.c=$(F)/%.o) $(COMMON_SRC:%.c=$(F)/%.o)
FUZZ_LIB := $(F)/libfuzz.a
$(FUZZ_LIB): $(FUZZ_OBJ)
	@rm -f $@; ar crs $@ $^
$(FUZZ_OBJ) $(FUZZ_TOP_SRC:%.c=$(F)/%.o) $(FUZZ_NAMES:%=$(F)/tests/fuzz/fuzz_%.o): $(F)/%.o: %.c $(COLUMN_HEADERS) $(B)/gen/symbol_sources.h
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -I. -I$(B)/gen -MMD -MP -c -o $@ $<
$(FUZZ_NAMES:%=$(F)/fuzz_%): $(F)/fuzz_%: $(F)/tests/fuzz/fuzz_%.o $(FUZZ_LIB)
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(FUZZ_LIB) $(FUZZ_LIBS)

$(F)/fuzz_top: $(FUZZ_TOP_SRC:%.c=$(F)/%.o)
$(F)/fuzz_top: FUZZ_LIBS := $(LIBS_ms-top)

$(F)/ms-record/attach/attach_image.o: FUZZ_FLAGS += -DMS_IMAGE_FILE='"$(IMAGE)"'
$(F)/ms-record/attach/attach_image.o: $(IMAGE)

fuzz-programs: $(FUZZ_NAMES:%=$(F)/fuzz_%)
fuzz:
	tests/long/fuzz.sh $(FUZZ_SECONDS)
.PHONY: fuzz fuzz-programs
-include $(shell find $(F) -name '*.d' 2>/dev/null)
