import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageVersion } from '../kernel/version.ts';

/** Only from us, no inline script or style, in no frame. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Legate API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"><noscript>This page needs JavaScript. The same description as JSON: <a href="openapi.json">openapi.json</a>.</noscript></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** No validator: it would send the address of this service to another host. */
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null, queryConfigEnabled: false, tryItOutEnabled: true, persistAuthorization: false });
`;

/** The files of the page, and no others. */
export const DOCS_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'start.js'] as const;
export type DocsFile = (typeof DOCS_FILES)[number];

export const docsPage = (): Response =>
  new Response(PAGE, {
    headers: { ...SECURITY_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  });

/** One file of the page. Unchanged for a version, which the ETag tells. */
export async function docsFile(name: DocsFile, ifNoneMatch: string | null): Promise<Response> {
  const etag = `"${packageVersion()}"`;
  const headers = {
    ...SECURITY_HEADERS,
    etag,
    'cache-control': 'no-cache',
    'content-type': `text/${name.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`,
  };
  if (ifNoneMatch === etag) return new Response(null, { status: 304, headers });
  return new Response(name === 'start.js' ? START : new Uint8Array(await readFile(join(assetsFolder(), name))), {
    headers,
  });
}

/** Beside the built code; when run from the sources, where the package manager put the package. */
function assetsFolder(): string {
  const built = fileURLToPath(new URL('../docs-assets', import.meta.url));
  if (existsSync(built)) return built;
  return join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');
}
