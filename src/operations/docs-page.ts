import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageVersion } from '../kernel/version.ts';
import { bannerOf, type Html, html, type Site } from '../pages/index.ts';

/** Allows only files of this service, no inline scripts or styles, and no framing. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

const pageWith = (banner: string | undefined): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Legate API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/theme.css">
</head>
<body>
${banner !== undefined && html`<p class="banner" role="note">${banner}</p>`}<div id="docs">
<noscript>This page needs JavaScript. <a href="openapi.json">openapi.json</a> has the same content.</noscript>
</div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/**
 * Starts the page without a validator, which would send the address of this service to another host. Names the form
 * fields that Swagger UI leaves unnamed, and follows the color scheme of the browser. Swagger UI puts a link into the
 * button that opens an operation; its text alone keeps one control (WCAG 2.2, 4.1.2), which also sets the address.
 */
const START = `const plainText = (_, { React }) => ({ text }) =>
  React.createElement('span', { className: 'nostyle' }, text);
SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null,
  queryConfigEnabled: false, tryItOutEnabled: true, persistAuthorization: false,
  plugins: [() => ({ wrapComponents: { DeepLink: plainText } })] });

const name = (selector, labelOf) => {
  for (const element of document.querySelectorAll(selector))
    if (!element.hasAttribute('aria-label')) element.setAttribute('aria-label', labelOf(element));
};
const nameFields = () => {
  name('#servers', () => 'Server');
  name('textarea.body-param__text', () => 'Request body');
  name('.close-modal', () => 'Close');
  const field = ':is(input, select, textarea)';
  name('tr[data-param-name] ' + field, (e) => e.closest('tr').dataset.paramName);
  for (const code of document.querySelectorAll('pre.microlight')) code.tabIndex = 0;
};
new MutationObserver(nameFields).observe(document.body, { childList: true, subtree: true });

const dark = matchMedia('(prefers-color-scheme: dark)');
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
applyScheme();
dark.addEventListener('change', applyScheme);
`;

/** Raises the contrast of Swagger UI to the 4.5:1 of WCAG 2.2, 1.4.3, and shows the banner. */
const THEME = `.banner {
  max-width: 1420px; margin: 1rem auto 0; padding: .5rem .75rem; border: 1px solid #8a4b00; border-radius: .25rem;
  font: 1rem/1.5 sans-serif; color: #5b3200; background: #fff4e5;
}
html.dark-mode .banner { border-color: #f0b35a; color: #f6d9ae; background: #3a2a12; }
html:not(.dark-mode) .swagger-ui {
  .info .title small { background: #5b6273; }
  .info .title small.version-stamp { background: #4a6900; }
  a.link, .info a, .info .url, .info .title ~ .link { color: #1f5fae; }
  .btn.authorize { color: #17693f; border-color: #17693f; }
  .btn.authorize span { color: #17693f; }
  .btn.authorize svg { fill: #17693f; }
  .opblock-get .opblock-summary-method { background: #1f5fae; }
  .opblock-post .opblock-summary-method { background: #17693f; }
  .opblock-put .opblock-summary-method { background: #8a4b00; }
  .opblock-patch .opblock-summary-method { background: #0c6656; }
  .opblock-delete .opblock-summary-method { background: #b3261e; }
  .btn.cancel { color: #b3261e; border-color: #b3261e; }
  .btn.execute { background: #1f5fae; border-color: #1f5fae; }
  .parameter__in, .parameter__deprecated, .parameter__name.required::after { color: #595959; }
  .json-schema-2020-12-expand-deep-button { color: #595959; }
}
html.dark-mode .swagger-ui {
  .btn.cancel { color: #ff9d9d !important; border-color: #ff9d9d; }
  .headers-wrapper :is(td, th, .header-col) { color: #e4e6e6; }
}
.swagger-ui .microlight span[style*='211, 99, 99'] { color: #ffa3a3 !important; }
`;

/** All files of the page. */
export const DOCS_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'start.js', 'theme.css'] as const;
export type DocsFile = (typeof DOCS_FILES)[number];

export const docsPage = (site: Site): Response =>
  new Response(pageWith(bannerOf(site, 'en')).toString(), {
    headers: { ...SECURITY_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  });

/** Returns one file of the page. The ETag is the version of the package. */
export async function docsFile(name: DocsFile, ifNoneMatch: string | null): Promise<Response> {
  const etag = `"${packageVersion()}"`;
  const headers = {
    ...SECURITY_HEADERS,
    etag,
    'cache-control': 'no-cache',
    'content-type': `text/${name.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`,
  };
  if (ifNoneMatch === etag) return new Response(null, { status: 304, headers });
  const own = name === 'start.js' ? START : name === 'theme.css' ? THEME : undefined;
  return new Response(own ?? new Uint8Array(await readFile(join(assetsFolder(), name))), { headers });
}

/** Returns the folder of the assets: next to the built code or, when run from source, in the installed package. */
function assetsFolder(): string {
  const built = fileURLToPath(new URL('../docs-assets', import.meta.url));
  if (existsSync(built)) return built;
  return join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');
}
