import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, roughly in seconds on a quiet machine. Files not listed take less than any of these. */
const SECONDS: Readonly<Record<string, number>> = {
  'test/e2e/console.test.ts': 60,
  'test/e2e/pages.test.ts': 40,
  'test/e2e/start.test.ts': 40,
  'test/e2e/crash.test.ts': 30,
  'test/e2e/credential-pages.test.ts': 20,
  'test/e2e/mcp-example.test.ts': 15,
  'test/e2e/package.test.ts': 15,
  'test/e2e/open-pages.test.ts': 10,
  'test/contract/delegation-model.test.ts': 40,
  'test/http/hostile-bodies.test.ts': 30,
  'test/http/hostile.test.ts': 20,
  'src/mcp/gateway/relay.test.ts': 30,
  'test/http/matrix.test.ts': 30,
  'test/http/rate-limit.test.ts': 20,
  'test/contract/as-of.test.ts': 12,
  'src/activity/audit/audit.test.ts': 12,
  'src/activity/stream/disconnects.test.ts': 10,
  'test/http/actors.test.ts': 10,
  'src/authorization/agents/revoke-rotate.test.ts': 10,
  'src/activity/audit/search.test.ts': 8,
};

/** Starts long files first, so that no worker is left with one of them when the others have nothing more to do. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects stay together: a worker that changes to another project starts anew.
    const projects = [...new Set(sorted.map((file) => file.project.name))];
    const seconds = (file: TestSpecification): number =>
      SECONDS[relative(this.ctx.config.root, file.moduleId).replaceAll('\\', '/')] ?? 0;
    return sorted.sort(
      (a, b) => projects.indexOf(a.project.name) - projects.indexOf(b.project.name) || seconds(b) - seconds(a),
    );
  }
}
