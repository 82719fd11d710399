type Fields = Record<string, unknown>;

/** Changes with every update, and repeats the time of the event. */
const ALWAYS = 'updatedAt';

/**
 * `before` and `after` of an event, from a thing as it is shown before and after the change: only the fields that
 * differ, whole. A thing as it is shown holds no secret.
 */
export function changedFields(was: object, is: object): { readonly before: Fields; readonly after: Fields } {
  const [from, to] = [was as Fields, is as Fields];
  const changed = Object.keys({ ...from, ...to }).filter(
    (name) => name !== ALWAYS && JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  );
  const pick = (fields: Fields): Fields => Object.fromEntries(changed.map((name) => [name, fields[name]]));
  return { before: pick(from), after: pick(to) };
}
