/** Returns all values in a JSON object by their paths. Different values have different paths. */
export function pathsOf(value: unknown, path = ''): { path: string; value: string }[] {
  if (typeof value !== 'object' || value === null) return [{ path: path || '.', value: JSON.stringify(value) ?? '' }];
  const entries = Array.isArray(value)
    ? value.map((item, i) => [`[${i}]`, item] as const)
    : Object.entries(value).map(([name, item]) => [memberOf(path, name), item] as const);
  if (entries.length === 0) return [{ path: path || '.', value: Array.isArray(value) ? '[]' : '{}' }];
  return entries.flatMap(([name, item]) => pathsOf(item, path + name));
}

/** Names with other characters are in quotes, so that `{"a.b": 1}` differs from `{"a": {"b": 1}}`. */
const memberOf = (path: string, name: string): string => {
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`;
  return path === '' ? name : `.${name}`;
};
