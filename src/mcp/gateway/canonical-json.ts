/** Returns the canonical JSON of a parsed JSON value (RFC 8785). Throws on unpaired surrogates. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      // By UTF-16 code units (section 3.2.3), as `<` compares strings.
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, member]) => `${canonicalJson(key)}:${canonicalJson(member)}`).join(',')}}`;
  }
  if (typeof value === 'string' && !value.isWellFormed()) throw new Error('the text has unpaired surrogates');
  return JSON.stringify(value);
}
