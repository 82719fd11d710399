import { readFileSync } from 'node:fs';
import { ConfigError } from '../../../kernel/config.ts';
import { type Policy, parsePolicy, Undecidable } from '../../../verify/index.ts';

/**
 * Reads the file of `ledger.policy`. Throws a ConfigError if it is not a policy, or if the witnesses that have an
 * address are too few for its quorum.
 */
export function readPolicy(path: string): Policy {
  const refuse = (problem: string): never => {
    throw new ConfigError([`ledger.policy (LEGATE_LEDGER_POLICY): ${problem}`]);
  };
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  let policy: Policy;
  try {
    policy = parsePolicy(text);
  } catch (error) {
    if (error instanceof Undecidable) return refuse(error.message);
    throw error;
  }
  for (const [name, address] of policy.addresses)
    if (!/^https?:\/\/[^\s?#]+$/.test(address) || !URL.canParse(address))
      refuse(`the address of the witness ${name} is not an http or https address.`);
  if (!policy.isQuorum(new Set(policy.addresses.keys())))
    refuse('too few witnesses have an address to reach the quorum.');
  return policy;
}
