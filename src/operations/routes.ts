import { z } from 'zod';
import { CommonErrors } from '../kernel/errors.ts';
import { defineRoute } from '../platform.ts';
import { checkReady } from './check-ready.ts';
import { describeSystem } from './describe-system.ts';
import { DOCS_FILES, docsFile, docsPage } from './docs-page.ts';
import { renderMetrics } from './render-metrics.ts';
import { Live, Ready, SystemDescription } from './schema.ts';

/** Contract, section 1. */
export const systemRoutes = [
  defineRoute({
    method: 'GET',
    path: '/health/live',
    summary: 'Check that the process runs',
    access: 'public',
    responses: { 200: Live },
    handle: () => ({ status: 200, body: { status: 'ok' } }),
  }),
  defineRoute({
    method: 'GET',
    path: '/health/ready',
    summary: 'Check that requests can be served',
    description:
      'The database responds, its schema is that of this version, decisions can be recorded, the clock is right, and ' +
      'the service is not about to stop; otherwise 503. If Redis is used and does not respond, or the ledger is not ' +
      'sealed in time, the status is `degraded`.',
    access: 'public',
    responses: { 200: Ready, 503: Ready },
    handle: async (_, platform) => {
      const ready = await checkReady(platform);
      if (ready.status !== 'unavailable') return { status: 200, body: ready };
      return { status: 503, body: ready, headers: { 'retry-after': '1' } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/metrics',
    summary: 'Get metrics in the Prometheus text format',
    access: 'admin',
    staticToken: ({ config }) => config.metrics.token,
    responses: { 200: { mediaTypes: ['text/plain'] } },
    handle: async (_, platform) => {
      const { text, contentType } = await renderMetrics(platform);
      return new Response(text, {
        headers: { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
      });
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/system',
    summary: 'Describe this installation',
    description: 'Version, database, instances, settings with their source, and ages of keys. Contains no secrets.',
    access: 'admin',
    responses: { 200: SystemDescription },
    handle: async (_, platform) => ({ status: 200, body: await describeSystem(platform) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/openapi.json',
    summary: 'Get the OpenAPI 3.1 document',
    access: 'public',
    responses: { 200: z.record(z.string(), z.unknown()) },
    handle: (_, platform) =>
      new Response(platform.describeApi(), {
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-cache',
          'x-content-type-options': 'nosniff',
        },
      }),
  }),
  defineRoute({
    method: 'GET',
    path: '/docs',
    summary: 'API documentation',
    description: 'The page loads no files from other hosts.',
    access: 'public',
    responses: { 200: { mediaTypes: ['text/html'] } },
    handle: (_, platform) => docsPage(platform),
  }),
  defineRoute({
    method: 'GET',
    path: '/docs/:file',
    summary: 'File of the API documentation',
    access: 'public',
    params: z.object({ file: z.string() }),
    responses: { 200: { mediaTypes: ['text/css', 'text/javascript'] } },
    errors: [CommonErrors.NOT_FOUND],
    handle: (call) => {
      const name = DOCS_FILES.find((file) => file === call.params.file);
      if (!name) throw CommonErrors.NOT_FOUND();
      return docsFile(name, call.request.headers.get('if-none-match'));
    },
  }),
];
