# SPDX-License-Identifier: MIT
# Test programs of the guest: a bench that plays recorder, hostile programs, and guests with judges or with seeded faults.
GUEST_T := $(B)/tests/host
GUEST_SEEDED := stale_slot stale_path stale_whole cfa_sign epoch
TEST_PROGRAMS += $(GUEST_T)/guest_recorder $(GUEST_T)/guest_adversary $(GUEST_T)/guest_plug_a.so $(GUEST_T)/guest_plug_b.so \
	$(GUEST_T)/guest_new $(GUEST_T)/guest_new_shell $(GUEST_T)/guest_storm $(GUEST_T)/guest_judged.so $(GUEST_SEEDED:%=$(GUEST_T)/guest_seeded_%.so)

$(GUEST_T)/guest_recorder: $(GUEST_T)/guest_recorder.o
	$(CC) $(ALL_LDFLAGS) -o $@ $<
# Run under the guest, and so without sanitizers, which bring an allocator of their own.
$(GUEST_T)/guest_adversary: tests/host/guest_adversary.cc tests/host/guest_frames.S
	@mkdir -p $(@D)
	g++ -g -O2 -Wall -Wextra -o $@ $^ -ldl -lpthread
$(GUEST_T)/guest_plug_a.so $(GUEST_T)/guest_plug_b.so: tests/host/guest_plug.S
	@mkdir -p $(@D)
	$(CC) -shared -DROOM=$(if $(findstring _a,$@),264 -DDECOY=256,520 -DDECOY=264) -o $@ $<

$(GUEST_T)/guest_new: tests/host/guest_new.cc
	@mkdir -p $(@D)
	g++ -g -O1 -Wall -Wextra -o $@ $<
$(GUEST_T)/guest_new_shell: tests/host/guest_new.cc tests/host/guest_shell.cc
	@mkdir -p $(@D)
	g++ -g -O1 -shared -fPIC -o $(@D)/libguest_shell.so tests/host/guest_shell.cc
	g++ -g -O1 -Wall -Wextra -o $@ $< -L$(@D) -Wl,-rpath,'$$ORIGIN',--no-as-needed -lguest_shell

$(GUEST_T)/guest_storm: tests/host/guest_storm.c tests/host/guest_bump.c
	@mkdir -p $(@D)
	$(CC) -g -O1 -fno-builtin -shared -fPIC -o $(@D)/libguest_bump.so tests/host/guest_bump.c
	$(CC) -g -O1 -Wall -Wextra -fno-builtin -o $@ $< -L$(@D) -Wl,-rpath,'$$ORIGIN',--no-as-needed -lguest_bump

GUEST_T_BUILD = $(CC) $(filter-out -mgeneral-regs-only,$(GUEST_CFLAGS)) $(GUEST_BACKEND_CFLAGS) -fno-tree-loop-distribute-patterns -I. -shared -Wl,-z,initfirst \
	-Wl,--version-script=$(EXPORTS)
# The version script hides them, but hidden functions of these names would be the judge's libc ones too. And entry.c is compiled as the
# core is: its calls at the end of a function have to be jumps.
GUEST_T_SRC := $(filter-out $(GUEST_DIR)/%_memory.c $(PRELOAD_DIR)/entry.c,$(GUEST_SRC)) $(GUEST_ASM) $(B)/$(PRELOAD_DIR)/entry.o
$(GUEST_T)/guest_judged.so: $(GUEST_T_SRC) tests/host/guest_judge.c $(GUEST_DIR)/core.h $(GUEST_DIR)/layout.h $(EXPORTS)
	@mkdir -p $(@D)
	$(GUEST_T_BUILD) -DMG_JUDGE -o $@ $(filter %.c %.S %.o,$^) -lunwind
$(GUEST_SEEDED:%=$(GUEST_T)/guest_seeded_%.so): $(GUEST_T)/guest_seeded_%.so: $(GUEST_T_SRC) tests/host/guest_judge.c $(GUEST_DIR)/core.h $(GUEST_DIR)/layout.h $(EXPORTS)
	@mkdir -p $(@D)
	$(GUEST_T_BUILD) -DMG_JUDGE -DMG_SEED_$(shell echo $* | tr a-z A-Z) -o $@ $(filter %.c %.S %.o,$^) -lunwind
