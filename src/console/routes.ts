import { z } from 'zod';
import { CommonErrors } from '../kernel/errors.ts';
import { defineRoute, type Platform } from '../platform.ts';
import { assetResponse } from './assets.ts';
import { shell } from './shell.ts';

/** Throws 404 if the console is switched off. */
function assertEnabled({ config }: Pick<Platform, 'config'>): void {
  if (!config.console.enabled) throw CommonErrors.NOT_FOUND();
}

const page = {
  method: 'GET',
  access: 'public',
  checksItself: ['cookie'],
  page: true,
  responses: { 200: { mediaTypes: ['text/html'] } },
  errors: [CommonErrors.UNAUTHORIZED, CommonErrors.FORBIDDEN, CommonErrors.NOT_FOUND],
} as const;

export const consoleRoutes = [
  defineRoute({
    ...page,
    path: '/console',
    summary: 'Web console',
    description: 'For people in a browser. Who is not signed in is sent to the sign-in page and back.',
    handle: async (call, platform) => {
      assertEnabled(platform);
      await call.requireUser();
      return shell(platform, call.request, call.url);
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/console/assets/:file',
    summary: 'File of the web console',
    access: 'public',
    params: z.object({ file: z.string() }),
    responses: { 200: { mediaTypes: ['text/javascript', 'text/css', 'font/woff2', 'image/svg+xml'] } },
    errors: [CommonErrors.NOT_FOUND],
    handle: async (call, platform) => {
      // The fonts are those of all pages.
      if (!call.params.file.endsWith('.woff2')) assertEnabled(platform);
      const answer = await assetResponse(call.params.file, call.request.headers.get('accept-encoding'));
      if (!answer) throw CommonErrors.NOT_FOUND();
      return answer;
    },
  }),
  defineRoute({
    ...page,
    path: '/console/:path{.*}',
    summary: 'Screen of the web console',
    params: z.object({ path: z.string() }),
    handle: async (call, platform) => {
      assertEnabled(platform);
      await call.requireUser();
      return shell(platform, call.request, call.url);
    },
  }),
];
