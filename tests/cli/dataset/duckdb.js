// SPDX-License-Identifier: MIT
// duckdb.js DATABASE FILE: runs the statements of FILE and prints the rows of the last one as JSON.
const { DuckDBInstance } = require('@duckdb/node-api');
const fs = require('fs');

(async () => {
	const instance = await DuckDBInstance.create(process.argv[2]);
	const connection = await instance.connect();
	const reader = await connection.runAndReadAll(fs.readFileSync(process.argv[3], 'utf8'));
	console.log(JSON.stringify(reader.getRowsJson()));
	connection.closeSync();
})().catch(e => { console.error(e.message); process.exit(1); });
