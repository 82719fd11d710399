import { runVerify } from '../verify/index.ts';
import type { Command } from './command.ts';

/** `legate verify`: checks proofs and checkpoints of a sealed ledger offline. */
export const command: Command<{
  files: string[];
  key?: string[];
  policy?: string;
  consistent?: boolean;
  'follow-keys'?: boolean;
  json?: boolean;
}> = {
  argument: { name: 'files', meaning: 'proofs (.tlog-proof), sealed exports or checkpoints', many: true },
  options: {
    key: { type: 'string', multiple: true, value: 'vkey', meaning: 'verifier key of the ledger that you trust' },
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
  },
  notes: `Exit code: 0 proven, 1 refuted, 2 undecidable or wrong use. Nothing is sent anywhere.
dist/verify.js of the package is the same as one file, which runs alone.`,
  run: (values) => {
    process.exitCode = runVerify({ ...values, followKeys: values['follow-keys'] === true }, (text) =>
      process.stdout.write(text),
    );
  },
};
