import { type ChildProcess, spawn } from 'node:child_process';

/** Environment variable with the name of the process group. Child processes inherit it, even in other groups. */
export const GROUP_VARIABLE = 'MCP_GATEWAY_GROUP';

/**
 * Runs in a separate process. Kills the remaining processes of a group that has ended, and every group when its own
 * input ends, because the gateway has ended then. Only on Linux can it find processes by the mark of a group.
 */
const SCRIPT = `
const { readdirSync, readFileSync } = require('node:fs');
const groups = new Map();
const ended = new Set();
let sweeping;
let rest = '';
const kill = (pid, name) => { try { return process.kill(pid, name); } catch { return false; } };
const marked = (marks) => {
  if (marks.size === 0 || process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((name) => {
    if (!/^[0-9]+$/.test(name)) return false;
    try {
      const variables = readFileSync('/proc/' + name + '/environ', 'latin1').split('\\0');
      const prefix = '${GROUP_VARIABLE}=';
      return variables.some((one) => one.startsWith(prefix) && marks.has(one.slice(prefix.length)));
    } catch { return false; }
  }).map(Number);
};
const sweep = () => {
  sweeping = undefined;
  const marks = new Set(ended);
  // Once more if there were some, because they may have started others meanwhile.
  if (marked(marks).filter((pid) => kill(pid, 'SIGKILL')).length > 0) sweeping = setTimeout(sweep, 500);
  else for (const mark of marks) ended.delete(mark);
};
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const [group, mark] = line.slice(1).split(' ');
    if (line[0] === '+') groups.set(group, mark);
    else {
      groups.delete(group);
      ended.add(mark);
      sweeping ??= setTimeout(sweep, 100);
    }
  }
});
process.stdin.on('end', () => {
  clearTimeout(sweeping);
  for (const pid of marked(ended)) kill(pid, 'SIGKILL');
  const signal = (name) => {
    for (const group of groups.keys()) kill(-group, name);
    for (const pid of marked(new Set(groups.values()))) kill(pid, name);
  };
  signal('SIGTERM');
  setTimeout(() => { signal('SIGKILL'); process.exit(); }, groups.size === 0 ? 0 : 2000);
});`;

/** Process groups with their marks. */
const groups = new Map<number, string>();
let watchdog: ChildProcess | undefined;

/**
 * Makes sure that a process group and the processes that it starts end with this process, even if this process is
 * killed.
 */
export function watchGroup(group: number, mark: string): void {
  groups.set(group, mark);
  if (watchdog) tell(`+${group} ${mark}\n`);
  else start();
}

/** Kills the remaining processes of a group that has ended. */
export function sweepGroup(group: number, mark: string): void {
  groups.delete(group);
  if (!watchdog) start();
  tell(`-${group} ${mark}\n`);
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
  for (const [group, mark] of groups) tell(`+${group} ${mark}\n`);
}

function tell(line: string): void {
  watchdog?.stdin?.write(line);
}
