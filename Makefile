# MemScope. `make help` lists what can be made. One file, no recursion; objects live in build/<mode>/.
.DEFAULT_GOAL := all
VERSION := 0.1.0
MODE ?= release
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
ZSH_FOLDER ?= $(PREFIX)/share/zsh/site-functions
# A cross build, `make ARCH=aarch64`, has Debian's names of the tools and a folder of its own.
CROSS := $(if $(ARCH),$(ARCH)-linux-gnu-)
CC = $(CROSS)gcc
AR = $(CROSS)ar
NM = $(CROSS)nm
OBJCOPY = $(CROSS)objcopy
B := build/$(if $(ARCH),$(ARCH)-)$(MODE)
JOBS ?= $(shell nproc)

# What scripts match must not depend on who builds: in Turkish [a-z] has no i.
export LC_ALL := C.UTF-8

# One line per file; `make V=1` shows the commands.
ifndef V
.SILENT:
endif
say = @printf '  %-5s %s\n'

# The processor. Files with its name are built, those of the others that there are (CONTRIBUTING.md, Porting) not.
# Before `make deps` there may be no compiler to ask.
CPU := $(or $(ARCH),$(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m))))
CPUS := $(patsubst ms-record/guest/%_layout.h,%,$(wildcard ms-record/guest/*_layout.h))
CPU_FLAGS := -DMS_CPU='"$(CPU)"' -DMS_CPU_H='"$(CPU).h"' -DMG_CPU_LAYOUT_H='"$(CPU)_layout.h"'
of_cpu = $(foreach f,$(1),$(if $(filter $(addsuffix %,$(filter-out $(CPU),$(CPUS))),$(notdir $(f))),,$(f)))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Werror=implicit-function-declaration
# clang takes designators after a value for fields that were forgotten.
CLANG := $(findstring clang,$(CC))
WARN += $(if $(CLANG),-Wno-missing-field-initializers)
BASE := -std=gnu11 -g -fno-omit-frame-pointer -D_GNU_SOURCE -DMS_VERSION='"$(VERSION)"' $(CPU_FLAGS) $(WARN)
CFLAGS_release := -O2
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 -fsanitize=thread
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
CFLAGS ?=
ALL_CFLAGS = $(BASE) $(CFLAGS_$(MODE)) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_$(MODE)) $(LDFLAGS)

# ---- layers -------------------------------------------------------------------------------------
FORMAT_SRC := $(sort $(wildcard format/*.c))
COMMON_SRC := $(sort $(wildcard libcommon/*/*.c))
TOOLS := $(sort $(patsubst %/main.c,%,$(wildcard ms-*/main.c)))
FORMAT_LIB := $(B)/libformat.a
COMMON_LIB := $(B)/libcommon.a

LIBS_ms-record := -lunwind-$(CPU) -lunwind -liberty -lzstd -lpthread -lm
LIBS_common := -lsqlite3 -ldw -lelf -liberty -lzstd -lz -ldeflate -llzma -lpthread -lm
LIBS_ms-snap := $(LIBS_common)
LIBS_ms-filter := $(LIBS_common)
LIBS_ms-diff := $(LIBS_common)
LIBS_ms-report := $(LIBS_common)
LIBS_ms-top := $(LIBS_common) -lncursesw -lmicrohttpd

ifneq ($(filter $(CPU),$(CPUS)),)
GUEST := $(B)/bin/libmemscope-preload.so
include ms-record/guest/guest.mk
else ifneq ($(CPUS),)
$(info ms-record knows no processor '$(CPU)', only $(CPUS) (CONTRIBUTING.md, Porting): the tools that read traces are built)
TOOLS := $(filter-out ms-record,$(TOOLS))
endif
-include libcommon/api/public.mk

# Completions are what a tool says of itself, so the tool has to run here.
all: $(TOOLS:%=$(B)/bin/%) $(GUEST) $(LIB_FILES) $(if $(ARCH),,$(if $(wildcard packaging/completions),$(TOOLS:%=$(B)/completions/%.bash)))

