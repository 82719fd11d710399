import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';
import { PATIENCE_MS } from './test/support/patience.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Examples import frameworks by their names, and these are installed apart: test/frameworks/package.json. */
const frameworks: Plugin = {
  name: 'frameworks',
  enforce: 'pre',
  resolveId: {
    filter: { id: /^(@mastra\/core|@anthropic-ai\/claude-agent-sdk)(\/|$)/ },
    handler(id) {
      return this.resolve(id, at('test/frameworks/load.mjs'), { skipSelf: true });
    },
  },
};

/**
 * Suites that run on SQLite only, because one database is enough for what they assert: refusals before a request
 * reaches the database, sockets, addresses, pages, limits in memory and in Redis, signatures, the pure part of a
 * decision, the guard and the gateway in front of MCP servers, the clients.
 *
 * A suite belongs here if the others send its statements to PostgreSQL too, and if nothing that it asserts depends on
 * SQL for one dialect, the order of rows or texts, locks, concurrent requests, or several instances.
 */
const ABOVE_DATABASE = [
  'src/activity/seal/dishonest-server.test.ts',
  'src/activity/stream/{disconnects,readers,slow-readers}.test.ts',
  'src/activity/webhooks/{addresses,receivers}.test.ts',
  'src/agents-sdk/**',
  'src/authorization/approvals/approval-page.test.ts',
  'src/authorization/permissions/{conditions,decide,pattern,policy-weight,questions}.test.ts',
  'src/client/**',
  'src/console/**',
  'src/http/rate-limit/**',
  'src/http/{refusal-log,tracing}.test.ts',
  'src/mcp/gateway/*.test.ts',
  'src/mcp/guard/**',
  'src/mcp/servers/resource-metadata.test.ts',
  'src/oauth/authorize/{open-redirector,redirect-uris}.test.ts',
  'src/oauth/metadata/**',
  'src/oauth/{oauth,oauth4webapi}.test.ts',
  'src/oauth/token/{refusals,token}.test.ts',
  'src/operations/mail/**',
  'src/operations/openapi.test.ts',
  'src/people/account-pages/{account,credentials,mailed-links,passkeys,ways-on}.test.ts',
  'src/people/federation/algorithms.test.ts',
  'src/people/federation/sign-in/{guide,presets}.test.ts',
  'src/people/passwords/{breach,common}/**',
  'test/http/{cross-site,every-answer,hot-route,light-routes,mounting,observe,readme}.test.ts',
  'test/http/{hostile-bodies,mcp-clients,mcp-remote,rate-limit}.test.ts',
];

/** `expect.poll` waits for a second by default, which is not enough on a busy machine. See test/support/until.ts. */
const PATIENT = { poll: { timeout: PATIENCE_MS } };

const project = (name: 'sqlite' | 'postgres') => ({
  plugins: [frameworks],
  resolve: {
    alias: [
      { find: /^@node-rs\/argon2$/, replacement: at('test/support/cheap-argon2.ts') },
      // The examples import the package by its name, as their readers will.
      { find: /^legate$/, replacement: at('src/index.ts') },
      { find: /^legate\/node$/, replacement: at('src/node.ts') },
      { find: /^legate\/mcp$/, replacement: at('src/mcp.ts') },
      { find: /^legate\/client$/, replacement: at('src/client.ts') },
      { find: /^legate\/agents$/, replacement: at('src/agents.ts') },
    ],
  },
  test: {
    name,
    env: { LEGATE_TEST_DATABASE: name },
    include: ['src/**/*.test.ts', 'test/contract/**/*.test.ts', 'test/http/**/*.test.ts'],
    exclude: ['**/*.unit.test.ts', ...(name === 'sqlite' ? ['test/contract/postgres-*.test.ts'] : ABOVE_DATABASE)],
    // Files share their modules: loading the service anew for each of them took a third of the time of a run.
    isolate: false,
    setupFiles: ['test/support/cleanup.ts'],
    globalSetup: ['test/support/redis-server.ts', ...(name === 'postgres' ? ['test/support/postgres-server.ts'] : [])],
    // Long, since the machine may be busy: a test that hangs fails all the same.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: PATIENT,
  },
});

/**
 * The same suites on both databases, the tests of the built package as processes, and the order of the house itself.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // The projects read the same modules: the first to transform one leaves it in node_modules for the others.
    experimental: { fsModuleCache: true },
    // Files wait for databases, browsers and processes, so there are three more than cores. More than five would be
    // more connections than PostgreSQL is started with.
    maxWorkers: Math.min(5, Math.max(2, availableParallelism() + 3)),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.unit.test.ts', 'test/faults/**/*.unit.test.ts'],
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: PATIENT,
        },
      },
      project('sqlite'),
      project('postgres'),
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          isolate: false,
          setupFiles: ['test/support/cleanup-processes.ts'],
          // Several browsers, databases and processes share the machine.
          testTimeout: 600_000,
          hookTimeout: 300_000,
          expect: PATIENT,
        },
      },
      { test: { name: 'house', include: ['test/house/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 300_000 } },
    ],
  },
});
