// Properties of this machine: cores for pinning, a load generator, and the speed of its disk.
import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform } from 'node:os';
import { join } from 'node:path';
import { quantile } from './numbers.mjs';

const works = (command, args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const canPin = platform() === 'linux' && availableParallelism() >= 2 && works('taskset', ['-c', '0', 'true']);

/** Returns the command pinned to one core, where that is possible. */
export const pinned = (core, command) => (canPin ? ['taskset', '-c', String(core), ...command] : command);

/** Returns wrk if it is installed or can be, otherwise autocannon. */
export function loadGenerator() {
  const has = () => spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined;
  if (has()) return 'wrk';
  if (process.getuid?.() === 0 && works('apt-get', ['--version'])) {
    console.log('installing wrk ...');
    spawnSync('apt-get', ['install', '-y', '-qq', 'wrk'], { stdio: 'ignore', timeout: 120_000 });
    if (has()) return 'wrk';
  }
  return 'autocannon';
}

export const describeMachine = (generator) =>
  `Node ${process.versions.node}, ${availableParallelism()} x ${cpus()[0]?.model.trim() ?? 'unknown'}, ` +
  `${canPin ? 'server on core 0, load on core 1' : 'nothing pinned'}, ${generator}, ` +
  `load average ${loadavg()[0]?.toFixed(1)} before`;

/** The duration of an fdatasync after 16 KB in the data folder, in ms. All figures of durable writes depend on it. */
export function measureFsync(folder) {
  const path = join(folder, 'fsync.probe');
  const fd = openSync(path, 'w');
  const block = Buffer.alloc(16_384, 1);
  const BLOCKS = 64;
  for (let i = 0; i < BLOCKS; i++) writeSync(fd, block, 0, block.length, i * block.length);
  fdatasyncSync(fd);
  const times = [];
  for (let i = 0; i < 300; i++) {
    writeSync(fd, block, 0, block.length, (i % BLOCKS) * block.length);
    const start = performance.now();
    fdatasyncSync(fd);
    times.push(performance.now() - start);
  }
  closeSync(fd);
  rmSync(path);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}
