import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRanges } from '../../kernel/address-range.ts';
import { type Glob, type GlobText, globText } from './glob.ts';

/**
 * Maximum work of the argument patterns of one question, in characters of the arguments times machine words of the
 * patterns; about 10 ms. Enough for 64 KB of arguments and 64 patterns of up to 31 characters.
 */
export const MAX_ARGUMENT_STEPS = 4_194_304;

/** Fixed cost of starting a match, in characters: many short texts add up too. */
const CHARS_PER_FORM = 16;

const HEAVY_CHARS = 4096;

/** Results that are kept of one decision. Beyond them, a recorded call is matched by its redacted arguments. */
const MAX_RESULTS = 1000;

/** An argument name that is a plain identifier and so is not matched against the patterns. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const isPlainName = (key: string): boolean => PLAIN_NAME.test(key) && !key.includes('..');

/**
 * The facts of a call that a question states: its arguments and its address. Conditions on these depend on nothing
 * else, so each list of patterns or addresses is matched once per question, possibly before the question waits for the
 * ledger.
 */
export class CallFacts {
  /** Address of the agent's call, if known. */
  readonly ip: string | null;
  readonly #arguments: Record<string, unknown> | undefined;
  #texts: readonly GlobText[] | undefined;
  #chars = 0;
  #matched: Map<readonly unknown[], boolean> | undefined;
  /** Lists of patterns matched in the current pass, and their cost in steps. */
  #charged: Set<readonly Glob[]> | undefined;
  #steps = 0;
  /** Results of the argument patterns in the current pass, `1` or `0` each. */
  #results = '';
  /** Results to repeat, for a recorded call whose arguments were redacted. */
  #recorded: string | undefined;

  /** @param recorded what `results` was when the call was decided */
  constructor(ip: string | null, args: Record<string, unknown> | undefined, recorded?: string) {
    this.ip = ip;
    this.#arguments = args;
    this.#recorded = recorded;
  }

  /** Results of the argument patterns since `begin`, in the order of evaluation. */
  get results(): string {
    return this.#results;
  }

  /** Whether the arguments are so large that matching patterns takes noticeable time. */
  get isHeavy(): boolean {
    if (this.#arguments === undefined) return false;
    this.#texts ??= this.#collect();
    return this.#chars > HEAVY_CHARS;
  }

  /**
   * From now on, recorded results apply to the lists for which they were recorded, regardless of the order of
   * evaluation.
   */
  keepResults(): void {
    this.#recorded = undefined;
  }

  /** Starts a decision: resets its steps and results, so that neither depends on what was evaluated before. */
  begin(): void {
    if (this.#steps === 0 && this.#results === '') return;
    this.#results = '';
    this.#steps = 0;
    this.#charged?.clear();
  }

  /** Whether the call comes from one of the ranges. An unknown address is in no range. */
  isFrom(ranges: readonly AddressRange[]): boolean {
    const { ip } = this;
    if (ip === null) return false;
    return this.#once(ranges, () => ipaddr.isValid(ip) && isInRanges(ipaddr.process(ip), ranges));
  }

  /**
   * Whether every string in the arguments, at any depth, matches one of the patterns, and every key that is not a plain
   * name does too. Returns false beyond {@link MAX_ARGUMENT_STEPS}.
   */
  argumentsMatch(patterns: readonly Glob[]): boolean {
    const recorded = this.#recorded?.[this.#results.length];
    const matched = recorded === undefined ? this.#match(patterns) : recorded === '1';
    if (recorded !== undefined) (this.#matched ??= new Map()).set(patterns, matched);
    if (this.#results.length < MAX_RESULTS) this.#results += matched ? '1' : '0';
    return matched;
  }

  #match(patterns: readonly Glob[]): boolean {
    const texts = (this.#texts ??= this.#collect());
    this.#charged ??= new Set();
    if (!this.#charged.has(patterns)) {
      this.#charged.add(patterns);
      let words = 0;
      for (const glob of patterns) words += glob.words;
      // At least one step, which distinguishes a pass that matched anything from a fresh one.
      this.#steps += 1 + this.#chars * words;
    }
    if (this.#steps > MAX_ARGUMENT_STEPS) return false;
    return this.#once(patterns, () => texts.every((text) => patterns.some((glob) => glob.matches(text))));
  }

  #once(list: readonly unknown[], compare: () => boolean): boolean {
    this.#matched ??= new Map();
    let matched = this.#matched.get(list);
    if (matched === undefined) {
      matched = compare();
      this.#matched.set(list, matched);
    }
    return matched;
  }

  #collect(): readonly GlobText[] {
    const texts: GlobText[] = [];
    const add = (text: string): void => {
      const prepared = globText(text);
      this.#chars += prepared.chars + CHARS_PER_FORM * prepared.forms.length;
      texts.push(prepared);
    };
    const walk = (value: unknown): void => {
      if (typeof value === 'string') add(value);
      else if (Array.isArray(value)) value.forEach(walk);
      else if (typeof value === 'object' && value !== null) {
        for (const [key, item] of Object.entries(value)) {
          if (!isPlainName(key)) add(key);
          walk(item);
        }
      }
    };
    walk(this.#arguments);
    return texts;
  }
}
