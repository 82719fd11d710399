/** The members of an entry's data. A row that differs from the sealed one may contain any text, and states nothing. */
export function statedBy(data: string | null): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(data ?? '{}') as object) };
  } catch {
    return {};
  }
}
