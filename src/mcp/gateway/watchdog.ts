import { type ChildProcess, spawn } from 'node:child_process';

/** Runs in a process of its own. Ends the named groups when its input ends, which is when the gateway is gone. */
const SCRIPT = `
const groups = new Set();
let rest = '';
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) groups[line[0] === '+' ? 'add' : 'delete'](Number(line.slice(1)));
});
process.stdin.on('end', () => {
  const signal = (name) => { for (const group of groups) try { process.kill(-group, name); } catch {} };
  signal('SIGTERM');
  setTimeout(() => { signal('SIGKILL'); process.exit(); }, groups.size === 0 ? 0 : 2000);
});`;

const groups = new Set<number>();
let watchdog: ChildProcess | undefined;

/** Makes sure that a process group ends with this process, also if this process is killed. */
export function watchGroup(group: number): void {
  groups.add(group);
  if (watchdog) tell(`+${group}\n`);
  else start();
}

export function unwatchGroup(group: number): void {
  groups.delete(group);
  tell(`-${group}\n`);
}

function start(): void {
  const started = spawn(process.execPath, ['-e', SCRIPT], {
    detached: true,
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watchdog = started;
  const gone = (): void => {
    if (watchdog !== started) return;
    watchdog = undefined;
    if (groups.size > 0) start();
  };
  started.once('exit', gone).once('error', () => {
    if (watchdog === started) watchdog = undefined;
  });
  started.stdin?.on('error', () => {});
  started.unref();
  (started.stdin as unknown as { unref?: () => void } | null)?.unref?.();
  for (const group of groups) tell(`+${group}\n`);
}

function tell(line: string): void {
  watchdog?.stdin?.write(line);
}
