# SPDX-License-Identifier: MIT
# Programs with one memory defect each, built as their developers would: see tests/cli/answers.sh.
ANSWERS_DIR := $(B)/tests/cli/answers
ANSWERS_FLAGS := -O1 -g -fno-omit-frame-pointer -Wall -Wextra -D_GNU_SOURCE
ANSWERS_PLUGINS := plugins_upper
ANSWERS_C := $(filter-out $(ANSWERS_PLUGINS),$(patsubst tests/cli/answers/%.c,%,$(wildcard tests/cli/answers/*.c)))
ANSWERS_CC := $(patsubst tests/cli/answers/%.cc,%,$(wildcard tests/cli/answers/*.cc))
TEST_PROGRAMS += $(addprefix $(ANSWERS_DIR)/,$(ANSWERS_C) $(ANSWERS_CC) $(ANSWERS_PLUGINS:%=%.so))

$(ANSWERS_C:%=$(ANSWERS_DIR)/%): $(ANSWERS_DIR)/%: tests/cli/answers/%.c tests/cli/answers/random.h
	@mkdir -p $(@D)
	$(CC) $(ANSWERS_FLAGS) -std=gnu11 -o $@ $< -lpthread -ldl
$(ANSWERS_CC:%=$(ANSWERS_DIR)/%): $(ANSWERS_DIR)/%: tests/cli/answers/%.cc tests/cli/answers/random.h
	@mkdir -p $(@D)
	g++ $(ANSWERS_FLAGS) -std=gnu++17 -o $@ $< -lpthread
$(ANSWERS_PLUGINS:%=$(ANSWERS_DIR)/%.so): $(ANSWERS_DIR)/%.so: tests/cli/answers/%.c
	@mkdir -p $(@D)
	$(CC) $(ANSWERS_FLAGS) -std=gnu11 -fPIC -shared -o $@ $<
