type Fields = Record<string, unknown>;

/** Left out, because it changes with every update and equals the time of the event. */
const ALWAYS = 'updatedAt';

/**
 * Returns `before` and `after` of an event: the complete values of the fields that differ. `before` and `after` are
 * objects as shown in answers, so they contain no secrets.
 */
export function changedFields(was: object, is: object): { readonly before: Fields; readonly after: Fields } {
  const [from, to] = [was as Fields, is as Fields];
  const changed = Object.keys({ ...from, ...to }).filter(
    (name) => name !== ALWAYS && JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  );
  const pick = (fields: Fields): Fields => Object.fromEntries(changed.map((name) => [name, fields[name]]));
  return { before: pick(from), after: pick(to) };
}
