#!/bin/sh
# SPDX-License-Identifier: MIT
# What --sarif writes is valid by the schema of SARIF 2.1.0, which comes in an npm package.
set -eu
if [ -z "${MS_CHECK_ALL-}" ]; then
	echo 'make check-all fetches the schema'
	exit 77
fi
package=@microsoft/jest-sarif@1.0.0-beta.0
npm pack --silent "$package" >/dev/null
tar -xzf microsoft-jest-sarif-*.tgz
# shellcheck source=tests/cli/report/fixtures.sh
. "${SRC:?}/tests/cli/report/fixtures.sh"
exec /usr/bin/python3 "$SRC/tests/cli/ci.py" --schema package/lib/schemas/sarif-2.1.0-rtm.5.json
