import { basename } from 'node:path';

/** Programs that run the package or script in their arguments. */
const RUNNERS: ReadonlySet<string> = new Set([
  'npx',
  'bunx',
  'pnpx',
  'uvx',
  'node',
  'bun',
  'deno',
  'python',
  'python3',
]);

/**
 * Returns a short name for a server from its command: `filesystem` for
 * `npx -y @modelcontextprotocol/server-filesystem ./notes`.
 */
export function nameOfCommand([program = '', ...args]: readonly string[]): string {
  const runner = basename(program).replace(/\.(exe|cmd)$/, '');
  const run = RUNNERS.has(runner) ? args.find((arg) => !arg.startsWith('-') && arg !== 'run') : undefined;
  const name = basename(run ?? runner)
    .replace(/(?<=.)@.*$/, '')
    .replace(/\.(exe|cmd|[cm]?[jt]s|py)$/, '')
    .replace(/^(mcp-server-|server-|mcp-)(?=.)/, '')
    .replace(/(?<=.)(-mcp-server|-server|-mcp)$/, '')
    .replace(/[^\w.-]/g, '-')
    .slice(0, 64);
  return /^[A-Za-z0-9]/.test(name) ? name : 'server';
}
