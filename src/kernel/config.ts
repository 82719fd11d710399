import { z } from 'zod';
import { wholeNumber } from './whole-number.ts';

/**
 * One configuration option, declared once. Its type, default, description, environment variable and entry in
 * docs/config.md all derive from this.
 */
export interface Option<T> {
  readonly option: true;
  readonly schema: z.ZodType<T>;
  readonly description: string;
  /** Computes the default, which may depend on the rest of the configuration. */
  readonly fallback: ((context: DefaultsContext) => T) | undefined;
  /** The default as shown in the docs. */
  readonly fallbackText: string;
  /** Converts the text of an environment variable into a value for the schema. */
  readonly fromText: (text: string) => unknown;
  /** Environment variable, if it is not derived from the path (PORT, HOST). */
  readonly env: string | undefined;
  /** Masked wherever configuration is printed. May also be read from the file that `<NAME>_FILE` names. */
  readonly secret: boolean;
}

export interface DefaultsContext {
  /** NODE_ENV is `production`. */
  production: boolean;
  serviceName: string;
}

export interface Section {
  readonly [key: string]: Option<unknown> | Section;
}

export type ValuesOf<S> = {
  -readonly [K in keyof S]: S[K] extends Option<infer T> ? T : S[K] extends Section ? ValuesOf<S[K]> : never;
};

/** Any subset of the values, as an embedder or legate.config.json passes them. */
export type PartialValuesOf<S> = {
  -readonly [K in keyof S]?:
    | (S[K] extends Option<infer T> ? T : S[K] extends Section ? PartialValuesOf<S[K]> : never)
    | undefined;
};

interface Common {
  description: string;
  env?: string;
  secret?: boolean;
}

function make<T>(
  schema: z.ZodType<T>,
  fromText: (text: string) => unknown,
  common: Common & { default?: T | ((c: DefaultsContext) => T); defaultText?: string },
): Option<T> {
  const { default: value } = common;
  const fallback =
    value === undefined ? undefined : typeof value === 'function' ? (value as (c: DefaultsContext) => T) : () => value;
  const text =
    common.defaultText ??
    (value === undefined || typeof value === 'function'
      ? 'none'
      : Array.isArray(value)
        ? value.join(',') || 'none'
        : String(value));
  return {
    option: true,
    schema,
    description: common.description,
    fallback,
    fallbackText: text,
    fromText,
    env: common.env,
    secret: common.secret ?? false,
  };
}

const numberFromText = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text);
const booleanFromText = (text: string): unknown =>
  ({ true: true, '1': true, false: false, '0': false })[text.trim().toLowerCase()] ?? text;
const listFromText = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

type Default<T> = { default: T | ((c: DefaultsContext) => T); defaultText?: string };

export const option = {
  string: (o: Common & Default<string> & { schema?: z.ZodType<string> }): Option<string> =>
    make(o.schema ?? z.string(), (t) => t, o),
  optionalString: (o: Common & { schema?: z.ZodType<string>; defaultText?: string }): Option<string | undefined> =>
    make((o.schema ?? z.string().min(1)).optional(), (t) => t, o),
  integer: (o: Common & Default<number> & { min?: number; max?: number }): Option<number> =>
    make(wholeNumber(o.min ?? 0, o.max), numberFromText, o),
  boolean: (o: Common & Default<boolean>): Option<boolean> =>
    make(z.boolean('must be true or false'), booleanFromText, o),
  oneOf: <const T extends readonly [string, ...string[]]>(
    values: T,
    o: Common & Default<T[number]>,
  ): Option<T[number]> => make(z.enum(values) as unknown as z.ZodType<T[number]>, (t) => t, o),
  /** Comma-separated whole numbers. */
  integers: (o: Common & Default<number[]>): Option<number[]> =>
    make(z.array(z.int('must be whole numbers').min(0)), (t) => listFromText(t).map(numberFromText) as string[], o),
  /** Any structure: a value in a file or in code, JSON in an environment variable. */
  json: <T>(o: Common & Default<T> & { schema: z.ZodType<T> }): Option<T> =>
    make(withPaths(o.schema), jsonFromText, { defaultText: 'none', ...o }),
  list: (o: Common & Default<string[]> & { defaultText?: string; item?: z.ZodType<string> }): Option<string[]> =>
    make(z.array(o.item ?? z.string()), listFromText, o),
};

