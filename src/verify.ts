#!/usr/bin/env node
/**
 * The verifier of sealed ledgers as a program of its own. The build makes one file of it without dependencies, which
 * can be copied and run alone: `node verify.js <file>... --key <vkey>`.
 */
import { parseArgs } from 'node:util';
import { runVerify, runVerifyOnline } from './verify/index.ts';

const USAGE = `Usage: node verify.js <proof | export | checkpoint>... --key <vkey> | --policy <file>
                      [--follow-keys] [--json] [--url <address of the service>]
       node verify.js --consistent <old checkpoint> <answer of GET /ledger/consistency> --key <vkey>
`;

async function main(): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      options: {
        key: { type: 'string', multiple: true },
        policy: { type: 'string' },
        consistent: { type: 'boolean' },
        'follow-keys': { type: 'boolean' },
        json: { type: 'boolean' },
        url: { type: 'string' },
      },
      allowPositionals: true,
    });
    const options = { ...values, followKeys: values['follow-keys'] === true, files: positionals };
    const print = (text: string) => process.stdout.write(text);
    return values.url === undefined
      ? runVerify(options, print)
      : await runVerifyOnline({ ...options, url: values.url }, print);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
}

process.exitCode = await main();
