# libmemscope: the public part of libcommon (memscope-read.h) as a static and a shared library. Only what is named memscope_* can be seen
# from outside, also in the static one.
LIB_VERSION := 0
comma := ,
LIB_PUBLIC := $(patsubst %,$(B)/libcommon/api/public_%.o,process json trace)
LIB_STATIC := $(B)/lib/libmemscope.a
LIB_SHARED := $(B)/lib/libmemscope.so.$(LIB_VERSION)
LIB_FILES := $(LIB_STATIC) $(LIB_SHARED)

# All of both layers is compiled so that it can be in the shared library: once, for the tools as well.
LIB_CFLAGS := -fPIC -fvisibility=hidden
$(FORMAT_SRC:%.c=$(B)/%.o) $(COMMON_SRC:%.c=$(B)/%.o): libcommon/api/public.mk

# What the public files need of the rest, in one object; then its inner names are made local.
$(B)/lib/memscope.o: $(LIB_PUBLIC) $(COMMON_LIB) $(FORMAT_LIB)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib -o $@.part $^
	$(NM) --defined-only --extern-only $@.part | sed -n 's/.* \(memscope_[a-z_]*\)$$/\1/p' >$@.names
	$(OBJCOPY) --keep-global-symbols=$@.names $@.part $@
$(LIB_STATIC): $(B)/lib/memscope.o
	@rm -f $@; $(AR) crs $@ $<
$(LIB_SHARED): $(LIB_PUBLIC) $(COMMON_LIB) $(FORMAT_LIB) libcommon/api/public.map
	@mkdir -p $(@D)
	$(say) LINK $@
	$(CC) $(ALL_LDFLAGS) -shared -o $@ -Wl,-soname,$(@F),--version-script=libcommon/api/public.map$(if $(filter release,$(MODE)),$(comma)-z$(comma)defs) \
		$(filter-out %.map,$^) -lzstd -lm
	ln -sf $(@F) $(B)/lib/libmemscope.so

lib: $(LIB_FILES)
.PHONY: lib
