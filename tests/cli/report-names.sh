#!/bin/sh
# SPDX-License-Identifier: MIT
# Shortening, cleaning and cutting of names, and the grammar of budgets.
exec "$TB/cli/report-names"
