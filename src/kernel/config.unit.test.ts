import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, flatten, loadConfig, option, type Section, type Sources } from './config.ts';

const section = {
  service: { name: option.string({ default: 'legate', description: '' }) },
  http: {
    port: option.integer({ default: 3000, max: 65_535, env: 'PORT', description: '' }),
    basePath: option.string({ default: (c) => `/api/${c.serviceName}`, description: '' }),
    trustedProxies: option.list({ default: [], description: '' }),
  },
  users: {
    signUp: option.oneOf(['open', 'closed'], { default: (c) => (c.production ? 'closed' : 'open'), description: '' }),
    allowExternalOwners: option.boolean({ default: false, description: '' }),
  },
  databaseUrl: option.optionalString({ secret: true, description: '' }),
  baseUrl: option.optionalString({ schema: z.url({ message: 'must be an address' }), description: '' }),
} satisfies Section;

const load = (from: Sources) => loadConfig(section, from);
const problems = (from: Sources): string[] => {
  try {
    load(from);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

describe('loadConfig', () => {
  it('fills in every default, including those that depend on other options', () => {
    expect(load({}).values).toEqual({
      service: { name: 'legate' },
      http: { port: 3000, basePath: '/api/legate', trustedProxies: [] },
      users: { signUp: 'open', allowExternalOwners: false },
      databaseUrl: undefined,
      baseUrl: undefined,
    });
    expect(load({ production: true, code: { service: { name: 'envoy' } } }).values).toMatchObject({
      http: { basePath: '/api/envoy' },
      users: { signUp: 'closed' },
    });
  });

  it('prefers code to environment, environment to file and file to default, and reports the source', () => {
    const file = { http: { port: 1, basePath: '/file', trustedProxies: ['10.0.0.1'] } };
    const env = { PORT: '2', LEGATE_HTTP_BASE_PATH: '/env' };
    const { values, sources } = load({ file, env, code: { http: { port: 3 } } });
    expect(values.http).toEqual({ port: 3, basePath: '/env', trustedProxies: ['10.0.0.1'] });
    expect(
      ['http.port', 'http.basePath', 'http.trustedProxies', 'users.signUp'].map((path) => sources.get(path)),
    ).toEqual(['code', 'environment', 'file', 'default']);
  });

  it('derives the environment variable from the path, unless the option names its own', () => {
    expect(flatten(section).map((f) => f.env)).toEqual([
      'LEGATE_SERVICE_NAME',
      'PORT',
      'LEGATE_HTTP_BASE_PATH',
      'LEGATE_HTTP_TRUSTED_PROXIES',
      'LEGATE_USERS_SIGN_UP',
      'LEGATE_USERS_ALLOW_EXTERNAL_OWNERS',
      'LEGATE_DATABASE_URL',
      'LEGATE_BASE_URL',
    ]);
  });

  it('parses numbers, booleans and lists from text', () => {
    const env = {
      PORT: '8080',
      LEGATE_USERS_ALLOW_EXTERNAL_OWNERS: '1',
      LEGATE_HTTP_TRUSTED_PROXIES: ' 10.0.0.0/8, ::1 ,',
    };
    expect(load({ env }).values).toMatchObject({
      http: { port: 8080, trustedProxies: ['10.0.0.0/8', '::1'] },
      users: { allowExternalOwners: true },
    });
  });

  it('parses JSON, and says whether the text or the value in it is not valid', () => {
    const json = { names: option.json({ schema: z.array(z.string()), default: [], description: '' }) };
    const named = (LEGATE_NAMES: string) => loadConfig(json, { env: { LEGATE_NAMES } });
    expect(named('["a"]').values).toEqual({ names: ['a'] });
    expect(() => named('["a"')).toThrow('LEGATE_NAMES: is not valid JSON');
    expect(() => named('"a"')).toThrow(/LEGATE_NAMES: (?!is not valid JSON)/);
  });

  it('treats an empty variable as unset', () => {
    expect(load({ env: { PORT: '', LEGATE_USERS_SIGN_UP: '' } }).values).toMatchObject({
      http: { port: 3000 },
      users: { signUp: 'open' },
    });
    const env = { LEGATE_BASE_URL: '', LEGATE_DATABASE_URL: '' };
    const { values, sources } = load({ env, file: { databaseUrl: 'postgres://x' } });
    expect([values.baseUrl, values.databaseUrl]).toEqual([undefined, 'postgres://x']);
    expect([sources.get('baseUrl'), sources.get('databaseUrl')]).toEqual(['default', 'file']);
  });

  it('reads a secret from the file that ..._FILE names, without the final line break', () => {
    const readFile = (path: string) => (path === '/run/secrets/db' ? 'postgres://x\n' : '');
    expect(load({ env: { LEGATE_DATABASE_URL_FILE: '/run/secrets/db' }, readFile }).values.databaseUrl).toBe(
      'postgres://x',
    );
    expect(problems({ env: { LEGATE_DATABASE_URL_FILE: '/run/secrets/db' } })).toEqual([
      'LEGATE_DATABASE_URL_FILE: the file cannot be read',
    ]);
  });

  it('refuses a secret that is set both as text and as a file, in any order; an empty value is not set', () => {
    const text = { LEGATE_DATABASE_URL: 'postgres://x' };
    const file = { LEGATE_DATABASE_URL_FILE: '/run/secrets/db' };
    for (const env of [
      { ...text, ...file },
      { ...file, ...text },
    ])
      expect(problems({ env, readFile: () => 'postgres://y' })).toEqual([
        'LEGATE_DATABASE_URL and LEGATE_DATABASE_URL_FILE are both set; set one of them',
      ]);
    const values = (env: Record<string, string>) => load({ env, readFile: () => 'postgres://y' }).values.databaseUrl;
    expect(values({ ...text, LEGATE_DATABASE_URL_FILE: '' })).toBe('postgres://x');
    expect(values({ ...file, LEGATE_DATABASE_URL: '' })).toBe('postgres://y');
  });

  it('accepts ..._FILE for secrets only', () => {
    expect(problems({ env: { LEGATE_BASE_URL_FILE: '/etc/hostname' } })).toEqual([
      expect.stringContaining('LEGATE_BASE_URL_FILE is not a known option'),
    ]);
  });

  it('names an unknown variable and suggests the closest known one', () => {
    expect(problems({ env: { LEGATE_HTTP_TRUSTED_PROXY: '::1' } })).toEqual([
      expect.stringMatching(/^LEGATE_HTTP_TRUSTED_PROXY is not a known option; did you mean LEGATE_HTTP_/),
    ]);
  });

  it('ignores the variables of clients, which a person may have set in the same shell', () => {
    expect(problems({ env: { LEGATE_TOKEN: 'lgk_x', LEGATE_URL: 'https://auth.example.com' } })).toEqual([]);
  });

  it('ignores variables without the prefix LEGATE_', () => {
    expect(
      problems({ env: { PATH: '/bin', HOST_NAME: 'x', NODE_ENV: 'test', LEGATE_TEST_DATABASE: 'sqlite' } }),
    ).toEqual([]);
  });

  it('reports every problem at once, each with its source', () => {
    const found = problems({
      env: { PORT: '70000', LEGATE_USERS_SIGN_UP: 'maybe' },
      file: { http: { ports: 1 }, nothing: {} },
      code: { baseUrl: 'here', users: 5 },
    });
    expect(found.sort()).toEqual([
      expect.stringMatching(/^LEGATE_USERS_SIGN_UP: /),
      'PORT: must be a whole number from 0 to 65535',
      'baseUrl (LEGATE_BASE_URL): must be an address',
      'createLegate: users must be an object',
      'legate.config.json: http.ports is not a known option',
      'legate.config.json: nothing is not a known option',
    ]);
  });

  it('does not accept inherited property names as options', () => {
    expect(problems({ file: JSON.parse('{"__proto__":{"x":1},"constructor":{}}') })).toEqual([
      'legate.config.json: __proto__ is not a known option',
      'legate.config.json: constructor is not a known option',
    ]);
  });

  it.each(['1e3', '0x10', ' ', 'many', '3000.5', '-1'])('refuses %j as a port', (text) => {
    expect(problems({ env: { PORT: text } })).toEqual([expect.stringMatching(/^PORT: /)]);
  });
});
