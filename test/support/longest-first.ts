import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest files, with their approximate seconds on a quiet machine. Files that are not listed take less than any of
 * these.
 */
const SECONDS: Readonly<Record<string, number>> = {
  'test/e2e/instances-faults.test.ts': 140,
  'test/e2e/console-screens.test.ts': 49,
  'test/e2e/console-rights.test.ts': 42,
  'test/e2e/deploy.test.ts': 37,
  'test/e2e/start.test.ts': 31,
  'test/e2e/package.test.ts': 27,
  'test/e2e/crash.test.ts': 25,
  'test/e2e/pages.test.ts': 25,
  'test/e2e/open-pages.test.ts': 23,
  'test/e2e/commands.test.ts': 22,
  'test/e2e/console-work.test.ts': 19,
  'test/contract/faults.test.ts': 18,
  'test/e2e/console-live.test.ts': 18,
  'test/e2e/credential-pages.test.ts': 18,
  'test/e2e/upgrade.test.ts': 17,
  'test/e2e/console-tools.test.ts': 16,
  'test/http/hostile.test.ts': 16,
  'test/http/matrix.test.ts': 16,
  'test/e2e/console.test.ts': 15,
  'test/e2e/backup.test.ts': 14,
  'test/http/hostile-bodies.test.ts': 14,
  'test/e2e/console-forms.test.ts': 13,
  'test/e2e/everything-server.test.ts': 12,
  'test/e2e/console-keyboard.test.ts': 11,
  'test/e2e/fixtures.test.ts': 11,
  'test/e2e/reference-servers.test.ts': 11,
  'test/e2e/second-instance.test.ts': 11,
  'test/e2e/stop.test.ts': 11,
  'test/e2e/console-restart.test.ts': 10,
  'test/e2e/seal-crash.test.ts': 9,
  'test/contract/delegation-model.test.ts': 8,
  'test/contract/postgres-sessions.test.ts': 8,
  'test/e2e/gateway-processes.test.ts': 8,
  'test/e2e/gateway.test.ts': 8,
  'test/e2e/mcp-example.test.ts': 7,
  'test/e2e/stream.test.ts': 7,
  'src/activity/stream/disconnects.test.ts': 6,
  'test/e2e/webhooks.test.ts': 6,
  'test/e2e/console-ledger.test.ts': 5,
  'test/e2e/gateway-first-use.test.ts': 5,
  'test/e2e/seed.test.ts': 5,
  'src/activity/audit/audit.test.ts': 4,
  'test/contract/postgres-seal.test.ts': 4,
  'test/e2e/faults.test.ts': 4,
  'test/e2e/login.test.ts': 4,
  'test/http/rate-limit.test.ts': 4,
  'src/activity/dashboard/counters.test.ts': 3,
  'src/activity/webhooks/receivers.test.ts': 3,
  'src/mcp/gateway/gateway.unit.test.ts': 3,
  'src/mcp/gateway/relay.test.ts': 3,
  'test/e2e/console-federation.test.ts': 3,
  'test/e2e/idempotency.test.ts': 3,
  'test/e2e/other-verifiers.test.ts': 3,
  'test/e2e/tour.test.ts': 3,
  'test/http/ended-meanwhile.test.ts': 3,
  'src/activity/audit/search.test.ts': 2,
  'src/activity/seal/prune-under-load.test.ts': 2,
  'src/activity/seal/tree.unit.test.ts': 2,
  'src/activity/stream/filters.test.ts': 2,
  'src/activity/stream/readers.test.ts': 2,
  'src/activity/stream/resume.test.ts': 2,
  'src/authorization/agents/revoke-rotate.test.ts': 2,
  'src/authorization/delegations/chains.test.ts': 2,
  'src/cli/demo/demo.unit.test.ts': 2,
  'src/http/preview/preview.test.ts': 2,
  'src/mcp/guard/protect.test.ts': 2,
  'src/oauth/clients/metadata-document.test.ts': 2,
  'src/operations/openapi.test.ts': 2,
  'src/operations/system.test.ts': 2,
  'src/people/users/mark-email-verified.test.ts': 2,
  'test/contract/postgres-commit-notices.test.ts': 2,
  'test/e2e/client-places.test.ts': 2,
  'test/e2e/connections.test.ts': 2,
  'test/e2e/demo.test.ts': 2,
  'test/e2e/gateway-command.test.ts': 2,
  'test/e2e/passkeys.test.ts': 2,
  'test/e2e/redis.test.ts': 2,
  'test/e2e/sealed-guides.test.ts': 2,
  'test/e2e/witness.test.ts': 2,
  'test/house/files.test.ts': 2,
};

/** Starts slow files first, so that no worker still runs one of them when the others have finished. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Files of a project stay together, because a worker restarts when it changes to another project.
    const projects = [...new Set(sorted.map((file) => file.project.name))];
    const seconds = (file: TestSpecification): number =>
      SECONDS[relative(this.ctx.config.root, file.moduleId).replaceAll('\\', '/')] ?? 0;
    return sorted.sort(
      (a, b) => projects.indexOf(a.project.name) - projects.indexOf(b.project.name) || seconds(b) - seconds(a),
    );
  }
}
