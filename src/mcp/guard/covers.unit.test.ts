import { expect, it } from 'vitest';
import { Guard } from './guard.ts';
import type { GuardingLegate } from './protect.ts';

const OWN = ['/mcp/register', '/mcp/servers/mcp_1', '/mcp'];
const guardWith = (handles: GuardingLegate['handles']): Guard =>
  new Guard({
    legate: {
      platform: { issuer: 'https://legate.example', audience: 'https://legate.example' },
      mcp: { validateToken: async () => ({ valid: false }) },
      authorize: async () => ({ allowed: false }),
      ...(handles ? { handles } : {}),
    },
    server: { name: 'notes', endpoint: 'https://app.example/mcp' },
  });

it.each<[string, boolean]>([
  ['/mcp', true],
  ['/mcp?x=/mcp/register', true],
  ['/mcp/', true],
  ['/MCP', true],
  ['/mcp/other', true],
  ['/mcp/register', false],
  ['/mcp/register?x=1', false],
  ['/mcp/servers/mcp_1', false],
  // A router may treat these as the endpoint itself, or as a path that does not belong to Legate.
  ['/mcp/register/..', true],
  ['/mcp/register/../', true],
  ['/mcp/%72egister', true],
  ['/mcp//register', true],
  ['/mcp/register/', true],
  ['/mcp/Register', true],
  ['/mcp/register;x', true],
  ['/mcp/register%2f..', true],
  ['/other', false],
])('%s is guarded: %s', (target, covered) => {
  expect(guardWith((path) => OWN.includes(path)).covers(target)).toBe(covered);
});

it('guards everything below its path if no Legate is in the process', () => {
  expect(guardWith(undefined).covers('/mcp/register')).toBe(true);
});
