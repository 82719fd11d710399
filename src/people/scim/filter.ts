import { ScimErrors } from './errors.ts';

/**
 * A parsed filter (RFC 7644, section 3.4.2.2). It is a value that is compared or compiled to bound parameters; its text
 * never becomes part of a statement. Attribute names are in lower case, without the URN of a core schema.
 */
export type Filter =
  | { readonly kind: 'compare'; readonly path: string; readonly op: Operator; readonly value: Literal }
  | { readonly kind: 'and' | 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'not'; readonly filter: Filter }
  /** `emails[type eq "work"]`: one value of the attribute matches the filter. */
  | { readonly kind: 'some'; readonly path: string; readonly filter: Filter };

const OPERATORS = ['eq', 'ne', 'co', 'sw'] as const;
type Operator = (typeof OPERATORS)[number];
type Literal = string | number | boolean | null;

const MAX_CHARS = 2000;
const MAX_DEPTH = 20;
const CORE = /^urn:ietf:params:scim:schemas:core:2\.0:(user|group):/;

/** Returns an attribute name for comparison: names and URNs are case-insensitive (RFC 7643, section 2.1). */
export const attributeName = (name: string): string => name.toLowerCase().replace(CORE, '');

interface Token {
  readonly kind: 'word' | 'string' | 'mark';
  readonly text: string;
}

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([A-Za-z$][\w.$:-]*|\.[A-Za-z$][\w$-]*|-?\d[\d.eE+-]*))/y;

function tokensOf(text: string): Token[] {
  if (text.length > MAX_CHARS) throw invalid(`is longer than ${MAX_CHARS} characters`);
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (!match) throw invalid('contains a character that is not part of a word, string or parenthesis');
    const [, string, mark, word] = match;
    if (string !== undefined) tokens.push({ kind: 'string', text: string });
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark });
    else tokens.push({ kind: 'word', text: word as string });
  }
  return tokens;
}

/** Parses a filter. `not` binds strongest, then `and`, then `or`. Throws 400 SCIM_INVALID_FILTER. */
export function parseFilter(text: string): Filter {
  const reader = new Reader(tokensOf(text));
  const filter = reader.or(0);
  reader.end();
  return filter;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw invalid(`has ${this.#tokens[this.#at]?.text} after its end`);
  }

  or(depth: number): Filter {
    let left = this.#and(depth);
    while (this.#skipWord('or')) left = { kind: 'or', left, right: this.#and(depth) };
    return left;
  }

  #and(depth: number): Filter {
    let left = this.#factor(depth);
    while (this.#skipWord('and')) left = { kind: 'and', left, right: this.#factor(depth) };
    return left;
  }

  #factor(depth: number): Filter {
    if (depth > MAX_DEPTH) throw invalid(`is nested deeper than ${MAX_DEPTH} levels`);
    if (this.#skipWord('not')) {
      this.#expect('(');
      return { kind: 'not', filter: this.#closed(')', depth) };
    }
    if (this.#skipMark('(')) return this.#closed(')', depth);
    const path = attributeName(this.#word('an attribute'));
    if (this.#skipMark('[')) return this.#some(path, depth);
    return this.#comparison(path);
  }

  /** `emails[type eq "work"]`, or `emails[type eq "work"].value eq "a@example.com"`, which Entra ID sends. */
  #some(path: string, depth: number): Filter {
    const filter = this.#closed(']', depth);
    const next = this.#tokens[this.#at];
    if (next?.kind !== 'word' || !next.text.startsWith('.')) return { kind: 'some', path, filter };
    this.#at++;
    const right = this.#comparison(next.text.slice(1).toLowerCase());
    return { kind: 'some', path, filter: { kind: 'and', left: filter, right } };
  }

  #comparison(path: string): Filter {
    const op = this.#word('an operator').toLowerCase();
    if (!(OPERATORS as readonly string[]).includes(op))
      throw invalid(`has the operator ${op.slice(0, 20)}; supported are ${OPERATORS.join(', ')}`);
    const value = this.#literal();
    if ((op === 'co' || op === 'sw') && typeof value !== 'string') throw invalid(`needs a string after ${op}`);
    return { kind: 'compare', path, op: op as Operator, value };
  }

  #closed(mark: string, depth: number): Filter {
    const filter = this.or(depth + 1);
    this.#expect(mark);
    return filter;
  }

  #word(what: string): string {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== 'word') throw invalid(`needs ${what} ${token ? `instead of ${token.text}` : 'at its end'}`);
    return token.text;
  }

  #literal(): Literal {
    const token = this.#tokens[this.#at++];
    if (token === undefined || token.kind === 'mark') throw invalid('needs a value after an operator');
    let value: unknown;
    try {
      value = JSON.parse(token.kind === 'word' ? token.text.toLowerCase() : token.text);
    } catch {
      throw invalid(`has ${token.text.slice(0, 50)} where a string, number, true, false or null belongs`);
    }
    if (typeof value === 'string' && (value.includes('\u0000') || !value.isWellFormed()))
      throw invalid('contains NUL or unpaired surrogates');
    return value as Literal;
  }

  #skipWord(word: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'word' || token.text.toLowerCase() !== word) return false;
    this.#at++;
    return true;
  }

  #skipMark(mark: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'mark' || token.text !== mark) return false;
    this.#at++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#skipMark(mark)) throw invalid(`needs ${mark}`);
  }
}

const invalid = (problem: string) => ScimErrors.SCIM_INVALID_FILTER({ message: `The filter ${problem}.` });

/** Returns whether one value of a multi-valued attribute matches. Used by the paths of patches. */
export function matches(filter: Filter, value: unknown): boolean {
  switch (filter.kind) {
    case 'and':
      return matches(filter.left, value) && matches(filter.right, value);
    case 'or':
      return matches(filter.left, value) || matches(filter.right, value);
    case 'not':
      return !matches(filter.filter, value);
    case 'some':
      return false;
    case 'compare':
      return compare(filter.op, memberOf(value, filter.path), filter.value);
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return name === 'value' ? value : undefined;
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}

function compare(op: Operator, actual: unknown, expected: Literal): boolean {
  const fold = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : (value ?? null));
  const [a, b] = [fold(actual), fold(expected)];
  if (op === 'eq') return a === b;
  if (op === 'ne') return a !== b;
  if (typeof a !== 'string' || typeof b !== 'string') return false;
  return op === 'co' ? a.includes(b) : a.startsWith(b);
}
