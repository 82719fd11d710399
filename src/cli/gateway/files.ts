import { readFileSync } from 'node:fs';
import { parseJson } from '../../kernel/json.ts';
import { type GatewayServer, InvalidServers, parseServers, type ServersInput } from '../../mcp/gateway/index.ts';
import { EXIT_CONFIG, UsageError } from '../command.ts';

/** Returns undefined for an optional file that does not exist. Throws UsageError. */
export function readText(path: string, optional = false): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (optional && code === 'ENOENT') return undefined;
    throw new UsageError(
      code === 'ENOENT' ? `${path} does not exist.` : `${path} cannot be read: ${code}`,
      EXIT_CONFIG,
    );
  }
}

/** Returns undefined for an optional file that does not exist. Throws UsageError. */
export function readJson(path: string, optional = false): unknown {
  const text = readText(path, optional);
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    throw new UsageError(`${path} is not valid JSON, or repeats a key.`, EXIT_CONFIG);
  }
}

/** Reads servers strictly. `from` is their source in messages. Throws UsageError. */
export function checkServers(value: unknown, from: string): GatewayServer[] {
  try {
    return parseServers(value, process.env);
  } catch (error) {
    if (error instanceof InvalidServers) throw new UsageError(`${from}: ${error.message}`, EXIT_CONFIG);
    throw error;
  }
}

/** Reads a file with servers strictly. Throws UsageError, also if no server is enabled. */
export function readEnabledServers(path: string): GatewayServer[] {
  const servers = checkServers(readJson(path), path);
  if (servers.length === 0) throw new UsageError(`${path}: mcpServers has no server that is enabled.`, EXIT_CONFIG);
  return servers;
}

/** Returns the unchanged `mcpServers` object of a file. Throws UsageError unless it is valid. */
export function readServersFile(path: string): ServersInput {
  const value = readJson(path);
  readEnabledServers(path);
  return (value as { mcpServers: ServersInput }).mcpServers;
}
