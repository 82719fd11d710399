import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, run } from '../support/cli.ts';

describe('examples/delegation', () => {
  it('prints the output in docs/delegation.md', async () => {
    const wanted = /```text\n(.*?)```/s.exec(readFileSync(join(root, 'docs/delegation.md'), 'utf8'))?.[1];
    expect(await run([process.execPath, 'examples/delegation/delegation.mjs'], { cwd: root })).toEqual({
      code: 0,
      stdout: wanted,
      stderr: '',
    });
  });
});
