# recorder, recorder_stacks: ms-record's own files against a guest played by the test.
RECORDER := $(addprefix $(B)/tests/host/,recorder recorder_stacks)
RECORDER_OBJ := $(filter-out $(B)/ms-record/main.o,$(patsubst %.c,$(B)/%.o,$(call tool_src,ms-record)))
TEST_PROGRAMS += $(RECORDER)
$(RECORDER): %: %.o $(RECORDER_OBJ) $(COMMON_LIB) $(FORMAT_LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_ms-record)
