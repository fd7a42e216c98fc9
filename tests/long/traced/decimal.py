# SPDX-License-Identifier: MIT
from decimal import Decimal, getcontext
getcontext().prec = 60
kept = [Decimal(i).sqrt() for i in range(200)]
