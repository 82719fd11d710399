/** A name of a secret in `${user:NAME}` and in `auth.fields`. */
export const FIELD_NAME = /^[A-Za-z][\w-]{0,63}$/;
export const MAX_FIELDS = 10;
const PLACEHOLDER = /\$\{user:([^}]*)\}/g;

/** Where the settings of a server may name a field. */
interface Places {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const namesIn = (texts: readonly string[]): string[] =>
  texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name as string));

/** Returns the names in all `${user:NAME}` of a server. */
export const userFieldsOf = ({ args, env, headers, url }: Places): ReadonlySet<string> =>
  new Set(namesIn([...args, ...Object.values(env), ...Object.values(headers), url ?? '']));

/** Returns whether a secret could determine the host of a request. */
export function choosesHost(url: string): boolean {
  const originWith = (value: string): string => {
    const address = url.replace(PLACEHOLDER, value);
    return URL.canParse(address) ? new URL(address).origin : '';
  };
  return namesIn([url]).length > 0 && (originWith('a') === '' || originWith('a') !== originWith('b'));
}

/** Returns why a value cannot be used in its place in the configuration; undefined if it can. */
export function fieldProblem({ args, headers, url = '' }: Places, name: string, value: string): string | undefined {
  if (value.includes('\0')) return 'must not contain NUL';
  if (namesIn([...Object.values(headers)]).includes(name) && !/^[\x20-\x7e]*$/.test(value))
    return 'must have only printable ASCII characters, because it is sent in a header';
  if (namesIn([url]).includes(name) && /^(\.\.?|.*[\p{Cc}].*)$/su.test(value))
    return 'must not be "." or ".." or contain control characters, because it is part of an address';
  if (value.startsWith('-') && args.some((arg) => arg.startsWith(`\${user:${name}}`)))
    return 'must not begin with "-", because an argument of a command begins with it';
  return undefined;
}

/** Returns a server with the secrets of a person in place of `${user:NAME}`. */
export function withUserFields<S extends Places>(server: S, fields: Readonly<Record<string, string>>): S {
  const secretOf = (name: string): string => (Object.hasOwn(fields, name) ? (fields[name] as string) : '');
  const fill = (text: string, encode: (value: string) => string = (value) => value): string =>
    text.replace(PLACEHOLDER, (_, name: string) => encode(secretOf(name)));
  const fillAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
  return {
    ...server,
    args: server.args.map((arg) => fill(arg)),
    env: fillAll(server.env),
    headers: fillAll(server.headers),
    url: server.url === undefined ? undefined : fill(server.url, encodeURIComponent),
  };
}
