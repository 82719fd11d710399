import { styleText } from 'node:util';
import { gatewayPath } from '../mcp/gateway/index.ts';
import type { FirstAdmin } from '../people/users/index.ts';
import type { Legate } from '../service.ts';
import type { SchemaState } from '../storage/index.ts';

export interface BannerFacts {
  readonly legate: Legate;
  readonly version: string;
  readonly production: boolean;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly schema: SchemaState;
  readonly firstAdmin: FirstAdmin;
  readonly readyAfterMs: number;
  readonly refused: readonly string[];
  /** Verifier keys of the sealed ledger; none if it is not sealed. */
  readonly sealKeys: readonly string[];
}

/** Renders the text that is printed at start, in aligned lines. */
export function renderBanner(facts: BannerFacts, colour: boolean): string {
  const { legate, firstAdmin, schema } = facts;
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    colour ? styleText(format, text) : text;
  const at = (path: string): string =>
    `${legate.baseUrl}${legate.platform.config.http.restPath.replace(/\/$/, '')}${path}`;
  const host = facts.host.includes(':') ? `[${facts.host}]` : facts.host;

  const lines: [string, string][] = [
    ['Address', `${legate.baseUrl}   listening on ${host}:${facts.port}, process ${process.pid}`],
    ['Database', `${legate.platform.database.description}, schema ${schema.applied} of ${schema.known}`],
    ['Data', facts.dataDir],
  ];
  if (facts.sealKeys.length > 0) lines.push(['Ledger key', facts.sealKeys.join('\n')]);
  if (firstAdmin.kind === 'setupLink')
    lines.push([
      'Set-up',
      `${style('bold', firstAdmin.url)}\ncreates the first administrator; works once, for 15 minutes`,
    ]);
  if (firstAdmin.kind === 'created') lines.push(['Set-up', `administrator ${firstAdmin.email} created`]);
  if (firstAdmin.kind === 'exists' && !firstAdmin.admin)
    lines.push(['Set-up', 'no administrator yet: npx legate admin create --email you@example.com']);
  const behind = Object.entries(legate.platform.config.gateway.servers).filter(([, { disabled }]) => disabled !== true);
  if (behind.length > 0) lines.push(['Gateway', behind.map(([name]) => at(gatewayPath(name))).join('\n')]);
  if (legate.platform.config.console.enabled) lines.push(['Console', at('/console')]);
  lines.push(
    ['API docs', `${at('/docs')}   ${at('/openapi.json')}`],
    ['Health', `${at('/health/live')}   ${at('/health/ready')}`],
    ['Metrics', `${at('/metrics')}   needs an administrator's token or LEGATE_METRICS_TOKEN`],
  );
  if (!facts.production) {
    lines.push(['Try it', 'npx legate tour, or copy the tour from the README']);
    if (facts.refused.length > 0) lines.push(['Not for production', facts.refused.join('\n')]);
  }

  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  const body = lines.map(([name, text]) => {
    const [first, ...more] = text.split('\n');
    return [
      `  ${style('dim', name.padEnd(width))}${first}`,
      ...more.map((line) => `  ${' '.repeat(width)}${line}`),
    ].join('\n');
  });
  const mode = facts.production ? 'production' : 'development';
  const name = style('bold', `Legate ${facts.version}`);
  const ready = `Node ${process.versions.node}, ready after ${facts.readyAfterMs} ms`;
  const title = `${name}  ${style(facts.production ? 'green' : 'yellow', mode)}  ${ready}`;
  return `\n${title}\n\n${body.join('\n')}\n\n`;
}
