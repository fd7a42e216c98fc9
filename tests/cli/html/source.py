# SPDX-License-Identifier: MIT
"""What a page has of the source of site.c: `source.py PAGE lines`, `changed WHEN` or `none`."""
import sys

from page import Page

LINES = [
    (6, "{"),
    (7, "        char *text = malloc(n); /* </script><b> & \"c\" */"),
    (8, "        if (!text)"),
    (9, "                return ::nothing;"),
    (10, "        /* \\x1b[31m \\u{202e} ##[error] */"),
]

page = Page(sys.argv[1])
files = [s for s in page.json["source"] if s["file"].endswith("site.c")]
what = sys.argv[2]
faults = page.faults()
if what == "none":
    good = not page.json["source"]
elif what == "changed":
    good = len(files) == 1 and files[0]["changed_after"] == " ".join(sys.argv[3:]) and files[0]["parts"] == []
else:
    parts = files[0]["parts"] if len(files) == 1 and "changed_after" not in files[0] else []
    at = {first + i: text for first, texts in parts for i, text in enumerate(texts)}
    # two sites, in lines 7 and 30: five lines before, four after
    good = sorted(at) == [*range(2, 12), *range(25, 35)] and all(at[n] == text for n, text in LINES)
    good = good and at[31] == "x" * 159 + "…"
if faults or not good:
    print(f"{sys.argv[1:]}: {faults} {page.json['source']}")
    sys.exit(1)
