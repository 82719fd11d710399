import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The source folder in Debian's package golang-golang-x-mod-dev. */
const GOPATH = '/usr/share/gocode';

export const hasGo = (): boolean =>
  existsSync(join(GOPATH, 'src/golang.org/x/mod/sumdb')) && spawnSync('go', ['version']).status === 0;

/** Builds the verifier on golang.org/x/mod/sumdb, and returns its path. */
export function buildSumdbVerifier(folder: string): string {
  const program = join(folder, 'sumdb-verifier');
  const { PATH = '' } = process.env as { PATH?: string };
  const built = spawnSync('go', ['build', '-o', program, join(import.meta.dirname, 'verifier/main.go')], {
    encoding: 'utf8',
    env: { PATH, GOPATH, GO111MODULE: 'off', GOCACHE: join(folder, 'go-cache'), GOFLAGS: '', CGO_ENABLED: '0' },
  });
  if (built.status !== 0) throw new Error(built.stderr);
  return program;
}
