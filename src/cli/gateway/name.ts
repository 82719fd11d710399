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

/** Names of scripts and of their folders that say nothing about the server. */
const GENERIC = /^(\.*|(index|main|server|cli|app)\.([cm]?[jt]s|py)|dist|build|src|lib|bin|out)$/;

/**
 * Returns a short name for a server from its command: `filesystem` for
 * `npx -y @modelcontextprotocol/server-filesystem ./notes` and for `node server-filesystem/dist/index.js ./notes`.
 */
export function nameOfCommand([program = '', ...args]: readonly string[]): string {
  const runner = basename(program).replace(/\.(exe|cmd)$/, '');
  const run = RUNNERS.has(runner) ? args.find((arg) => !arg.startsWith('-') && arg !== 'run') : undefined;
  const path = run ?? program;
  const telling = path.split(/[\\/]/).findLast((part) => !GENERIC.test(part));
  const name = (telling ?? basename(path))
    .replace(/(?<=.)@.*$/, '')
    .replace(/\.(exe|cmd|[cm]?[jt]s|py)$/, '')
    .replace(/^(mcp[-_]server[-_]|server-|mcp-)(?=.)/, '')
    .replace(/(?<=.)(-mcp-server|-server|-mcp)$/, '')
    .replace(/[^\w.-]/g, '-')
    .slice(0, 64);
  return /^[A-Za-z0-9]/.test(name) ? name : 'server';
}
