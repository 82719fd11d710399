import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { WebPerson } from './web-person.ts';

/** The official MCP clients of both generations, unmodified, with the login code that an application adds. */

export const REDIRECT = 'http://127.0.0.1:7777/callback';

/** The provider that both generations of the SDK require from an application: it stores their state and opens a URL. */
export function provider(more: { scope?: string } = {}) {
  const kept: {
    client?: unknown;
    tokens?: { access_token: string; refresh_token?: string } | undefined;
    verifier?: string;
    opened?: URL;
    discovered?: unknown;
  } = {};
  const metadata = {
    client_name: 'Note taker',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...more,
  };
  return {
    kept,
    redirectUrl: REDIRECT,
    clientMetadata: metadata,
    clientInformation: () => kept.client as never,
    saveClientInformation: (client: unknown) => {
      kept.client = client;
    },
    tokens: () => kept.tokens as never,
    saveTokens: (tokens: { access_token: string; refresh_token?: string }) => {
      kept.tokens = tokens;
    },
    codeVerifier: () => kept.verifier as string,
    saveCodeVerifier: (verifier: string) => {
      kept.verifier = verifier;
    },
    // Version 2 binds the redirect to the server of the request.
    discoveryState: () => kept.discovered as never,
    saveDiscoveryState: (state: unknown) => {
      kept.discovered = state;
    },
    redirectToAuthorization: (address: URL) => {
      kept.opened = address;
    },
  };
}
export type Provider = ReturnType<typeof provider>;

export interface Caller {
  /** The whole result of a tool call. */
  result(tool: string, args?: Record<string, unknown>): Promise<unknown>;
  /** The content of the result only. */
  call(tool: string, args?: Record<string, unknown>): Promise<unknown>;
  tools(): Promise<string[]>;
  /** The revision of MCP on which client and server agreed. */
  readonly revision: string | undefined;
  close(): Promise<void>;
}

/** Connects. If the server requires a login, the person signs in and decides. */
export type Connect = (endpoint: string, auth: Provider, person: WebPerson) => Promise<Caller>;

const caller = (client: Client | v2.Client, revision: string | undefined): Caller => {
  const result = async (name: string, args: Record<string, unknown> = {}) =>
    (await client.callTool({ name, arguments: args })) as { content?: unknown };
  return {
    result,
    call: async (name, args) => (await result(name, args)).content,
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    revision,
    close: () => client.close(),
  };
};

export const connectV1: Connect = async (endpoint, auth, person) => {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: auth as never });
  const client = new Client({ name: 'v1', version: '1' });
  try {
    await client.connect(transport as never);
    return caller(client, transport.protocolVersion);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const back = await person.decide(String(auth.kept.opened));
    await transport.finishAuth(back.searchParams.get('code') as string);
    return connectV1(endpoint, auth, person);
  }
};

/** Without a mode, version 2 uses the revisions before 2026-07-28. */
export const connectV2 = (mode?: v2.VersionNegotiationMode): Connect =>
  async function connect(endpoint, auth, person) {
    const transport = new v2.StreamableHTTPClientTransport(new URL(endpoint), { authProvider: auth as never });
    const client = new v2.Client({ name: 'v2', version: '1' }, mode ? { versionNegotiation: { mode } } : {});
    try {
      await client.connect(transport);
      return caller(client, client.getNegotiatedProtocolVersion());
    } catch (error) {
      if (!(error instanceof v2.UnauthorizedError)) throw error;
      await transport.finishAuth((await person.decide(String(auth.kept.opened))).searchParams);
      return connect(endpoint, auth, person);
    }
  };

/** The file of `mcp-remote`, which clients of servers over stdio start as their server. */
const MCP_REMOTE = join(import.meta.dirname, '../../node_modules/mcp-remote/dist/proxy.js');

/**
 * Connects to `mcp-remote`, and through it to the server. It prints the address of the sign-in page, and receives the
 * redirect itself.
 * @param folder where it keeps its tokens
 */
export const connectMcpRemote =
  (folder: string): Connect =>
  async (endpoint, _auth, person) => {
    const { PATH = '' } = process.env as { PATH?: string };
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MCP_REMOTE, endpoint],
      // Prevents it from opening a browser on the machine that runs the tests.
      env: { PATH, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' },
      stderr: 'pipe',
    });
    const client = new Client({ name: 'stdio', version: '1' });
    let printed = '';
    let signedIn: Promise<unknown> | undefined;
    const failed = new Promise<never>((_resolve, reject) => {
      transport.stderr?.on('data', (chunk: Buffer) => {
        printed += chunk;
        const [, address] = /by visiting:\n(\S+)\n/.exec(printed) ?? [];
        if (!address || signedIn) return;
        signedIn = person.decide(address).then((back) => fetch(back));
        signedIn.catch(reject);
      });
    });
    await Promise.race([client.connect(transport), failed]).catch((error: unknown) => {
      throw new Error(`mcp-remote did not connect: ${printed}`, { cause: error });
    });
    return caller(client, undefined);
  };
