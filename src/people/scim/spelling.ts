/** Names of the attributes and message members that are read. Each has one spelling wherever it occurs. */
const NAMES = (
  'schemas userName externalId name formatted givenName familyName displayName active emails members value type ' +
  'primary Operations op path'
).split(' ');
const SPELLINGS: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [name.toLowerCase(), name]));

/** Returns the spelling of an attribute name: names are case-insensitive (RFC 7643, section 2.1). */
export const spellingOf = (name: string): string => SPELLINGS.get(name.toLowerCase()) ?? name;

/** Returns a body in which the names that are read have their spelling. If one appears twice, the last one counts. */
export function spelled(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  if (Array.isArray(body)) return body.map(spelled);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [spellingOf(name), spelled(value)]));
}
