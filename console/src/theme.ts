export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const DENSITIES = ['comfortable', 'compact'] as const;
export type Density = (typeof DENSITIES)[number];
const KEY = 'legate.theme';
const DENSITY_KEY = 'legate.density';

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((name) => name === kept) ?? 'system';
}

/** Without an explicit theme, that of the operating system is used. */
export function applyTheme(next: Theme = theme()): void {
  localStorage.setItem(KEY, next);
  if (next === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = next;
}

export function density(): Density {
  return localStorage.getItem(DENSITY_KEY) === 'compact' ? 'compact' : 'comfortable';
}

export function applyDensity(next: Density = density()): void {
  localStorage.setItem(DENSITY_KEY, next);
  document.documentElement.dataset['density'] = next;
}
