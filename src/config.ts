import { z } from 'zod';
import { anomaliesConfig } from './activity/anomalies/config.ts';
import { auditConfig } from './activity/audit/config.ts';
import { sealConfig } from './activity/seal/config.ts';
import { eventsConfig } from './activity/stream/config.ts';
import { webhooksConfig } from './activity/webhooks/config.ts';
import { agentsConfig } from './authorization/agents/config.ts';
import { approvalsConfig } from './authorization/approvals/config.ts';
import { delegationsConfig } from './authorization/delegations/config.ts';
import { consoleConfig } from './console/config.ts';
import { httpConfig } from './http/config.ts';
import { rateLimitConfig, redisUrlOption } from './http/rate-limit/config.ts';
import {
  ConfigError,
  flatten,
  type Loaded,
  loadConfig,
  option,
  type PartialValuesOf,
  type Section,
  type Sources,
  type ValuesOf,
} from './kernel/config.ts';
import { bytesOfSecret } from './kernel/root-secret.ts';
import { gatewayConfig } from './mcp/gateway/config.ts';
import { mcpConfig } from './mcp/servers/config.ts';
import { oauthConfig } from './oauth/config.ts';
import { mailConfig } from './operations/mail/config.ts';
import { federationConfig, issuersOption } from './people/federation/config.ts';
import { breachConfig } from './people/passwords/breach/config.ts';
import { multiSessionConfig } from './people/sessions/config.ts';
import { adminConfig, usersConfig } from './people/users/config.ts';

const rootSecret = z
  .string()
  .refine((text) => bytesOfSecret(text) !== undefined, 'must be at least 32 random bytes, hex or base64url');

