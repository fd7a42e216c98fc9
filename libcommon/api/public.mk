# libmemscope: the public part of libcommon (memscope-read.h) as a static and a shared library. Its own objects are compiled again,
# position-independent; only what is named memscope_* can be seen from outside, also in the static one.
LIB_VERSION := 0
comma := ,
LIB_OBJ := $(FORMAT_SRC:%.c=$(B)/pic/%.o) $(COMMON_SRC:%.c=$(B)/pic/%.o)
LIB_PUBLIC := $(B)/pic/libcommon/api/public_process.o $(B)/pic/libcommon/api/public_json.o $(B)/pic/libcommon/api/public_trace.o
LIB_STATIC := $(B)/lib/libmemscope.a
LIB_SHARED := $(B)/lib/libmemscope.so.$(LIB_VERSION)
LIB_FILES := $(LIB_STATIC) $(LIB_SHARED) $(B)/lib/memscope.pc $(B)/lib/memscope-config.cmake

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(say) CC $@
	$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden $(if $(filter libcommon/%,$<),-I. -I$(B)/gen) -MMD -MP -c -o $@ $<
$(COMMON_SRC:%.c=$(B)/pic/%.o): $(B)/gen/schema_sql.h $(B)/gen/symbol_sources.h

$(B)/pic/rest.a: $(filter-out $(LIB_PUBLIC),$(LIB_OBJ))
	@rm -f $@; ar crs $@ $^
# What the public files need of the rest, in one object; then its inner names are made local.
$(B)/pic/memscope.o: $(LIB_PUBLIC) $(B)/pic/rest.a
	$(CC) -r -nostdlib -o $@.part $^
	nm --defined-only --extern-only $@.part | sed -n 's/.* \(memscope_[a-z_]*\)$$/\1/p' >$@.names
	objcopy --keep-global-symbols=$@.names $@.part $@
$(LIB_STATIC): $(B)/pic/memscope.o
	@mkdir -p $(@D); rm -f $@; ar crs $@ $<
$(LIB_SHARED): $(LIB_PUBLIC) $(B)/pic/rest.a libcommon/api/public.map
	@mkdir -p $(@D)
	$(say) LINK $@
	$(CC) $(ALL_LDFLAGS) -shared -o $@ -Wl,-soname,$(@F),--version-script=libcommon/api/public.map$(if $(filter release,$(MODE)),$(comma)-z$(comma)defs) $(LIB_PUBLIC) \
		$(B)/pic/rest.a -lzstd -lm
	ln -sf $(@F) $(B)/lib/libmemscope.so

$(B)/lib/memscope.pc: libcommon/api/public.mk Makefile FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: memscope' \
		'Description: memory of running processes, and traces of MemScope' 'Version: $(VERSION)' 'Libs: -L$${libdir} -lmemscope' \
		'Libs.private: -lzstd -lm' 'Cflags: -I$${includedir}' >$@.new; cmp -s $@.new $@ || mv $@.new $@; rm -f $@.new
$(B)/lib/memscope-config.cmake: libcommon/api/public.mk
	@mkdir -p $(@D)
	@printf '%s\n' 'get_filename_component(_root "$${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)' \
		'if(NOT TARGET memscope::memscope)' '  add_library(memscope::memscope SHARED IMPORTED)' \
		'  set_target_properties(memscope::memscope PROPERTIES IMPORTED_LOCATION "$${_root}/lib/libmemscope.so.$(LIB_VERSION)"' \
		'    INTERFACE_INCLUDE_DIRECTORIES "$${_root}/include")' '  add_library(memscope::static STATIC IMPORTED)' \
		'  set_target_properties(memscope::static PROPERTIES IMPORTED_LOCATION "$${_root}/lib/libmemscope.a"' \
		'    INTERFACE_INCLUDE_DIRECTORIES "$${_root}/include" INTERFACE_LINK_LIBRARIES "zstd;m")' 'endif()' \
		'set(memscope_VERSION $(VERSION))' >$@
FORCE:
.PHONY: FORCE

lib: $(LIB_FILES)
install-lib: lib
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/cmake/memscope
	install -m 644 libcommon/api/memscope-read.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(LIB_STATIC) $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(LIB_SHARED) $(DESTDIR)$(PREFIX)/lib
	ln -sf $(notdir $(LIB_SHARED)) $(DESTDIR)$(PREFIX)/lib/libmemscope.so
	install -m 644 $(B)/lib/memscope.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(B)/lib/memscope-config.cmake $(DESTDIR)$(PREFIX)/lib/cmake/memscope
uninstall-lib:
	rm -f $(DESTDIR)$(PREFIX)/include/memscope-read.h $(DESTDIR)$(PREFIX)/lib/libmemscope.a \
		$(DESTDIR)$(PREFIX)/lib/libmemscope.so $(DESTDIR)$(PREFIX)/lib/$(notdir $(LIB_SHARED)) \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/memscope.pc
	rm -rf $(DESTDIR)$(PREFIX)/lib/cmake/memscope
.PHONY: lib install-lib uninstall-lib
