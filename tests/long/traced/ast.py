# SPDX-License-Identifier: MIT
import ast, json
kept = [ast.parse(open(json.__file__).read()) for i in range(3)]
code = [compile(k, 'x', 'exec') for k in kept]
