import { LegateClient, LegateError } from '../../client/index.ts';
import { renderCommand } from './render.ts';
import { TOUR, type TourStep } from './steps.ts';

export interface TourOptions {
  /** Address of the REST endpoints, without a trailing slash. */
  readonly baseUrl: string;
  /** A person's token. */
  readonly token: string;
  readonly say: (text: string) => void;
}

/**
 * Runs the tour against a running service and explains each answer. Returns the number of unexpected answers. Stops if
 * the first step fails, because all others need its answer.
 */
export async function runTour({ baseUrl, token, say }: TourOptions): Promise<number> {
  const values = new Map<string, string>();
  let wrong = 0;
  for (const [i, step] of TOUR.entries()) {
    say(`\n${i + 1}. ${step.title}\n   $ ${renderCommand(step)}`);
    const { status, text } = await ask(
      baseUrl,
      step,
      step.as === 'agent' ? (values.get('AGENT_TOKEN') ?? '') : token,
      values,
    );
    const missing = step.expect.contains.filter((part) => !text.includes(part));
    const fits = status === step.expect.status && missing.length === 0;
    say(`   ${status} ${shown(text)}`);
    say(
      fits
        ? `   ${step.explanation}`
        : `   Expected ${step.expect.status}${missing.map((part) => ` with ${part}`).join('')}, got ${status}.`,
    );
    if (!fits) wrong++;
    if (!fits && i === 0) return wrong;
    for (const [name, path] of Object.entries(step.keep ?? {})) values.set(name, fits ? valueAt(text, path) : '');
  }
  return wrong;
}

async function ask(
  baseUrl: string,
  step: TourStep,
  token: string,
  values: ReadonlyMap<string, string>,
): Promise<{ status: number; text: string }> {
  const filled = (text: string): string => text.replace(/\$([A-Z_]+)/g, (_, name: string) => values.get(name) ?? '');
  const client = new LegateClient({ baseUrl, token });
  try {
    const response = await client.request(step.method, filled(step.path), {
      ...(step.body ? { body: JSON.parse(filled(JSON.stringify(step.body))) } : {}),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if (!(error instanceof LegateError) || error.status === 0) throw error;
    const { code, status, message, details } = error;
    return { status, text: JSON.stringify({ error: { code, message, details } }) };
  }
}

/** Shortens long answers and removes the secret part of tokens. */
function shown(text: string): string {
  const safe = text.replace(/\b(lg[a-z]_[A-Za-z0-9_-]{6})[A-Za-z0-9_-]+/g, '$1...').trim();
  const lines = safe.split(/\r?\n/);
  const some = lines.length > 6 ? [...lines.slice(0, 6), `... ${lines.length - 6} more lines`] : lines;
  return some.map((line) => (line.length > 600 ? `${line.slice(0, 600)} ...` : line)).join('\n   ');
}

const valueAt = (json: string, path: string): string =>
  String(
    path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], JSON.parse(json)),
  );
