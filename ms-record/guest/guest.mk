# SPDX-License-Identifier: MIT
# The guest: always optimized, never with sanitizers or flags from outside, whatever MODE says: it runs in other people's processes.
GUEST_DIR := ms-record/guest
PRELOAD_DIR := $(GUEST_DIR)/preload
GUEST_SRC := $(call of_cpu,$(sort $(wildcard $(GUEST_DIR)/*.c $(GUEST_DIR)/python/*.c $(PRELOAD_DIR)/*.c)))
GUEST_ASM := $(call of_cpu,$(sort $(wildcard $(GUEST_DIR)/*.S $(PRELOAD_DIR)/*.S)))
GUEST_CORE := preload/entry tell eh_frame grow rules unwind whole walk ring thread fork copy record hooks python/python user moment spans sample custom late confine apart stack $(CPU)_code $(CPU)_flow $(CPU)_memory
include $(GUEST_DIR)/$(CPU).mk

EXPORTS := $(B)/gen/exports.map

# The guest's own headers only, by their folder, and the list of functions; tests/lint/layers looks at what the compiler opens.
override GUEST_INCLUDE := -iquote .
override GUEST_CFLAGS := $(GUEST_INCLUDE) -std=gnu11 -g -O2 -fPIC -D_GNU_SOURCE $(WARN) -fvisibility=hidden -fno-stack-protector $(GUEST_CPU_CFLAGS) \
	$(CPU_FLAGS) -fno-strict-aliasing -fno-plt -fasynchronous-unwind-tables
override GUEST_CORE_CFLAGS := -ffreestanding -fno-builtin $(if $(CLANG),,-fno-tree-loop-distribute-patterns) -fomit-frame-pointer
override GUEST_BACKEND_CFLAGS := -fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls -fexceptions
override GUEST_LDFLAGS := -shared -Wl,-z,defs,-z,relro,-z,now,-z,nodelete,-z,initfirst,-z,noexecstack -Wl,--version-script=$(EXPORTS) \
	-Wl,-soname,libmemscope-preload.so -Wl,--build-id

$(B)/$(GUEST_DIR)/%.o: override ALL_CFLAGS = $(GUEST_CFLAGS) $(if $(filter $*,$(GUEST_CORE)),$(GUEST_CORE_CFLAGS),$(GUEST_BACKEND_CFLAGS)) $(GUEST_EXTRA)
$(B)/$(GUEST_DIR)/%.o: $(GUEST_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/$(GUEST_DIR)/%.o: $(GUEST_DIR)/%.S
	@mkdir -p $(@D)
	$(CC) $(GUEST_INCLUDE) -g -fPIC $(GUEST_CPU_ASFLAGS) -MMD -MP -c -o $@ $<

$(EXPORTS): $(PRELOAD_DIR)/exports.map $(PRELOAD_DIR)/next.def format/functions.def
	@mkdir -p $(@D)
	@$(CC) $(GUEST_INCLUDE) -E -P -x c $< -o $@

# A library that imports anything else than the list allows is not made.
$(GUEST): $(GUEST_SRC:%.c=$(B)/%.o) $(GUEST_ASM:%.S=$(B)/%.o) $(EXPORTS) $(GUEST_DIR)/imports.allow
	@mkdir -p $(@D)
	$(CC) $(GUEST_LDFLAGS) -o $@ $(filter %.o,$^)
	@$(NM) -D --undefined-only $@ | awk '{sub(/@.*/, "", $$NF); print $$NF}' | LC_ALL=C sort -u | \
	  LC_ALL=C comm -23 - $(GUEST_DIR)/imports.allow > $@.imports; \
	if [ -s $@.imports ]; then echo "$@: imports that imports.allow does not name:" $$(cat $@.imports) >&2; rm -f $@; exit 1; fi; rm -f $@.imports

# The image for processes that run already: the core once more, with another way to a thread's state, and nothing that a loader would have to
# do but add its address. It is built into ms-record.
IMAGE := $(B)/$(GUEST_DIR)/image/memscope-image.so
IMAGE_PARTS := tell eh_frame grow rules unwind whole walk ring thread fork copy record hooks python/python python/python_code python/python_loops user moment sample custom late confine apart stack $(CPU)_code $(CPU)_flow $(CPU)_memory $(CPU)_custom image/image image/$(CPU)_image
override IMAGE_LDFLAGS := -shared -nostdlib -Wl,-z,defs,-z,norelro,-z,noseparate-code,-z,noexecstack,-Bsymbolic,--hash-style=sysv,--build-id \
	-Wl,-soname,memscope-image.so

$(B)/$(GUEST_DIR)/image/%.o: override ALL_CFLAGS = $(GUEST_CFLAGS) $(GUEST_CORE_CFLAGS) -include $(GUEST_DIR)/image/image_self.h
$(B)/$(GUEST_DIR)/image/%.o: $(GUEST_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/$(GUEST_DIR)/image/%.o: $(GUEST_DIR)/%.S
	@mkdir -p $(@D)
	$(CC) $(GUEST_INCLUDE) -g -fPIC $(GUEST_CPU_ASFLAGS) -MMD -MP -c -o $@ $<

# No symbol from outside, no thread-local storage, and only relocations that add the address.
$(IMAGE): $(IMAGE_PARTS:%=$(B)/$(GUEST_DIR)/image/%.o)
	$(CC) $(IMAGE_LDFLAGS) -o $@.tmp $(filter %.o,$^)
	@if readelf -Wr $@.tmp | grep ' R_' | grep -v _RELATIVE || readelf -Wl $@.tmp | grep -w TLS || \
	  readelf -Ws --dyn-syms $@.tmp | grep -w UND | grep -vw '0: 0000000000000000'; then echo "$@: needs a loader" >&2; rm -f $@.tmp; exit 1; fi
	@$(OBJCOPY) --strip-debug $@.tmp $@ && rm -f $@.tmp
$(B)/ms-record/attach/attach_image.o: $(IMAGE)
$(B)/ms-record/attach/attach_image.o: ALL_CFLAGS += -DMS_IMAGE_FILE='"$(IMAGE)"'
