export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'legate.theme';

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((name) => name === kept) ?? 'system';
}

/** Without an explicit theme, that of the operating system applies. */
export function applyTheme(next: Theme = theme()): void {
  localStorage.setItem(KEY, next);
  if (next === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = next;
}