$(B)/format/%.o: format/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/libcommon/%.o: libcommon/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(CC) $(ALL_CFLAGS) $(LIB_CFLAGS) -I. -I$(B)/gen -MMD -MP -c -o $@ $<
$(B)/ms-%.o: ms-%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(CC) $(ALL_CFLAGS) -I. -I$(B)/gen -MMD -MP -c -o $@ $<
# Their clones share memory and thread-local variables with a thread, run on mapped stacks and are killed. A sanitizer would take each one for that
# thread and leave its stack poisoned, and the thread sanitizer's clone() takes it for a fork, after which its thread synchronizes with nothing.
$(addprefix $(B)/,ms-record/base/timed.o ms-record/ptrace/hijack_guard.o tests/unit/ms-record/timed.o): ALL_CFLAGS += -fno-sanitize=all $(if $(filter tsan,$(MODE)),-Dclone=__clone)
$(B)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(say) CC $<
	$(CC) $(ALL_CFLAGS) -I. -I$(B)/gen -MMD -MP -c -o $@ $<
$(FORMAT_LIB): $(FORMAT_SRC:%.c=$(B)/%.o)
	@mkdir -p $(@D); rm -f $@; $(AR) crs $@ $^
$(COMMON_LIB): $(COMMON_SRC:%.c=$(B)/%.o)
	@mkdir -p $(@D); rm -f $@; $(AR) crs $@ $^

