import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

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
 * Suites of what is above the database: bodies that are refused before they reach it, sockets, limits in memory and in
 * Redis, the guard and the gateway in front of MCP servers, the clients. One database is enough for them.
 */
const ABOVE_DATABASE = [
  'src/activity/stream/{disconnects,readers,slow-readers}.test.ts',
  'src/agents-sdk/**',
  'src/client/**',
  'src/http/rate-limit/**',
  'src/mcp/gateway/*.test.ts',
  'src/mcp/guard/**',
  'src/operations/openapi.test.ts',
  'test/http/{hostile-bodies,mcp-clients,mcp-remote,rate-limit}.test.ts',
];

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
    testTimeout: 120_000,
    hookTimeout: 120_000,
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
    // Files wait for databases, browsers and processes, so there are two more than cores. More than four would be more
    // connections than PostgreSQL is started with.
    maxWorkers: Math.min(4, Math.max(2, availableParallelism() + 2)),
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.unit.test.ts', 'test/faults/**/*.unit.test.ts'],
          isolate: false,
          testTimeout: 120_000,
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
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      { test: { name: 'house', include: ['test/house/**/*.test.ts'], testTimeout: 180_000 } },
    ],
  },
});
