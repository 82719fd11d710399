/**
 * Returns the object that a column of the ledger contains as JSON. A row that was changed in the database may contain
 * any text; one that is not an object is read as an empty one, so that no other row becomes unreadable with it.
 */
export function storedObject(text: string | null): Readonly<Record<string, unknown>> {
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Like {@link storedObject}, for a list of ids. */
export function storedIds(text: string | null): string[] {
  const value = parsed(text);
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string') : [];
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
