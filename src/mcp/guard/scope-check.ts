/** What our scopes stand for beside themselves. */
const HIERARCHY: Readonly<Record<string, readonly string[]>> = { 'mcp:execute': ['mcp:read'] };

/** Which of the needed scopes the granted ones do not satisfy: by name, or by a broader one that stands for it, however far. */
export function missingScopes(
  granted: readonly string[],
  needed: readonly string[],
  hierarchy: Readonly<Record<string, readonly string[]>> = HIERARCHY,
): string[] {
  const held = new Set(granted);
  // A set grows while it is walked.
  for (const scope of held)
    if (Object.hasOwn(hierarchy, scope)) for (const narrower of hierarchy[scope] ?? []) held.add(narrower);
  return needed.filter((scope) => !held.has(scope));
}
