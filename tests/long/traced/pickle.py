# SPDX-License-Identifier: MIT
import pickle
kept = [pickle.loads(pickle.dumps({'a': list(range(i)), i: (i, str(i))})) for i in range(200)]
