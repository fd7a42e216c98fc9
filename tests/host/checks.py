# SPDX-License-Identifier: MIT
"""What tests of this folder have found wrong: printed as it is found, and kept, so that they end with a status by it."""
failures = []


def check(good, text):
    if not good:
        print("FAILED:", text)
        failures.append(text)
