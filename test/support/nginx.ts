import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/** Whether nginx is on the PATH. */
export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0;

/** Creates a certificate for localhost in `folder`. Returns the path of the certificate. */
export function makeCertificate(folder: string): string {
  const [certificate, key] = [join(folder, 'fullchain.pem'), join(folder, 'privkey.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
    ],
    { stdio: 'pipe' },
  );
  return certificate;
}

/**
 * Runs nginx with the configuration in a file, after `changes` to its text. Resolves when it accepts connections on
 * `port`. Throws with the output of nginx if the configuration is not valid.
 */
export async function runNginx(
  folder: string,
  file: string,
  changes: readonly (readonly [string, string])[],
  port: number,
): Promise<{ stop(): Promise<void> }> {
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
    text = text.replaceAll(from, to);
  }
  mkdirSync(join(folder, 'temp'), { recursive: true });
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, 'temp', name)};`)
    .join('\n');
  const main = join(folder, 'nginx.conf');
  writeFileSync(
    main,
    `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\n` +
      `events {}\nhttp {\naccess_log off;\n${temp}\n${text}\n}\n`,
  );
  const checked = spawnSync('nginx', ['-t', '-p', folder, '-c', main], { encoding: 'utf8' });
  if (checked.status !== 0) throw new Error(checked.stderr);
  const child = spawn('nginx', ['-p', folder, '-c', main], { stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  for (let i = 0; !(await accepts(port)); i++) {
    if (i > 500 || child.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { stop: () => ended(child) };
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
