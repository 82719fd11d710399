import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { wholeNumber } from '../../kernel/whole-number.ts';
import { choosesHost, FIELD_NAME, MAX_FIELDS, userFieldsOf } from './connections/user-fields.ts';

/** The object is not valid. The message names the key. */
export class InvalidServers extends Error {}

/** Names that are used in other paths below `/gateway`. */
const RESERVED: ReadonlySet<string> = new Set(['servers', 'connections', 'callback', 'client-metadata.json']);

const texts = z.record(z.string(), z.string());

/**
 * Whose credentials the server receives: none, those in the configuration, or those of the calling person, who enters
 * them or signs in at the server's authorization server.
 */
const Auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('static') }),
  z.strictObject({
    type: z.literal('userSecret'),
    fields: z
      .array(z.string().regex(FIELD_NAME))
      .min(1)
      .max(MAX_FIELDS)
      .refine((names) => new Set(names).size === names.length, 'must not repeat a field'),
  }),
  z.strictObject({
    type: z.literal('oauth'),
    clientId: z.string().min(1).max(2000).optional(),
    clientSecret: z.string().min(1).max(2000).optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
      .max(100)
      .optional(),
  }),
]);

const Server = z
  .strictObject({
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'sse'], { error: 'must be stdio, http, streamable-http or sse' })
      .optional(),
    command: z.string().min(1).optional(),
    args: z.array(z.string()).default([]),
    env: texts.default({}),
    cwd: z.string().min(1).optional(),
    url: z.string().optional(),
    headers: texts.default({}),
    disabled: z.boolean().default(false),
    legate: z
      .strictObject({
        isolation: z.enum(['user', 'session', 'shared']).default('user'),
        pin: z.enum(['enforce', 'alarm', 'off']).default('enforce'),
        auth: Auth.default({ type: 'none' }),
        actions: z.record(z.string(), z.string().min(1).max(64)).default({}),
        sampling: z.boolean().default(false),
        roots: z.boolean().default(false),
        limits: z
          .strictObject({
            processes: wholeNumber(1, 1000).default(20),
            idleSeconds: wholeNumber(1, 86_400).default(300),
            callSeconds: wholeNumber(1, 3600).default(60),
            resultBytes: wholeNumber(1024, 100_000_000).default(10_000_000),
          })
          .prefault({}),
      })
      .prefault({}),
  })
  .superRefine((server, ctx) => {
    const { type, command, url, legate } = server;
    const { auth, isolation } = legate;
    const declared: readonly string[] = auth.type === 'userSecret' ? auth.fields : [];
    for (const name of userFieldsOf(server))
      if (!declared.includes(name))
        ctx.addIssue({ code: 'custom', message: `\${user:${name}} is not in legate.auth.fields` });
    if ((auth.type === 'userSecret' || auth.type === 'oauth') && isolation === 'shared')
      ctx.addIssue({
        code: 'custom',
        path: ['legate', 'isolation'],
        message: 'must be user or session, because the credentials belong to one person',
      });
    if (auth.type === 'oauth' && url === undefined)
      ctx.addIssue({ code: 'custom', path: ['legate', 'auth'], message: 'oauth needs url' });
    if (auth.type === 'oauth' && auth.clientSecret !== undefined && auth.clientId === undefined)
      ctx.addIssue({ code: 'custom', path: ['legate', 'auth'], message: 'clientSecret needs clientId' });
    if ((command === undefined) === (url === undefined))
      ctx.addIssue({ code: 'custom', message: 'needs either command or url' });
    else if (type !== undefined && (type === 'stdio') !== (command !== undefined))
      ctx.addIssue({ code: 'custom', path: ['type'], message: 'does not fit: command is stdio, url is http or sse' });
  });

const NAME_RULE = 'a name has at most 64 letters, digits and the characters . _ -, and begins with a letter or a digit';
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;
const Servers = z.strictObject({ mcpServers: z.record(z.string().regex(NAME), Server) });

/** Returns why a server cannot have this name; undefined if it can. */
export const nameProblem = (name: string): string | undefined =>
  NAME.test(name) ? (RESERVED.has(name) ? 'this name is reserved' : undefined) : NAME_RULE;

