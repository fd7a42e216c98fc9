# SPDX-License-Identifier: MIT
# The image and the patcher, in the test's own process.
$(B)/tests/unit/ms-record/patch.o: $(IMAGE)
$(B)/tests/unit/ms-record/patch.o: ALL_CFLAGS += -DMS_IMAGE_FILE='"$(IMAGE)"'