/** Returns a schema whose first issue names the member that it is about. */
const withPaths = <T>(schema: z.ZodType<T>): z.ZodType<T> =>
  z.unknown().transform((value, ctx): T => {
    if (value === NOT_JSON) {
      ctx.addIssue({ code: 'custom', message: 'is not valid JSON' });
      return z.NEVER;
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const { path, message } = parsed.error.issues[0] as z.core.$ZodIssue;
    ctx.addIssue({ code: 'custom', message: path.length === 0 ? message : `${path.join('.')}: ${message}` });
    return z.NEVER;
  }) as unknown as z.ZodType<T>;

/** Stands for a text that is not JSON. No schema accepts it. */
const NOT_JSON = Symbol('not JSON');

function jsonFromText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

const isOption = (value: unknown): value is Option<unknown> =>
  typeof value === 'object' && value !== null && (value as { option?: unknown }).option === true;

export interface FlatOption {
  path: string[];
  env: string;
  option: Option<unknown>;
}

/** `mcp.accessTokenTtl` -> `LEGATE_MCP_ACCESS_TOKEN_TTL`. */
const envName = (path: string[]): string =>
  `LEGATE_${path.map((part) => part.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase()).join('_')}`;

export function flatten(section: Section, path: string[] = []): FlatOption[] {
  return Object.entries(section).flatMap(([key, value]) => {
    const here = [...path, key];
    return isOption(value)
      ? [{ path: here, env: value.env ?? envName(here), option: value }]
      : flatten(value as Section, here);
  });
}

/** Every problem of a configuration. Each one names the variable or key to fix. */
export class ConfigError extends Error {
  readonly problems: string[];
  constructor(problems: string[], title = 'The configuration is not valid:') {
    super(`${title}\n${problems.map((p) => `  - ${p}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export type Source = 'default' | 'file' | 'environment' | 'code';

export interface Sources {
  /** Content of legate.config.json. */
  file?: unknown;
  env?: Record<string, string | undefined>;
  /** Values passed by an embedder. They take precedence over all other sources. */
  code?: unknown;
  production?: boolean;
  readFile?: (path: string) => string;
}

export interface Loaded<S extends Section> {
  values: ValuesOf<S>;
  sources: Map<string, Source>;
}

/** Set in the shells of people for `--url` of commands, and for their own programs. The service ignores them. */
const OF_CLIENTS: ReadonlySet<string> = new Set(['LEGATE_TOKEN', 'LEGATE_URL']);

/**
 * Builds the configuration. Code takes precedence over the environment, the environment over the file, and the file
 * over the defaults. Throws one {@link ConfigError} with every problem: unknown `LEGATE_*` variables, unknown keys, and
 * invalid values.
 */
export function loadConfig<S extends Section>(section: S, from: Sources): Loaded<S> {
  const problems: string[] = [];
  const flat = flatten(section);
  const sources = new Map<string, Source>();
  const found = new Map<string, unknown>();

  const readObject = (input: unknown, where: string, source: Source): void => {
    const walk = (part: Section, value: unknown, path: string[]): void => {
      if (value === undefined) return;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        problems.push(`${where}: ${path.join('.') || 'the content'} must be an object`);
        return;
      }
      for (const [key, item] of Object.entries(value)) {
        const here = [...path, key];
        const declared = Object.hasOwn(part, key) ? part[key] : undefined;
        if (declared === undefined) problems.push(`${where}: ${here.join('.')} is not a known option`);
        else if (!isOption(declared)) walk(declared as Section, item, here);
        else if (item !== undefined) {
          found.set(here.join('.'), item);
          sources.set(here.join('.'), source);
        }
      }
    };
    walk(section, input, []);
  };

  readObject(from.file, 'legate.config.json', 'file');

  const env = from.env ?? {};
  const known = new Map(flat.map((f) => [f.env, f]));
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined) continue;
    const direct = known.get(name);
    const asFile = name.endsWith('_FILE') ? known.get(name.slice(0, -'_FILE'.length)) : undefined;
    if (direct) {
      if (text === '') continue;
      found.set(direct.path.join('.'), direct.option.fromText(text));
      sources.set(direct.path.join('.'), 'environment');
    } else if (asFile?.option.secret) {
      if (text === '') continue;
      if ((env[asFile.env] ?? '') !== '') {
        problems.push(`${asFile.env} and ${name} are both set; set one of them`);
        continue;
      }
      try {
        const content = (from.readFile ?? unreadable)(text).replace(/\r?\n$/, '');
        found.set(asFile.path.join('.'), asFile.option.fromText(content));
        sources.set(asFile.path.join('.'), 'environment');
      } catch {
        problems.push(`${name}: the file cannot be read`);
      }
    } else if (name.startsWith('LEGATE_') && !name.startsWith('LEGATE_TEST_') && !OF_CLIENTS.has(name)) {
      problems.push(`${name} is not a known option${didYouMean(name, [...known.keys()])}`);
    }
  }

  readObject(from.code, 'createLegate', 'code');

  const serviceName = typeof found.get('service.name') === 'string' ? (found.get('service.name') as string) : 'legate';
  const context: DefaultsContext = { production: from.production ?? false, serviceName };
  const values: Record<string, unknown> = {};
  for (const { path, env: name, option: declared } of flat) {
    const key = path.join('.');
    const given = found.has(key) ? found.get(key) : declared.fallback?.(context);
    const parsed = declared.schema.safeParse(given);
    if (!parsed.success)
      problems.push(
        `${sources.get(key) === 'environment' ? name : `${key} (${name})`}: ` +
          `${parsed.error.issues[0]?.message ?? 'is not valid'}`,
      );
    let at = values;
    for (const part of path.slice(0, -1)) at = (at[part] ??= {}) as Record<string, unknown>;
    at[path.at(-1) as string] = parsed.success ? parsed.data : undefined;
    if (!sources.has(key)) sources.set(key, 'default');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { values: values as ValuesOf<S>, sources };
}

function unreadable(): never {
  throw new Error('no file access');
}

function didYouMean(name: string, names: string[]): string {
  const score = (other: string): number => {
    const parts = new Set(other.split('_'));
    return name.split('_').filter((p) => parts.has(p)).length / Math.max(parts.size, name.split('_').length);
  };
  const best = names.map((n) => [score(n), n] as const).sort((a, b) => b[0] - a[0])[0];
  return best && best[0] > 0.5 ? `; did you mean ${best[1]}?` : '';
}

/** Returns the word closest to `word` in edit distance, if that distance is at most two. */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  const scored = words.map((other) => [edits(word, other), other] as const).sort((a, b) => a[0] - b[0]);
  const best = scored[0];
  return best && best[0] <= 2 && best[0] < word.length ? best[1] : undefined;
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
