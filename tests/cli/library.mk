# Installed by tests/cli/library.sh, which builds nothing itself.
TEST_PROGRAMS += $(LIB_FILES)
