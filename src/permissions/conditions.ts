import ipaddr from 'ipaddr.js';
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

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Constraints other than the cap, ready to be checked. */
export interface Conditions {
  readonly timeWindow: TimeWindow | undefined;
  readonly addresses: readonly (readonly [Address, number])[] | undefined;
  readonly argPatterns: readonly Glob[] | undefined;
}

/** undefined: there is nothing to check beside the cap. */
export function compileConditions(constraints: NonNullable<Permission['constraints']>): Conditions | undefined {
  const { timeWindow, ipAllowlist, allowedArgPatterns } = constraints;
  if (!timeWindow && !ipAllowlist && !allowedArgPatterns) return undefined;
  return {
    timeWindow: timeWindow && compileTimeWindow(timeWindow),
    addresses: ipAllowlist?.map((text) => parseAddressRange(text) as readonly [Address, number]),
    argPatterns: allowedArgPatterns?.map(compileGlob),
  };
}

/** A strictly written address or CIDR range; IPv4-mapped IPv6 is folded to IPv4. undefined: it is neither. */
export function parseAddressRange(text: string): readonly [Address, number] | undefined {
  const [address = '', bits, ...rest] = text.split('/');
  if (rest.length > 0 || address.includes('%')) return undefined;
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !(address.includes(':') && ipaddr.IPv6.isValid(address))) return undefined;
  const parsed = ipaddr.parse(address);
  const whole = parsed.kind() === 'ipv4' ? 32 : 128;
  if (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  const length = bits === undefined ? whole : Number(bits);
  if (length > whole) return undefined;
  if (parsed.kind() === 'ipv6' && (parsed as ipaddr.IPv6).isIPv4MappedAddress()) return length < 96 ? undefined : [(parsed as ipaddr.IPv6).toIPv4Address(), length - 96];
  return [parsed, length];
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
function isWithin(ip: string | null, ranges: readonly (readonly [Address, number])[]): boolean {
  if (ip === null || !ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  return ranges.some(([range, bits]) => range.kind() === address.kind() && (address as ipaddr.IPv4).match(range as ipaddr.IPv4, bits));
}

/** Every string anywhere in the arguments, in nested objects and arrays too, must match one of the patterns. */
function allStringsMatch(value: unknown, patterns: readonly Glob[]): boolean {
  if (typeof value === 'string') return patterns.some((matches) => matches(value));
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((item) => allStringsMatch(item, patterns));
}
