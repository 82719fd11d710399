import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';

/** Whether Caddy is on the PATH. */
export const hasCaddy = (): boolean => spawnSync('caddy', ['version']).status === 0;

/**
 * Runs Caddy with the text of a Caddyfile and its own certificate for localhost. Resolves with the path of the
 * certificate when Caddy accepts connections on `port`.
 */
export async function runCaddy(
  folder: string,
  text: string,
  port: number,
): Promise<{ certificate: string; stop(): Promise<void> }> {
  const file = join(folder, 'Caddyfile');
  const options = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n';
  writeFileSync(file, options + text);
  const { PATH = '' } = process.env as { PATH?: string };
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
    env: { PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk));
  process.once('exit', () => child.kill('SIGKILL'));
  const certificate = join(folder, 'caddy/pki/authorities/local/root.crt');
  for (let i = 0; !(existsSync(certificate) && (await answers(port, certificate))); i++) {
    if (i > 500 || child.exitCode !== null) throw new Error(said);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    certificate,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

const answers = (port: number, certificate: string): Promise<boolean> =>
  new Promise((resolve) => {
    const req = request(
      { host: 'localhost', port, path: '/health/ready', ca: readFileSync(certificate) },
      ({ statusCode }) => resolve(statusCode === 200),
    );
    req.on('error', () => resolve(false));
    req.end();
  });
