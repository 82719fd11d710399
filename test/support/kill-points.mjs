// Preloaded with --import into a service on SQLite. After SIGUSR2 it writes the name of each step of sealing the ledger
// to standard error, and kills the process with SIGKILL right before the step named KILL_BEFORE.
import fs, { writeSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const write = writeSync;
let isArmed = false;
process.on('SIGUSR2', () => {
  isArmed = true;
  // A checkpoint is kept once a minute. The one before the signal must not count.
  const { now } = Date;
  Date.now = () => now() + 61_000;
});

function step(name) {
  if (!isArmed) return;
  write(2, `step: ${name}\n`);
  if (name === process.env.KILL_BEFORE) process.kill(process.pid, 'SIGKILL');
}

/** The writes of the open transaction to the tables of the seal. */
let written;
function statement(sql) {
  const name = /^(insert into|update) "?legate_seal(_\w+)?"?/.exec(sql);
  if (!name) return;
  if (name[2] === '_tiles') written = 'tiles';
  else if (name[2] === '_checkpoints') written = 'checkpoint';
  else written = sql.includes('"checkpoint"') ? 'checkpoint' : 'tiles';
  step(`${written}: ${name[1]} seal${name[2] ?? ''}`);
}
function executed(sql) {
  if (sql === 'commit' && written) step(`${written}: commit`);
  if (sql === 'commit' || sql === 'rollback') written = undefined;
}

/** node:sqlite or libsql, whichever the service uses. */
function patch(Database) {
  const { exec, prepare } = Database.prototype;
  Database.prototype.exec = function (sql) {
    executed(sql);
    return exec.call(this, sql);
  };
  Database.prototype.prepare = function (sql) {
    const prepared = prepare.call(this, sql);
    for (const method of ['run', 'all', 'get']) {
      const original = prepared[method];
      prepared[method] = (...params) => {
        statement(sql);
        return original.apply(prepared, params);
      };
    }
    return prepared;
  };
}
patch(createRequire(import.meta.url)('libsql'));
const builtIn = process.getBuiltinModule?.('node:sqlite');
if (builtIn) patch(builtIn.DatabaseSync);

/** Descriptors of the anchor, and of its folder while it is synced. */
const open = new Map();
const { openSync, fsync, renameSync, closeSync } = fs;
let isReplaced = false;
fs.openSync = (path, ...rest) => {
  const isAnchor = String(path).includes('ledger-anchor');
  if (isAnchor) step('anchor: open');
  const file = openSync(path, ...rest);
  if (isAnchor) open.set(file, 'file');
  else if (isReplaced) open.set(file, 'folder');
  return file;
};
fs.writeSync = (file, ...rest) => {
  if (open.get(file) === 'file') step('anchor: write');
  return write(file, ...rest);
};
fs.fsync = (file, done) => {
  if (open.has(file)) step(`anchor: fsync ${open.get(file)}`);
  return fsync(file, done);
};
fs.renameSync = (from, to) => {
  if (String(to).includes('ledger-anchor')) step('anchor: rename');
  isReplaced = String(to).includes('ledger-anchor');
  return renameSync(from, to);
};
fs.closeSync = (file) => {
  if (open.get(file) === 'folder') isReplaced = false;
  open.delete(file);
  return closeSync(file);
};
syncBuiltinESMExports();
