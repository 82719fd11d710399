import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { bytesOfSecret } from '../../kernel/root-secret.ts';

/** A key name of C2SP signed-note: no white space and no plus sign. */
const KEY_NAME = /^[!-*,-~]{1,200}$/;

/** An address with a user name or password would be refused at each request. */
function isAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s#]+$/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

/** Options of the sealed ledger, under `ledger`. */
export const sealConfig = {
  seal: option.oneOf(['on', 'off'], {
    default: 'on',
    description:
      'on: every row of the ledger becomes a leaf of a signed Merkle tree after its commit (docs/sealed-ledger.md). ' +
      'Switching it off is recorded in the ledger.',
  }),
  origin: option.optionalString({
    defaultText: '<host and path of the base URL>/ledger/<8 hex digits>',
    schema: z.string().regex(KEY_NAME, 'must be printable ASCII without spaces and plus signs'),
    description: 'Name of the sealed log and of its key. Read when the log begins, and unchanged afterwards.',
  }),
  key: option.optionalString({
    secret: true,
    schema: z
      .string()
      .refine((text) => bytesOfSecret(text)?.length === 32, 'must be 32 bytes, hex or base64url')
      .transform((text) => (bytesOfSecret(text) as Buffer).toString('base64url')),
    defaultText: 'created at the first start, with the other keys',
    description: 'Seed of the Ed25519 key that signs checkpoints of the ledger.',
  }),
  sealIntervalMs: option.integer({
    default: 1000,
    min: 100,
    max: 3_600_000,
    description: 'Interval between signed checkpoints while rows are added, in ms.',
  }),
  policy: option.optionalString({
    description:
      'Path of a policy file (C2SP tlog-policy) with the witnesses that cosign checkpoints, their addresses and the ' +
      'quorum. The service serves the newest cosigned checkpoint and proves entries with it.',
  }),
  witnessIntervalMs: option.integer({
    default: 10_000,
    min: 1000,
    max: 3_600_000,
    description:
      'Interval between requests to the witnesses while rows are added, in ms. Without new rows it is an hour.',
  }),
  publish: option.optionalString({
    schema: z
      .string()
      .refine(
        (text) => /^dir:./.test(text) || isAddress(text),
        'must be dir:<path> or an http or https address without user name and password',
      ),
    description:
      'Where new checkpoints are published: `dir:<path>`, a folder that is synced elsewhere, or an address that gets ' +
      'them as a Standard Webhook of the type `ledger.checkpoint`.',
  }),
  publishSecret: option.optionalString({
    secret: true,
    schema: z.string().regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, 'must be whsec_ and 24 to 64 bytes in base64'),
    description: 'Secret that signs the messages to the address of `ledger.publish` (Standard Webhooks).',
  }),
  publishIntervalMs: option.integer({
    default: 60_000,
    min: 5000,
    max: 86_400_000,
    description: 'Interval between publications while rows are added, in ms.',
  }),
  tsaUrl: option.optionalString({
    schema: z.string().refine(isAddress, 'must be an http or https address without user name and password'),
    description: 'Address of a time stamping authority (RFC 3161), which stamps a checkpoint every hour.',
  }),
  proofs: option.oneOf(['public', 'authenticated'], {
    default: 'public',
    description:
      'Who may read checkpoints, tiles and keys of the sealed ledger. Tiles are hashes, from which no content can be ' +
      'derived.',
  }),
} satisfies Section;
