import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRanges, parseAddressRange } from '../../kernel/address-range.ts';
import { compileGlob, type Glob } from './glob.ts';
import type { Permission } from './schema.ts';
import { compileTimeWindow, type TimeWindow } from './time-window.ts';

/** What the conditions of an entry are held against. */
export interface Circumstances {
  readonly now: number;
  /** Address of the agent's call, when it is known. */
  readonly ip: string | null;
  readonly arguments: Record<string, unknown> | undefined;
}

/** Constraints other than the cap, ready to be checked. */
export interface Conditions {
  readonly timeWindow: TimeWindow | undefined;
  readonly addresses: readonly AddressRange[] | undefined;
  readonly argPatterns: readonly Glob[] | undefined;
}

/** undefined: there is nothing to check beside the cap. */
export function compileConditions(constraints: NonNullable<Permission['constraints']>): Conditions | undefined {
  const { timeWindow, ipAllowlist, allowedArgPatterns } = constraints;
  if (!timeWindow && !ipAllowlist && !allowedArgPatterns) return undefined;
  return {
    timeWindow: timeWindow && compileTimeWindow(timeWindow),
    addresses: ipAllowlist?.map((text) => parseAddressRange(text) as AddressRange),
    argPatterns: allowedArgPatterns?.map(compileGlob),
  };
}

export type UnmetCondition = 'IP_NOT_ALLOWED' | 'ARGUMENTS_NOT_ALLOWED' | 'OUTSIDE_TIME_WINDOW';

/** The first condition that does not hold. Linear in the arguments. */
export function unmetCondition(c: Conditions, at: Circumstances): UnmetCondition | undefined {
  if (c.addresses && !isWithin(at.ip, c.addresses)) return 'IP_NOT_ALLOWED';
  if (c.argPatterns && !allStringsMatch(at.arguments, c.argPatterns)) return 'ARGUMENTS_NOT_ALLOWED';
  if (c.timeWindow && !c.timeWindow(at.now)) return 'OUTSIDE_TIME_WINDOW';
  return undefined;
}

/** An unknown address is on no list. */
function isWithin(ip: string | null, ranges: readonly AddressRange[]): boolean {
  if (ip === null || !ipaddr.isValid(ip)) return false;
  return isInRanges(ipaddr.process(ip), ranges);
}

/** Every string anywhere in the arguments, in nested objects and arrays too, must match one of the patterns. */
function allStringsMatch(value: unknown, patterns: readonly Glob[]): boolean {
  if (typeof value === 'string') return patterns.some((matches) => matches(value));
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((item) => allStringsMatch(item, patterns));
}
