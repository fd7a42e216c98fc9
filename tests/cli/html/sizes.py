# SPDX-License-Identifier: MIT
"""How many sites pages have, what they leave out, and that it all adds up under 3 MB."""
import os
import sys

from check import check_sums, failures, expect
from page import Page

for name, least, most, omitted in (("regular", 100000, 100000, False), ("irregular", 20000, 99999, True), ("few", 3, 3, True), ("none", 8, 8, False)):
    page = Page(name + ".html")
    n = len(page.columns["site_id"])
    if not least <= n <= most or bool(page.json["omitted_sites"]) != omitted:
        failures.append(f"{name}: {n} sites, {page.json['omitted_sites']} left out")
    if os.path.getsize(name + ".html") > 3000000:
        failures.append(f"{name}: {os.path.getsize(name + '.html')} bytes")
    check_sums(name, page)
    expect(f"{name}: totals of live", page.json["metrics"]["live"]["total"][0], page.json["totals"]["unfreed_bytes"])
    failures.extend(page.faults())
kept = Page("few.html")
expect("the three that matter most", sorted(kept.columns["site_id"]), [1, 7, 8])
print("\n".join(failures[:25]))
sys.exit(bool(failures))