/** The known keys by depth. */
const KNOWN_KEYS: Readonly<Record<number, string>> = {
  0: 'mcpServers',
  2: Object.keys(Server.shape).join(', '),
};

/** The configured servers by name. */
export type ServersInput = Readonly<Record<string, z.input<typeof Server>>>;
export type GatewayServer = z.output<typeof Server> & { readonly name: string };

/**
 * Reads an `mcpServers` object strictly and fills in `${env:X}` and `${file:P}` in args, env, headers, url and
 * clientSecret; `${user:F}` stays. Disabled servers are left out. Throws InvalidServers on unknown keys, names that
 * differ in case only and missing values.
 */
export function parseServers(value: unknown, env: NodeJS.ProcessEnv): GatewayServer[] {
  const parsed = Servers.safeParse(value);
  if (!parsed.success) {
    throw new InvalidServers(describeIssue(parsed.error.issues[0] as z.core.$ZodIssue, value));
  }
  const seen = new Set<string>();
  return Object.entries(parsed.data.mcpServers).flatMap(([name, server]) => {
    if (seen.has(name.toLowerCase())) throw new InvalidServers(`mcpServers.${name}: another server has this name`);
    seen.add(name.toLowerCase());
    const problem = nameProblem(name);
    if (problem !== undefined) throw new InvalidServers(`mcpServers.${name}: ${problem}`);
    if (server.disabled) return [];
    const fill = (text: string): string => fillIn(text, env, `mcpServers.${name}`);
    const fillAll = (record: Record<string, string>): Record<string, string> =>
      Object.fromEntries(Object.entries(record).map(([key, text]) => [key, fill(text)]));
    const url = server.url === undefined ? undefined : fill(server.url);
    if (url !== undefined && choosesHost(url))
      throw new InvalidServers(`mcpServers.${name}.url: \${user:} must come after the host`);
    if (url !== undefined && !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
      throw new InvalidServers(`mcpServers.${name}.url: must be an http or https address`);
    const filled = { args: server.args.map(fill), env: fillAll(server.env), headers: fillAll(server.headers) };
    for (const [header, text] of Object.entries(filled.headers))
      if (!isHeader(header, text))
        throw new InvalidServers(
          `mcpServers.${name}.headers.${header}: has characters that are not allowed in a header`,
        );
    const { auth } = server.legate;
    const legate =
      auth.type === 'oauth' && auth.clientSecret !== undefined
        ? { ...server.legate, auth: { ...auth, clientSecret: fill(auth.clientSecret) } }
        : server.legate;
    return [{ ...server, ...filled, legate, url, name }];
  });
}

function isHeader(name: string, value: string): boolean {
  try {
    return Boolean(new Headers([[name, value]]));
  } catch {
    return false;
  }
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown): string {
  const place = issue.path.join('.') || 'the file';
  if (issue.code === 'invalid_key') return `${place}: ${NAME_RULE}`;
  if (place === 'mcpServers' && !Object.hasOwn(Object(value), 'mcpServers'))
    return `the key mcpServers is missing${Object.hasOwn(Object(value), 'servers') ? '; rename servers' : ''}`;
  if (issue.code !== 'unrecognized_keys') return `${place}: ${issue.message}`;
  const known = KNOWN_KEYS[issue.path.length];
  const keys = issue.keys.map((key) => `"${key}"`).join(', ');
  return `${place}: unknown ${issue.keys.length === 1 ? 'key' : 'keys'} ${keys}${known ? `; known: ${known}` : ''}`;
}

function fillIn(text: string, env: NodeJS.ProcessEnv, path: string): string {
  return text.replace(/\$\{(\w+):([^}]*)\}/g, (placeholder, kind: string, name: string) => {
    if (kind === 'user') return placeholder;
    if (kind === 'env') {
      const value = env[name];
      if (value === undefined) throw new InvalidServers(`${path}: the environment variable ${name} is not set`);
      return value;
    }
    if (kind !== 'file')
      throw new InvalidServers(`${path}: \${${kind}:} is unknown; use \${env:}, \${file:} or \${user:}`);
    try {
      return readFileSync(name, 'utf8').trim();
    } catch (error) {
      throw new InvalidServers(`${path}: the file ${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
    }
  });
}
