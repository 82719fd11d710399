// npm run next-example: builds and serves examples/next with the newest Next.js and the packed package, in a scratch
// folder, and checks what the browser and other clients need from it. Takes about a minute.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const app = mkdtempSync(join(tmpdir(), 'legate-next-'));
process.on('exit', () => rmSync(app, { recursive: true, force: true }));

function run(program, args, cwd, env = process.env) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

run(process.execPath, [join(root, 'scripts/build.mjs')], root);
const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', app], root));
cpSync(join(root, 'examples/next'), app, { recursive: true });
mkdirSync(join(app, 'app/start'), { recursive: true });
writeFileSync(
  join(app, 'app/layout.tsx'),
  'export default ({ children }: any) => <html><body>{children}</body></html>;',
);
writeFileSync(join(app, 'app/start/page.tsx'), 'export default () => <p>the application itself</p>;');
writeFileSync(join(app, 'package.json'), '{"name":"app","private":true}');
const packages = [
  'next',
  'react',
  'react-dom',
  'mcp-handler',
  '@modelcontextprotocol/server',
  'typescript',
  '@types/node',
  '@types/react',
  `./${filename}`,
];
run('npm', ['install', '--no-audit', '--no-fund', ...packages], app);

const listener = createServer().listen(0, '127.0.0.1');
await once(listener, 'listening');
const { port } = listener.address();
listener.close();
const url = `http://localhost:${port}`;
const env = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: '1',
  LEGATE_DATA_DIR: join(app, 'data'),
  LEGATE_BASE_URL: url,
  LEGATE_ALLOW_HTTP: 'true',
  LEGATE_USERS_SIGN_UP: 'open',
};
const next = join(app, 'node_modules/next/dist/bin/next');
// The build loads the routes, without the settings that a production start needs.
run(process.execPath, [next, 'build'], app, { ...process.env, NEXT_TELEMETRY_DISABLED: '1' });
const server = spawn(process.execPath, [next, 'start', '-p', String(port)], { cwd: app, env, stdio: 'pipe' });
let output = '';
for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += chunk));
const guard = setTimeout(() => server.kill('SIGKILL'), 60_000);
try {
  const deadline = performance.now() + 30_000;
  while (!(await fetch(`${url}/start`).catch(() => undefined))) {
    if (performance.now() > deadline) throw new Error('the server does not listen');
    await new Promise((done) => setTimeout(done, 50));
  }
  await check();
  console.log(`examples/next works with ${run(process.execPath, [next, '--version'], app).trim()}`);
} catch (error) {
  console.error(`${error.message}\n${output}`);
  process.exitCode = 1;
} finally {
  clearTimeout(guard);
  server.kill('SIGTERM');
}

async function check() {
  const ask = async (path, status, init = {}) => {
    const response = await fetch(url + path, { redirect: 'manual', ...init });
    if (response.status !== status) throw new Error(`${path} answered ${response.status}, expected ${status}`);
    return response;
  };
  const json = { 'content-type': 'application/json' };
  await ask('/legate/health/ready', 200);
  const refused = await ask('/mcp', 401, { method: 'POST', headers: json, body: '{}' });
  const [, named] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate')) ?? [];
  const resource = await (await ask(new URL(named).pathname, 200)).json();
  if (resource.resource !== `${url}/mcp`) throw new Error(`the resource is ${resource.resource}`);
  const metadata = await (await ask('/.well-known/oauth-authorization-server', 200)).json();
  if (metadata.issuer !== url) throw new Error(`the issuer is ${metadata.issuer}`);
  const person = JSON.stringify({ email: 'ada@example.com', password: 'a phrase that nobody guesses' });
  const { token } = await (await ask('/legate/sign-up', 200, { method: 'POST', headers: json, body: person })).json();
  const page = await ask('/legate/account/sign-in', 200);
  if (!(await page.text()).includes('<form')) throw new Error('the page of sign-in has no form');

  const session = await ask('/legate/account/sign-in', 303, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
    body: new URLSearchParams(JSON.parse(person)),
  });
  const cookie = session.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ');
  const console = await (await ask('/legate/console/agents', 200, { headers: { cookie } })).text();
  const [script] = /\/legate\/console\/assets\/main-[\w-]+\.js/.exec(console) ?? [];
  // fetch decodes the body as its headers say, like a browser.
  const text = await (await ask(script, 200, { headers: { 'accept-encoding': 'gzip, br' } })).text();
  if (text.includes('\ufffd') || !text.includes('import')) throw new Error('the script of the console is not text');

  const bearer = { ...json, authorization: `Bearer ${token}` };
  const stream = await ask('/api/legate/events/stream', 200, { headers: bearer });
  const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
  await ask('/legate/api-tokens', 201, { method: 'POST', headers: bearer, body: '{"name":"ci"}' });
  for (let read = ''; !read.includes('event: token.created'); ) {
    const { value, done } = await reader.read();
    if (done) throw new Error('the stream ended before the event');
    read += value;
  }
  await reader.cancel();
}
