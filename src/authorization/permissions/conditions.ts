import { type AddressRange, parseAddressRange } from '../../kernel/address-range.ts';
import type { CallFacts } from './call-facts.ts';
import { Glob } from './glob.ts';
import type { Permission } from './schema.ts';
import { compileTimeWindow, type TimeWindow } from './time-window.ts';

/** The facts that the conditions of an entry are checked against. */
export interface Circumstances {
  readonly now: number;
  readonly call: CallFacts;
}

/** Compiled constraints other than the limit on calls. */
export interface Conditions {
  readonly timeWindow: TimeWindow | undefined;
  readonly addresses: readonly AddressRange[] | undefined;
  readonly argPatterns: readonly Glob[] | undefined;
}

/** Returns undefined if only the limit on calls has to be checked. */
export function compileConditions(constraints: NonNullable<Permission['constraints']>): Conditions | undefined {
  const { timeWindow, ipAllowlist, allowedArgPatterns } = constraints;
  if (!timeWindow && !ipAllowlist && !allowedArgPatterns) return undefined;
  return {
    timeWindow: timeWindow && compileTimeWindow(timeWindow),
    addresses: ipAllowlist?.map((text) => parseAddressRange(text) as AddressRange),
    argPatterns: allowedArgPatterns?.map((pattern) => new Glob(pattern)),
  };
}

/** Approximate memory of one parsed address range, measured over many. */
const RANGE_BYTES = 320;

/** Approximate memory of compiled conditions. Time zones are shared by all and not included. */
export function bytesOfConditions(c: Conditions): number {
  let bytes = 200 + (c.addresses?.length ?? 0) * RANGE_BYTES;
  for (const glob of c.argPatterns ?? []) bytes += glob.bytes;
  return bytes;
}

export type UnmetCondition = 'IP_NOT_ALLOWED' | 'ARGUMENTS_NOT_ALLOWED' | 'OUTSIDE_TIME_WINDOW';

/** Returns the first condition that does not hold. */
export function unmetCondition(c: Conditions, at: Circumstances): UnmetCondition | undefined {
  if (c.addresses && !at.call.isFrom(c.addresses)) return 'IP_NOT_ALLOWED';
  if (c.argPatterns && !at.call.argumentsMatch(c.argPatterns)) return 'ARGUMENTS_NOT_ALLOWED';
  if (c.timeWindow && !c.timeWindow(at.now)) return 'OUTSIDE_TIME_WINDOW';
  return undefined;
}
