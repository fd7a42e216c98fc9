# SPDX-License-Identifier: MIT
import difflib
a = [str(i % 17) for i in range(200)]
b = [str(i % 13) for i in range(200)]
s = difflib.SequenceMatcher(None, a, b)
kept = s.get_opcodes()
d = list(difflib.unified_diff(a, b))
