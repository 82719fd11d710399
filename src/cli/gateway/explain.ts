import { type GatewayServer, ProcessEnded } from '../../mcp/gateway/index.ts';
import { visible } from './render-tool.ts';

const SHOWN_LINES = 15;

/** Returns why a server did not answer and how to fix it, for the person who configured it. */
export function explain({ command, cwd, url, headers }: GatewayServer, error: Error): string {
  const { message } = error;
  if (message.endsWith(': ENOENT') && command !== undefined)
    return `${message}. The command ${command}${cwd === undefined ? '' : `, or its folder ${cwd},`} does not exist.`;
  if (url !== undefined && /status 40[13]$/.test(message) && Object.keys(headers).length > 0)
    return `${message}. It refuses the configured headers.`;
  if (url !== undefined && /status 40[13]$/.test(message))
    return `${message}. It needs credentials: headers (--header-file), or legate.auth of type oauth (--oauth).`;
  if (url !== undefined && /status 40[45]$/.test(message))
    return `${message}. Check the path of the address, which often ends with /mcp.`;
  if (!(error instanceof ProcessEnded)) return `${message}.`;
  const lines = error.errorOutput.split(/\r?\n/).filter((line) => line.trim() !== '');
  const shown = lines.slice(-SHOWN_LINES).map((line) => `\n  ${visible(line)}`);
  return shown.length === 0 ? `${message}, without a message.` : `${message}. It wrote:${shown.join('')}`;
}
