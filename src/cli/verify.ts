import { runVerify, runVerifyOnline } from '../verify/index.ts';
import type { Command } from './command.ts';

/** `legate verify`: checks proofs and checkpoints of a sealed ledger offline. */
export const command: Command<{
  files: string[];
  key?: string[];
  policy?: string;
  consistent?: boolean;
  'follow-keys'?: boolean;
  json?: boolean;
  url?: string;
}> = {
  argument: { name: 'files', meaning: 'proofs (.tlog-proof), sealed exports or checkpoints', many: true },
  options: {
    key: { type: 'string', multiple: true, value: 'vkey', meaning: 'verifier key of the ledger, or of a witness' },
    policy: {
      type: 'string',
      value: 'file',
      meaning: 'policy file with logs, witnesses and quorum (C2SP tlog-policy)',
    },
    consistent: {
      type: 'boolean',
      meaning: 'the files are an older checkpoint and an answer of GET /ledger/consistency',
    },
    'follow-keys': {
      type: 'boolean',
      meaning: 'also trust keys that a proven ledger.key-added entry in one of the files adds',
    },
    json: { type: 'boolean', meaning: 'as JSON' },
    url: {
      type: 'string',
      value: 'address',
      meaning: 'also ask this service to prove that its current ledger continues the files',
    },
  },
  failureCode: 2,
  notes: `Exit code: 0 proven, 1 refuted, 2 undecidable or wrong usage. Without --url nothing is sent anywhere.
dist/verify.js of the package is the same program as a single file.`,
  run: async (values) => {
    const options = { ...values, followKeys: values['follow-keys'] === true };
    const print = (text: string) => process.stdout.write(text);
    process.exitCode =
      values.url === undefined
        ? runVerify(options, print)
        : await runVerifyOnline({ ...options, url: values.url }, print);
  },
};
