# SPDX-License-Identifier: MIT
import json
kept = [json.loads('{"a": [1, 2, %d], "b": {"c": "%d"}}' % (i, i)) for i in range(300)]
