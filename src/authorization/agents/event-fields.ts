import { redact } from '../../kernel/redact.ts';
import type { Agent } from './schema.ts';

type Fields = Record<string, unknown>;

/**
 * Returns fields of an agent with redacted metadata, because metadata may contain anything, like the parameters of
 * audit entries.
 */
export const redactedFields = ({ metadata, ...rest }: Fields, keys: ReadonlySet<string>): Fields =>
  metadata === undefined ? rest : { ...rest, metadata: redact(metadata, keys) };

/** Returns the fields that were chosen when the agent was created. */
export const settingsOf = ({ ownerId, name, type, permissions, expiresAt, metadata }: Agent): Fields => ({
  ownerId,
  name,
  type,
  permissions,
  expiresAt,
  metadata,
});
