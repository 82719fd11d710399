import ipaddr from 'ipaddr.js';
import { type AddressRange, isInRanges } from '../../kernel/address-range.ts';
import { type Glob, type GlobText, globText } from './glob.ts';

/**
 * Most work that the argument patterns of one question may cost, as characters of the arguments times machine words of the
 * patterns: some 10 ms. Enough for 64 KB of arguments and 64 patterns of up to 31 characters.
 */
export const MAX_ARGUMENT_STEPS = 4_194_304;

/** What beginning a match costs, in characters: many short texts are work too. */
const CHARS_PER_FORM = 16;

const HEAVY_CHARS = 4096;

/** An argument name that is nothing but a name, and so is not held against the patterns. */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const isPlainName = (key: string): boolean => PLAIN_NAME.test(key) && !key.includes('..');

/**
 * What a question says of the call: its arguments and where it comes from. Conditions on these depend on nothing else, so
 * each list of patterns or addresses is held against them once, however often a decision asks, and may be before the
 * question waits for the ledger.
 */
export class CallFacts {
  /** Address of the agent's call, when it is known. */
  readonly ip: string | null;
  readonly #arguments: Record<string, unknown> | undefined;
  #texts: readonly GlobText[] | undefined;
  #chars = 0;
  #matched: Map<readonly unknown[], boolean> | undefined;
  /** Lists of patterns that the current pass has asked for, and the steps that they cost. */
  #asked: Set<readonly Glob[]> | undefined;
  #steps = 0;

  constructor(ip: string | null, args: Record<string, unknown> | undefined) {
    this.ip = ip;
    this.#arguments = args;
  }

  /** Its arguments are so large that holding patterns against them takes noticeable time. */
  get isHeavy(): boolean {
    if (this.#arguments === undefined) return false;
    this.#texts ??= this.#collect();
    return this.#chars > HEAVY_CHARS;
  }

  /** A decision begins: what it may cost is counted from here, so its answer does not depend on what was looked at before. */
  begin(): void {
    if (this.#steps === 0) return;
    this.#steps = 0;
    this.#asked?.clear();
  }

  /** An unknown address is on no list. */
  isFrom(ranges: readonly AddressRange[]): boolean {
    const { ip } = this;
    if (ip === null) return false;
    return this.#once(ranges, () => ipaddr.isValid(ip) && isInRanges(ipaddr.process(ip), ranges));
  }

  /**
   * Every string anywhere in the arguments, in nested objects and arrays too, must match one of the patterns, and so must
   * every key that is not a plain name. False beyond {@link MAX_ARGUMENT_STEPS}.
   */
  argumentsMatch(patterns: readonly Glob[]): boolean {
    const texts = (this.#texts ??= this.#collect());
    this.#asked ??= new Set();
    if (!this.#asked.has(patterns)) {
      this.#asked.add(patterns);
      let words = 0;
      for (const glob of patterns) words += glob.words;
      // At least one, so that a pass that asked for anything is told from a fresh one.
      this.#steps += 1 + this.#chars * words;
    }
    if (this.#steps > MAX_ARGUMENT_STEPS) return false;
    return this.#once(patterns, () => texts.every((text) => patterns.some((glob) => glob.matches(text))));
  }

  #once(list: readonly unknown[], compare: () => boolean): boolean {
    this.#matched ??= new Map();
    let found = this.#matched.get(list);
    if (found === undefined) {
      found = compare();
      this.#matched.set(list, found);
    }
    return found;
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
