import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, roughly in seconds on a quiet machine. Files not listed take less than any of these. */
const SECONDS: Readonly<Record<string, number>> = {
  'test/e2e/pages.test.ts': 65,
  'test/http/matrix.test.ts': 65,
  'test/e2e/console.test.ts': 60,
  'test/e2e/credential-pages.test.ts': 40,
  'test/e2e/package.test.ts': 40,
  'test/http/hostile.test.ts': 35,
  'test/e2e/deploy.test.ts': 30,
  'test/e2e/crash.test.ts': 30,
  'test/http/hostile-bodies.test.ts': 25,
  'test/e2e/commands.test.ts': 25,
  'test/contract/delegation-model.test.ts': 25,
  'test/e2e/start.test.ts': 20,
  'test/contract/faults.test.ts': 15,
  'test/e2e/mcp-example.test.ts': 15,
  'test/e2e/stop.test.ts': 10,
  'test/e2e/stream.test.ts': 10,
  'test/e2e/instances-faults.test.ts': 10,
  'test/e2e/gateway-processes.test.ts': 10,
  'src/activity/stream/disconnects.test.ts': 10,
  'test/e2e/fixtures.test.ts': 9,
  'test/e2e/backup.test.ts': 9,
  'test/http/rate-limit.test.ts': 9,
  'src/activity/dashboard/counters.test.ts': 8,
  'src/operations/system.test.ts': 7,
  'src/people/sign-in/attempts/attempts.test.ts': 7,
  'src/http/preview/preview.test.ts': 7,
  'src/activity/audit/search.test.ts': 7,
  'test/e2e/seal-crash.test.ts': 7,
  'test/e2e/faults.test.ts': 6,
  'test/e2e/idempotency.test.ts': 6,
  'test/e2e/webhooks.test.ts': 6,
  'test/contract/postgres-sessions.test.ts': 6,
  'test/e2e/seed.test.ts': 6,
  'test/e2e/reference-servers.test.ts': 6,
  'src/mcp/gateway/relay.test.ts': 6,
  'src/people/users/mark-email-verified.test.ts': 5,
  'src/operations/backup/backup.test.ts': 5,
  'test/e2e/gateway-command.test.ts': 5,
  'src/authorization/agents/revoke-rotate.test.ts': 5,
  'test/e2e/tour.test.ts': 5,
  'test/http/actors.test.ts': 5,
  'src/people/sessions/sessions.test.ts': 5,
  'test/e2e/login.test.ts': 5,
  'src/mcp/guard/decided.test.ts': 5,
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
