import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, roughly in seconds on a quiet machine. Files not listed take less than any of these. */
const SECONDS: Readonly<Record<string, number>> = {
  'test/e2e/start.test.ts': 45,
  'test/e2e/seal-crash.test.ts': 41,
  'test/e2e/console.test.ts': 38,
  'test/e2e/deploy.test.ts': 27,
  'test/e2e/commands.test.ts': 26,
  'test/e2e/backup.test.ts': 25,
  'test/e2e/package.test.ts': 23,
  'test/e2e/open-pages.test.ts': 21,
  'test/e2e/crash.test.ts': 21,
  'test/e2e/pages.test.ts': 19,
  'test/e2e/console-work.test.ts': 19,
  'test/e2e/credential-pages.test.ts': 18,
  'test/e2e/upgrade.test.ts': 16,
  'test/e2e/instances-faults.test.ts': 16,
  'test/e2e/reference-servers.test.ts': 14,
  'test/e2e/second-instance.test.ts': 13,
  'test/http/hostile-bodies.test.ts': 13,
  'test/e2e/fixtures.test.ts': 13,
  'test/e2e/stream.test.ts': 12,
  'test/e2e/seed.test.ts': 12,
  'test/e2e/idempotency.test.ts': 12,
  'test/http/matrix.test.ts': 12,
  'test/e2e/everything-server.test.ts': 12,
  'test/e2e/stop.test.ts': 11,
  'test/e2e/console-live.test.ts': 10,
  'test/http/hostile.test.ts': 10,
  'test/contract/faults.test.ts': 10,
  'test/contract/delegation-model.test.ts': 9,
  'test/e2e/mcp-example.test.ts': 9,
  'test/e2e/gateway-processes.test.ts': 8,
  'test/e2e/faults.test.ts': 8,
  'test/e2e/console-ledger.test.ts': 7,
  'test/e2e/tour.test.ts': 7,
  'test/e2e/gateway.test.ts': 7,
  'test/e2e/gateway-first-use.test.ts': 7,
  'test/e2e/login.test.ts': 7,
  'test/e2e/webhooks.test.ts': 7,
  'test/e2e/console-federation.test.ts': 6,
  'test/contract/postgres-sessions.test.ts': 6,
  'src/activity/stream/disconnects.test.ts': 6,
  'test/e2e/gateway-command.test.ts': 5,
  'src/people/sign-in/attempts/attempts.test.ts': 5,
  'src/activity/audit/audit.test.ts': 4,
  'test/e2e/passkeys.test.ts': 4,
  'test/e2e/redis.test.ts': 4,
  'test/e2e/sealed-guides.test.ts': 4,
  'test/http/rate-limit.test.ts': 4,
};

/** Starts long files first, so that no worker still runs one of them when the others have finished. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects stay together, because a worker restarts when it changes to another project.
    const projects = [...new Set(sorted.map((file) => file.project.name))];
    const seconds = (file: TestSpecification): number =>
      SECONDS[relative(this.ctx.config.root, file.moduleId).replaceAll('\\', '/')] ?? 0;
    return sorted.sort(
      (a, b) => projects.indexOf(a.project.name) - projects.indexOf(b.project.name) || seconds(b) - seconds(a),
    );
  }
}