# The snapshot's tables, from one description: the schema as a string, and lists of columns.
COLUMNS := libcommon/snapshot/columns
$(B)/gen/schema_sql.h: $(COLUMNS) $(COLUMNS).def libcommon/snapshot/schema.sql
	@mkdir -p $(@D)
	@{ echo '/* made by libcommon/snapshot/columns */'; echo 'static const char schema_sql[] ='; \
	  $(COLUMNS) schema | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/'; echo ';'; } > $@
$(B)/gen/snapshot_columns.h: $(COLUMNS) $(COLUMNS).def
	@mkdir -p $(@D)
	@$(COLUMNS) header >$@
COLUMN_HEADERS := $(B)/gen/schema_sql.h $(B)/gen/snapshot_columns.h
$(COMMON_SRC:%.c=$(B)/%.o) $(patsubst %.c,$(B)/%.o,$(wildcard ms-*/*.c ms-*/*/*.c)): $(COLUMN_HEADERS)

# What names the code that looks symbols up: others' results are not taken from the cache.
SYMBOL_SOURCES := $(sort $(wildcard libcommon/symbols/*.[ch] libcommon/names/*.[ch] format/functions.def))
$(B)/gen/symbol_sources.h: $(SYMBOL_SOURCES)
	@mkdir -p $(@D)
	@cat $(SYMBOL_SOURCES) | cksum | sed 's/\(.*\)/#define MS_SYMBOLS_SOURCES "\1"/' >$@
$(B)/libcommon/symbols/symbols.o: $(B)/gen/symbol_sources.h

# Style, text and script of ms-report --html.
HTML_PARTS := ms-report/html/page.css ms-report/html/page.html \
  $(patsubst %,ms-report/html/%.js,data words estimate charts timeline samples flame search state tables sites lists kept cohorts ranges page)
$(B)/gen/html_parts.h: ms-report/html/embed $(HTML_PARTS)
	@mkdir -p $(@D)
	@ms-report/html/embed $(HTML_PARTS) >$@
$(B)/ms-report/html/html.o: $(B)/gen/html_parts.h

# What ms-report --explain says.
$(B)/gen/terms.h: ms-report/text/terms man/memscope.7
	@mkdir -p $(@D)
	@ms-report/text/terms man/memscope.7 >$@
$(B)/ms-report/text/explain.o: $(B)/gen/terms.h

# A tool's folder and its rooms; the guest is a library of its own.
tool_src = $(call of_cpu,$(sort $(wildcard $(1)/*.c) $(filter-out ms-record/guest/%,$(wildcard $(1)/*/*.c))))
define tool_rule
$(B)/bin/$(1): $(patsubst %.c,$(B)/%.o,$(call tool_src,$(1))) $(COMMON_LIB) $(FORMAT_LIB)
	@mkdir -p $$(@D)
	$$(say) LINK $$@
	$(CC) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o,$$^) $(COMMON_LIB) $(FORMAT_LIB) $$(LIBS_$(1))
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# ---- tests --------------------------------------------------------------------------------------
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/*/*.c)))
$(UNIT): $(B)/tests/unit/%: $(B)/tests/unit/%.o $(COMMON_LIB) $(FORMAT_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(COMMON_LIB) $(FORMAT_LIB) $(LIBS_common)
-include $(sort $(wildcard tests/*/*.mk tests/unit/*/*.mk))

test-programs: $(UNIT) $(TEST_PROGRAMS)

check: deps
	$(MAKE) -j$(JOBS) all test-programs
	MODE=$(MODE) tests/run
check-all: deps-all
	$(MAKE) -j$(JOBS) all test-programs
	MODE=$(MODE) MS_CHECK_ALL=1 tests/run
# The long form of each campaign of tests/long, a line each.
check-long: deps-all
	$(MAKE) -j$(JOBS) all test-programs
	MODE=$(MODE) tests/long/run
check-everywhere:
	packaging/matrix
asan:
	$(MAKE) MODE=asan check
tsan:
	$(MAKE) -j$(JOBS) MODE=tsan all test-programs
	MODE=tsan tests/run unit tests/host/ms-record.sh tests/host/tell.sh tests/host/recorder.sh tests/host/leakscan.sh tests/host/children.sh tests/targets/kept.sh tests/cli/snap.sh tests/cli/symbols.sh tests/targets/bigtrace.sh
lint: deps
	tests/lint/run
bench: bench-programs
	tests/bench/run
bench-quick: bench-programs
	tests/bench/run --quick
# What ms-top costs and how soon it answers.
bench-top: deps-bench
	$(MAKE) -j$(JOBS) all $(B)/tests/bench/bigtrace $(addprefix $(B)/tests/cli/top/,traced feed)
	tests/bench/top
bench-programs: deps-bench
	$(MAKE) -j$(JOBS) all $(BENCH_PROGRAMS)

deps:
	@tests/deps
deps-all:
	@tests/deps all
deps-bench:
	@tests/deps bench
deps-deb:
	@tests/deps deb
demo: deps
	$(MAKE) -j$(JOBS) all
	@tests/demo

# README's pictures, from real runs; as root, with chromium.
screens: demo
	@tests/screens

# ---- install ------------------------------------------------------------------------------------
# Completions, from the programs' own tables.
$(B)/completions/%.bash $(B)/completions/_% $(B)/completions/%.fish: $(B)/bin/% packaging/completions packaging/completion.bash
	@mkdir -p $(@D)
	@packaging/completions fish $< >$(@D)/$*.fish
	@packaging/completions zsh $< >$(@D)/_$*
	@packaging/completions bash $< >$(@D)/$*.bash

INSTALLED := B='$(B)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' ZSH_FOLDER='$(ZSH_FOLDER)' TOOLS='$(TOOLS)' \
  VERSION='$(VERSION)' LIB_VERSION='$(LIB_VERSION)' packaging/files
install: all
	$(INSTALLED) install
uninstall:
	$(INSTALLED) uninstall
deb: deps-deb
	JOBS='$(JOBS)' packaging/deb
dist:
	@mkdir -p build
	git archive --prefix=memscope-$(VERSION)/ -o build/memscope-$(VERSION).tar.gz HEAD
	@echo build/memscope-$(VERSION).tar.gz
compile_commands.json:
	@tests/lint/compile-commands > $@
clean:
	rm -rf build compile_commands.json

help:
	@echo 'make              build everything into build/release/bin'
	@echo 'make demo         dependencies, build, find the leaking line of a program'
	@echo 'make check        dependencies, build, all tests that need base packages'
	@echo 'make check-all    the same with every test; installs what they need'
	@echo 'make check-long   campaigns against hostile programs, kills and failing memory: hours'
	@echo 'make check-everywhere  demo, check and packages in Debian 12, 13 and sid, installed by debootstrap; as root'
	@echo 'make asan tsan    the tests under the sanitizers'
	@echo 'make lint         layers, format, static analysis, man pages'
	@echo 'make fuzz         fuzz every parser (FUZZ_SECONDS=60 each)'
	@echo 'make bench        speed, size and memory against no recorder and heaptrack: 60 minutes, bench-quick: 3'
	@echo 'make bench-top    what ms-top reads and costs, and how soon it answers: 2 minutes'
	@echo 'make screens      write the screens of ms-top in README anew (as root)'
	@echo 'make lib          libmemscope alone: memscope-read(3)'
	@echo 'make install      and uninstall: DESTDIR, PREFIX=/usr/local, LIBDIR=PREFIX/lib'
	@echo 'make deb          Debian packages into build/deb; deps-deb installs what that needs'
	@echo 'make dist         what is committed as build/memscope-$(VERSION).tar.gz'
	@echo 'make ARCH=aarch64 everything for aarch64, by Debian'"'"'s cross compiler'
	@echo 'make deps clean compile_commands.json'

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all test-programs check check-all check-long check-everywhere asan tsan lint bench bench-quick bench-top bench-programs deps deps-all deps-bench deps-deb demo screens install uninstall deb dist clean help compile_commands.json
.DELETE_ON_ERROR:
