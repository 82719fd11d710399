export interface Challenge {
  readonly scheme: string;
  /** By lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Names whose value is not quoted although it must be. */
  readonly unquoted: readonly string[];
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+/;

/** Parses WWW-Authenticate, a list of challenges (RFC 9110, section 11.6.1). The list ends at invalid syntax. */
export function parseChallenges(header: string): Challenge[] {
  const found: { scheme: string; parameters: Map<string, string>; unquoted: string[] }[] = [];
  let rest = header.trimStart();
  while (rest !== '') {
    const name = TOKEN.exec(rest)?.[0];
    if (name === undefined) break;
    rest = rest.slice(name.length);
    const parameter = /^[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^",\s][^,\s]*))/.exec(rest);
    const current = found.at(-1);
    if (parameter && current) {
      const [whole, quoted, bare] = parameter;
      if (bare !== undefined && TOKEN.exec(bare)?.[0] !== bare) current.unquoted.push(name.toLowerCase());
      current.parameters.set(
        name.toLowerCase(),
        quoted === undefined ? (bare as string) : quoted.replace(/\\(.)/g, '$1'),
      );
      rest = rest.slice(whole.length);
    } else {
      found.push({ scheme: name, parameters: new Map(), unquoted: [] });
    }
    rest = rest.replace(/^[\s,]+/, '');
  }
  return found;
}
