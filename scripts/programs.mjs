// Programs that tests need and npm does not install. As root on Debian, installs those that are missing; run alone, it
// does only that, so that it can run while other checks do.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const runs = (name, ...args) => spawnSync(name, args).status === 0;
const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const REDIS = ['redis-server', 'valkey-server'];

/** `packages` has alternatives in order of preference. */
const PROGRAMS = [
  {
    isFor: 'what needs Redis',
    isThere: () => Boolean(process.env.LEGATE_TEST_REDIS_URL) || REDIS.some((name) => runs(name, '--version')),
    packages: [['redis-server']],
    problem: `no LEGATE_TEST_REDIS_URL, and no ${REDIS.join(' or ')} on the PATH`,
  },
  {
    isFor: 'the pages in a browser',
    isThere: () => BROWSERS.some((name) => runs(name, '--version')),
    // The shell takes two thirds of the processor time of the whole browser.
    packages: [['chromium-headless-shell'], ['chromium']],
    problem: `no ${BROWSERS.join(' or ')} on the PATH`,
  },
  {
    isFor: 'the configuration of nginx',
    isThere: () => runs('nginx', '-v'),
    packages: [['nginx-light']],
    problem: 'no nginx on the PATH',
  },
  {
    isFor: 'the configuration of Caddy',
    isThere: () => runs('caddy', 'version'),
    packages: [['caddy']],
    problem: 'no caddy on the PATH',
  },
  {
    isFor: 'the verifier of golang.org/x/mod/sumdb',
    isThere: () => existsSync('/usr/share/gocode/src/golang.org/x/mod/sumdb') && runs('go', 'version'),
    packages: [['golang-go', 'golang-golang-x-mod-dev']],
    problem: "Debian's golang-go and golang-golang-x-mod-dev are not installed",
  },
];

/** Returns what cannot be tested, and why, after trying to install Debian packages if that needs no confirmation. */
export function missingPrograms() {
  const missing = () => PROGRAMS.filter(({ isThere }) => !isThere());
  if (missing().length > 0 && process.getuid?.() === 0 && runs('apt-get', '--version')) install(missing);
  return missing().map(({ isFor, problem }) => `${isFor}: ${problem}`);
}

/** Installs all at once, which is several times as fast as one by one; one by one if that fails. */
function install(missing) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  const apt = (...args) => spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: 300_000 }).status === 0;
  const add = (packages) => apt('install', '-y', '--no-install-recommends', ...packages);
  const all = missing().flatMap(({ packages }) => packages[0]);
  if (add(all) || (apt('update') && add(all))) return;
  for (const { packages } of missing()) packages.some(add);
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename)
  for (const what of missingPrograms()) console.log(`not installed, for ${what}`);
