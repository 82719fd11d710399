// A release agent hands its reviewer a part of what it may do, the reviewer hands on a part of that; then the first is
// narrowed, and ends. node examples/delegation/delegation.mjs   (after npm ci && npm run build; leaves nothing behind)
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

// 1. Only the release agent holds anything: at most three calls an hour.
const release = await agent('release', [
  { resource: 'mcp:github:*', actions: ['read', 'write'], constraints: { maxCallsPerHour: 3 } },
]);
const reviewer = await agent('reviewer');
const helper = await agent('helper');

// 2. It passes a part on, and that a part of it.
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

// 3. The cap is shared: one call was the helper's, two are left for all three.
await may(reviewer, 'read', 'mcp:github:pulls:7');
await may(release, 'write', 'mcp:github:pulls:7');
await may(helper, 'read', 'mcp:github:issues:42');

// 4. Where did the helper's permission come from?
for (const { actions, resource, source } of await legate.agents.permissions(helper.id))
  console.log(`helper holds ${actions} ${resource} through ${source.delegationIds.length} delegations`);

// 5. What the release agent loses, everybody below it has lost.
await legate.agents.update(release.id, { permissions: [{ resource: 'mcp:github:pulls:*', actions: ['read'] }] });
await may(helper, 'read', 'mcp:github:issues:42');
await may(reviewer, 'read', 'mcp:github:pulls:7');

// 6. Ending the first delegation ends the second with it.
await legate.delegations.revoke(first.id);
await may(reviewer, 'read', 'mcp:github:pulls:7');
console.log(`delegations left: ${(await legate.delegations.list()).length}`);

await legate.close();
rmSync(dataDir, { recursive: true });