/** All options. Environment names, docs/config.md and `legate config` are generated from this. */
export const configSection = {
  service: {
    name: option.string({
      default: 'legate',
      schema: z.string().regex(/^[a-z][a-z0-9_]{0,30}$/, 'must be lower-case letters, digits and underscores'),
      description: 'Name of the service. Part of the base path, of table names and of the cookie.',
    }),
    banner: option.optionalString({
      schema: z.string().min(1).max(200),
      description: 'Text at the top of each page, for example to tell a test installation from the real one.',
    }),
    bannerDe: option.optionalString({
      schema: z.string().min(1).max(200),
      description: 'The same text for people who read German; by default `service.banner`.',
    }),
  },
  dataDir: option.string({
    default: './.legate',
    description: 'Folder of the SQLite file and the secrets; created with mode 0700.',
  }),
  databaseUrl: option.optionalString({
    secret: true,
    defaultText: 'sqlite:<dataDir>/legate.db',
    schema: z
      .string()
      .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'must be sqlite:<path> or postgres://...')
      .refine((url) => url !== 'sqlite::memory:', 'must name a file, because records in memory are not durable'),
    description:
      'sqlite:<path> or postgres://... PostgreSQL may have several hosts: postgres://user@a:5432,b:5432/db. Options ' +
      'in the URL do not weaken durability or time limits.',
  }),
  secret: option.optionalString({
    secret: true,
    schema: rootSecret,
    description:
      'Root secret of the installation, the same for all instances: 32 random bytes or more, hex or base64url. The ' +
      'keys are then in the database, encrypted under it, and secrets.json is not needed. Required in production on ' +
      'PostgreSQL.',
  }),
  secretPrevious: option.optionalString({
    secret: true,
    schema: rootSecret,
    description: 'The former root secret, until npx legate keys rotate has encrypted the keys under the new one.',
  }),
  database: {
    readConnections: option.integer({
      default: 7,
      min: 2,
      max: 1000,
      description: 'PostgreSQL: maximum number of connections of an instance for reads and maintenance.',
    }),
    writeConnections: option.integer({
      default: 3,
      min: 2,
      max: 100,
      description:
        'PostgreSQL: maximum number of connections of an instance for decisions and changes. One runs at a time.',
    }),
  },
  baseUrl: option.optionalString({
    defaultText: 'http://localhost:<port>',
    schema: z
      .url({ protocol: /^https?$/, message: 'must be an http or https address' })
      .refine((url) => !/[?#]/.test(url), 'must not have a query or a fragment')
      .refine((url) => !/^\w+:\/*[^/]*@/.test(url), 'must not have a user name or password')
      .transform((url) => url.replace(/\/+$/, '')),
    description:
      'Public address, used for issuer, cookies and links. Never taken from request headers. A trailing slash is ' +
      'removed.',
  }),
  allowHttp: option.boolean({
    default: false,
    description: 'Allow an http base URL in production. Cookies and tokens are then sent unencrypted.',
  }),
  redisUrl: redisUrlOption('none', 'Redis for state that instances share. Used by options such as rateLimit.store.'),
  http: httpConfig,
  events: eventsConfig,
  webhooks: webhooksConfig,
  admin: adminConfig,
  agents: agentsConfig,
  anomalies: anomaliesConfig,
  console: consoleConfig,
  approvals: approvalsConfig,
  delegations: delegationsConfig,
  users: usersConfig,
  breach: breachConfig,
  mail: mailConfig,
  multiSession: multiSessionConfig,
  rateLimit: rateLimitConfig,
  gateway: gatewayConfig,
  issuers: issuersOption,
  federation: federationConfig,
  mcp: { ...mcpConfig, ...oauthConfig },
  ledger: {
    mode: option.oneOf(['strict'], {
      default: 'strict',
      description: 'strict: no answer is sent before its record is durable.',
    }),
    ...sealConfig,
  },
  audit: auditConfig,
  metrics: {
    token: option.optionalString({
      secret: true,
      description: 'Bearer token for GET /metrics, in addition to admin credentials.',
    }),
  },
  shutdown: {
    drainSeconds: option.integer({
      default: ({ production }) => (production ? 5 : 0),
      defaultText: '0; 5 in production',
      max: 600,
      description:
        'How long requests are answered after SIGTERM while `/health/ready` answers 503, so that load balancers send ' +
        'them elsewhere. A second signal ends the process at once.',
    }),
  },
  log: {
    level: option.oneOf(['silent', 'error', 'warn', 'info', 'debug'], {
      default: 'info',
      description: 'Lowest level that is logged.',
    }),
    requests: option.boolean({
      default: false,
      description: 'Log a line for each request at level info; otherwise it is logged at debug.',
    }),
  },
} satisfies Section;

/** The configuration with all defaults applied. */
export type Config = ValuesOf<typeof configSection>;
/** What an embedder passes to `createLegate`. */
export type ConfigInput = PartialValuesOf<typeof configSection>;

/** Reads the configuration. Throws ConfigError, also for options that depend on each other. */
export function readConfig(from: Sources): Loaded<typeof configSection> {
  const loaded = loadConfig(configSection, from);
  const { rateLimit, redisUrl } = loaded.values;
  if (rateLimit.store === 'redis' && (rateLimit.redisUrl ?? redisUrl) === undefined)
    throw new ConfigError([
      'rateLimit.redisUrl (LEGATE_RATE_LIMIT_REDIS_URL): is needed when rateLimit.store is redis; LEGATE_REDIS_URL ' +
        'does as well',
    ]);
  return loaded;
}

/** An option as it is set. */
export interface Setting {
  readonly option: string;
  readonly environment: string;
  readonly source: string;
  readonly secret: boolean;
  readonly set: boolean;
  /** undefined for a secret, and for an option without a value. */
  readonly value: unknown;
}

/** Returns every option with its value and source. For a secret, only whether it is set. */
export const describeSettings = ({ values, sources }: Loaded<typeof configSection>): Setting[] =>
  flatten(configSection).map(({ path, env, option: { secret = false } }) => {
    const name = path.join('.');
    const value = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], values);
    const set = value !== undefined;
    return {
      option: name,
      environment: env,
      source: sources.get(name) ?? 'default',
      secret,
      set,
      value: secret ? undefined : value,
    };
  });
