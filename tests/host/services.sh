#!/bin/bash
# SPDX-License-Identifier: MIT
# A service in Python with a thread a request, attached to three times: threads that are over have left their stacks to nobody.
exec python3 "${SRC:?}/tests/long/services.py" 3 python3
