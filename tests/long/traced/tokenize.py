# SPDX-License-Identifier: MIT
import tokenize, io, argparse
kept = list(tokenize.generate_tokens(io.StringIO(open(argparse.__file__).read()).readline))
