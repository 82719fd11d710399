// A release agent delegates some of its permissions to a reviewer, which delegates some of those to a helper. Then the
// first agent's permissions are narrowed, and the delegations end.
// node examples/delegation/delegation.mjs   (after npm ci && npm run build; leaves nothing behind)
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLegate } from 'legate';

const dataDir = mkdtempSync(join(tmpdir(), 'legate-example-'));
const legate = await createLegate({ dataDir, users: { allowExternalOwners: true }, env: {} });

const agent = (name, permissions = []) =>
  legate.agents.create({ ownerId: 'ada', name, type: 'autonomous', permissions });
const may = async (who, action, resource) => {
  const { allowed, code } = await legate.check({ agentId: who.id, action, resource });
  console.log(`${who.name}: ${action} ${resource}? ${allowed ? 'yes' : code}`);
};

// 1. Only the release agent has permissions: at most three calls an hour.
const release = await agent('release', [
  { resource: 'mcp:github:*', actions: ['read', 'write'], constraints: { maxCallsPerHour: 3 } },
]);
const reviewer = await agent('reviewer');
const helper = await agent('helper');

// 2. It delegates some of them, and the reviewer some of those.
const first = await legate.delegations.create({
  fromAgent: release.id,
  toAgent: reviewer.id,
  permissions: [{ resource: 'mcp:github:*', actions: ['read'] }],
});
await legate.delegations.create({
  fromAgent: reviewer.id,
  toAgent: helper.id,
  permissions: [{ resource: 'mcp:github:issues:*', actions: ['read'] }],
});
await may(helper, 'read', 'mcp:github:issues:42');
await may(helper, 'write', 'mcp:github:issues:42');
await may(helper, 'read', 'mcp:github:pulls:7');

// 3. The cap is shared: the helper has made one call, so two are left for all three.
await may(reviewer, 'read', 'mcp:github:pulls:7');
await may(release, 'write', 'mcp:github:pulls:7');
await may(helper, 'read', 'mcp:github:issues:42');

// 4. Where does the helper's permission come from?
for (const { actions, resource, source } of await legate.agents.permissions(helper.id))
  console.log(`helper holds ${actions} ${resource} through ${source.delegationIds.length} delegations`);

// 5. When the release agent loses a permission, everybody below it loses it.
await legate.agents.update(release.id, { permissions: [{ resource: 'mcp:github:pulls:*', actions: ['read'] }] });
await may(helper, 'read', 'mcp:github:issues:42');
await may(reviewer, 'read', 'mcp:github:pulls:7');

// 6. Ending the first delegation also ends the second.
await legate.delegations.revoke(first.id);
await may(reviewer, 'read', 'mcp:github:pulls:7');
console.log(`delegations left: ${(await legate.delegations.list()).length}`);

await legate.close();
rmSync(dataDir, { recursive: true });
