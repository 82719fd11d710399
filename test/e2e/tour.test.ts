import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TOUR } from '../../src/cli/tour/steps.ts';
import { legate, root, run, scratchFolder, serve } from '../support/cli.ts';

describe('the tour', () => {
  it('legate tour: every response is as expected, and explained', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const { code, stdout, stderr } = await legate(['tour', '--url', running.url], { cwd });
    expect([code, stderr], stdout).toEqual([0, '']);
    for (const step of TOUR) expect(stdout).toContain(step.explanation);
    expect(stdout).not.toMatch(/lg[kt]_[A-Za-z0-9_-]{20,}/);
    expect(await running.stop()).toBe(0);
  });

  it('legate tour: finds the service of its folder on any port', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const { code, stderr } = await legate(['tour'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(await running.stop()).toBe(0);
  });

  it('legate tour: reports that there is no response', async () => {
    const { code, stderr } = await legate(['tour', '--url', 'http://127.0.0.1:9']);
    expect(code).toBe(1);
    expect(stderr).toContain('npm start');
  });

  it('legate tour: reports that the address is not one, or that of another program', async () => {
    const { code, stderr } = await legate(['tour', '--url', 'localhost']);
    expect([code, stderr]).toEqual([64, '--url needs an address such as http://localhost:3000.\n']);
    const other = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    onTestFinished(() => void other.close());
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const answer = await legate(['tour', '--url', url]);
    expect(answer.code).toBe(1);
    expect(answer.stderr).toBe(
      `${url} is not the address of a service: GET /health/live answers 404. Set the address with --url.\n`,
    );
  });

  it('legate tour: fails at the first response that differs, if later steps need it', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    const { code, stdout, stderr } = await legate(['tour', '--url', running.url, '--token', 'lgk_wrong'], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain('Expected 200 with "user":, got 401.');
    expect(stdout).not.toContain('2. ');
    expect(stderr).toContain('1 answer differs from what the tour expects.');
    expect(await running.stop()).toBe(0);
  });

  it("the README's tour, by copy and paste: each command returns the expected response", async () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const block = readme.match(/<!-- tour:begin[^>]*-->\s*```bash\n([\s\S]*?)```\s*<!-- tour:end -->/)?.[1] ?? '';
    expect(block).toContain('curl');
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    // The added lines only mark each step in the output.
    const marked = block.replace(/^# (\d+)\. .*$/gm, (line, number) => `${line}\necho '@@${number}'`);
    const { code, stdout, stderr } = await run(['bash', '-c', marked], {
      cwd: root,
      env: { BASE: running.url, LEGATE_DATA_DIR: join(cwd, '.legate') },
    });
    // npx may print warnings about the local npm configuration.
    expect([code, stderr.replace(/^(npm warn|pyenv|rm): .*\n|^npm warn .*\n/gm, '')], stdout).toEqual([0, '']);
    const parts = stdout.split(/@@\d+\n/).slice(1);
    expect(parts).toHaveLength(TOUR.length);
    for (const [i, step] of TOUR.entries())
      for (const part of step.expect.contains) expect(parts[i], `step ${i + 1}`).toContain(part);
    expect(await running.stop()).toBe(0);
  });
});
