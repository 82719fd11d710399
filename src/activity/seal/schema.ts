import { z } from 'zod';

const digits = (min: number) =>
  z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, `must be a whole number of ${min} or more`)
    .transform(Number)
    .refine((n) => n >= min && Number.isSafeInteger(n), `must be a whole number of ${min} or more`);

export const AskProof = z.strictObject({
  private: z.literal('withhold').optional().describe('withhold: the proof does not contain the private fields.'),
});

export const AskRowProof = AskProof.extend({ seq: digits(1).describe('Sequence number of the row.') });

export const AskConsistency = z.strictObject({
  from: digits(0).describe('Size of the older tree.'),
  to: digits(0).optional().describe('Size of the newer tree. Default: that of the newest checkpoint.'),
});

export const OfLog = z.object({ log: z.string().regex(/^[0-9a-f]{8}$/, 'must be 8 hex digits') });

export const AskCheckpoints = z.strictObject({ around: digits(1).describe('Sequence number of a row.') });

const KeptCheckpoint = z
  .object({
    size: z.number(),
    checkpoint: z.string(),
    signedAt: z.iso.datetime(),
    stamp: z
      .string()
      .nullable()
      .describe('The answer of a time stamping authority about the text of the checkpoint (RFC 3161), base64.'),
  })
  .nullable();

export const Checkpoints = z.object({
  origin: z.string().describe('Name of the sealed log.'),
  before: KeptCheckpoint.describe('The newest kept checkpoint without the row.'),
  after: KeptCheckpoint.describe('The oldest kept checkpoint with the row.'),
});

export const Consistency = z.object({
  from: z.number(),
  to: z.number(),
  proof: z.array(z.string()).describe('Hashes in base64 (RFC 6962, section 2.1.2).'),
  checkpoint: z.string().describe('The newest checkpoint.'),
});

export const LedgerKeys = z.object({
  origin: z.string().describe('Name of the sealed log.'),
  keys: z.array(z.string()).describe('Verifier keys (C2SP signed-note), the newest first.'),
});

export const LedgerLogs = z.array(
  z.object({
    id: z.string(),
    origin: z.string(),
    size: z.number(),
    checkpoint: z.string().nullable(),
    endedAt: z.iso.datetime().nullable().describe('null: the current log.'),
  }),
);

export const LedgerStatus = z.object({
  sealing: z.boolean(),
  origin: z.string().nullable(),
  head: z.number().describe('Rows of the ledger.'),
  size: z.number().describe('Rows in the stored tree.'),
  signedSize: z.number().describe('Rows that the newest checkpoint covers.'),
  lagRows: z.number().describe('Rows that no checkpoint covers.'),
  halted: z.string().nullable().describe('The reason why signing has stopped.'),
  cosignedSize: z
    .number()
    .nullable()
    .describe('Number of rows in the newest cosigned checkpoint. null without `ledger.policy`.'),
  publishedSize: z
    .number()
    .nullable()
    .describe('Number of rows in the newest published checkpoint. null without `ledger.publish`.'),
  witnesses: z
    .array(
      z.object({
        name: z.string().describe('Its name in the policy.'),
        key: z.string().describe('Its verifier key.'),
        size: z.number().describe('Number of rows in the newest checkpoint that it has cosigned.'),
        cosignedAt: z.iso.datetime().nullable(),
        failure: z.string().nullable().describe('The reason why the last request failed. null: it succeeded.'),
        failedAt: z.iso.datetime().nullable(),
      }),
    )
    .describe('The witnesses of `ledger.policy` that have an address.'),
});
export type LedgerStatus = z.output<typeof LedgerStatus>;
