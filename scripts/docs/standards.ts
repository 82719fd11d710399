import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Documents that titles of tests may name. An unknown name fails the build, because it may be misspelt. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  'RFC 6749': 'The OAuth 2.0 Authorization Framework',
  'RFC 6750': 'Bearer Token Usage',
  'RFC 6890': 'Special-Purpose IP Address Registries',
  'RFC 7009': 'Token Revocation',
  'RFC 7515': 'JSON Web Signature',
  'RFC 7517': 'JSON Web Key',
  'RFC 7518': 'JSON Web Algorithms',
  'RFC 7591': 'Dynamic Client Registration',
  'RFC 7523': 'JSON Web Token (JWT) Profile for OAuth 2.0 Client Authentication and Authorization Grants',
  'RFC 7636': 'Proof Key for Code Exchange',
  'RFC 7662': 'Token Introspection',
  'RFC 8252': 'OAuth 2.0 for Native Apps',
  'RFC 8628': 'Device Authorization Grant',
  'RFC 7643': 'SCIM: Core Schema',
  'RFC 7644': 'SCIM: Protocol',
  'RFC 8414': 'Authorization Server Metadata',
  'RFC 8693': 'Token Exchange',
  'RFC 8707': 'Resource Indicators',
  'RFC 8725': 'JSON Web Token Best Current Practices',
  'RFC 9068': 'JWT Profile for Access Tokens',
  'RFC 9207': 'Authorization Server Issuer Identification',
  'RFC 9700': 'Best Current Practice for OAuth 2.0 Security',
  'RFC 9728': 'Protected Resource Metadata',
  'RFC 9864': 'Fully-Specified Algorithms for JOSE and COSE',
  'OAuth 2.1': 'draft-ietf-oauth-v2-1-16',
  CIMD: 'Client ID Metadata Document, draft-ietf-oauth-client-id-metadata-document-02',
  'OIDC Core': 'OpenID Connect Core 1.0',
  'OIDC Discovery': 'OpenID Connect Discovery 1.0',
  'OIDC Back-Channel Logout': 'OpenID Connect Back-Channel Logout 1.0',
  MCP: 'Model Context Protocol, revision and page',
  AuthZEN: 'Authorization API 1.0 of the OpenID Foundation',
  WebAuthn: 'Web Authentication, Level 3',
  'ASVS 5.0': 'OWASP Application Security Verification Standard',
};
const NAMES = Object.keys(DOCUMENTS);

const TITLE = /(['"`])\[((?:RFC|OAuth|CIMD|OIDC|MCP|AuthZEN|WebAuthn|ASVS) ?[^\]]*)\] ((?:(?!\1)[^\\\n])+)\1/g;

interface Requirement {
  readonly document: string;
  readonly section: string;
  readonly what: string;
  readonly file: string;
}

/** Parses titles such as `[RFC 7636 4.6; MCP 2026-07-28 security] a requirement` in the source of a test. */
export function requirementsIn(source: string, file: string): Requirement[] {
  return [...source.matchAll(TITLE)].flatMap(([, , references = '', title = '']) =>
    references.split(';').map((reference) => {
      const document = NAMES.find((name) => reference.trim() === name || reference.trim().startsWith(`${name} `));
      if (document === undefined)
        throw new Error(`${file} names ${reference.trim()}, which is not in scripts/docs/standards.ts.`);
      return { document, section: reference.trim().slice(document.length).trim(), what: plain(title), file };
    }),
  );
}

/** Placeholders for the values of a row become an ellipsis. */
const plain = (title: string): string =>
  title
    .replace(/ ?\(%#\)/g, '')
    .replace(/%[a-z]|\$\{[^}]*\}/g, '…')
    .replaceAll('|', '\\|');

function testFiles(): string[] {
  return ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      // The tests of test/house prove no behaviour.
      .filter((path) => path.endsWith('.test.ts') && !path.startsWith('test/house/')),
  );
}

const parts = (section: string): number[] =>
  section.split(/[ .,]/).map((part) => (/^\d+$/.test(part) ? Number(part) : Number.MAX_SAFE_INTEGER));

function bySection(a: Requirement, b: Requirement): number {
  const [x, y] = [parts(a.section), parts(b.section)];
  for (let i = 0; i < Math.max(x.length, y.length); i++)
    if ((x[i] ?? -1) !== (y[i] ?? -1)) return (x[i] ?? -1) - (y[i] ?? -1);
  return a.section.localeCompare(b.section, 'en') || a.file.localeCompare(b.file, 'en');
}

/** Renders the block of docs/standards.md with every requirement that the title of a test names, by its document. */
export function renderStandards(): string {
  const all = testFiles()
    .sort()
    .flatMap((file) => requirementsIn(readFileSync(join(root, file), 'utf8'), file));
  return NAMES.map((document) => ({ document, found: all.filter((r) => r.document === document).sort(bySection) }))
    .filter(({ found }) => found.length > 0)
    .map(
      ({ document, found }) =>
        `### ${document}: ${DOCUMENTS[document]}\n\n| Requirement | Where it comes from | Test |\n|---|---|---|\n` +
        `${found.map((r) => `| ${r.what} | ${r.section} | \`${r.file}\` |`).join('\n')}\n`,
    )
    .join('\n');
}
