import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Witness } from './add-checkpoint.ts';

/** Bytes of a request (C2SP tlog-witness: a proof of 63 hashes and a checkpoint). */
const MAX_BYTES = 64 * 1024;
const LATEST = /^\/([0-9a-f]{64})\/checkpoint$/;

/**
 * Serves POST /add-checkpoint and GET /<SHA-256 of an origin>/checkpoint. `onFailure` gets what the witness throws, for
 * example because its disk is full. The answer is then 503.
 */
export function serveWitness(witness: Witness, onFailure: (error: unknown) => void = () => {}): Server {
  return createServer(
    { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 65_000, maxHeaderSize: 8192 },
    (req, res) => {
      answer(witness, req, res, onFailure).catch(() => res.destroy());
    },
  );
}

async function answer(
  witness: Witness,
  req: IncomingMessage,
  res: ServerResponse,
  onFailure: (error: unknown) => void,
): Promise<void> {
  const path = (req.url ?? '').split('?')[0] ?? '';
  const send = (status: number, type: string, body: string, headers: Record<string, string> = {}): void => {
    res.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'x-content-type-options': 'nosniff',
      ...headers,
    });
    res.end(req.method === 'HEAD' ? undefined : body);
  };
  const refuse = (status: number, reason: string, headers?: Record<string, string>): void =>
    send(status, 'text/plain; charset=utf-8', `${reason}\n`, headers);
  const [, hash] = LATEST.exec(path) ?? [];
  if (hash !== undefined) {
    if (req.method !== 'GET' && req.method !== 'HEAD') return refuse(405, 'Use GET.', { allow: 'GET, HEAD' });
    const note = witness.latest(hash);
    if (note === undefined) return refuse(404, 'This witness has not cosigned a checkpoint of that log.');
    return send(200, 'text/plain; charset=utf-8', note, { 'cache-control': 'no-cache' });
  }
  if (path !== '/add-checkpoint')
    return refuse(404, 'POST /add-checkpoint, or GET /<SHA-256 of an origin>/checkpoint.');
  if (req.method !== 'POST') return refuse(405, 'Use POST.', { allow: 'POST' });
  const body = await read(req);
  if (body === undefined) return refuse(413, `A request has at most ${MAX_BYTES} bytes.`, { connection: 'close' });
  try {
    const answered = witness.addCheckpoint(body);
    send(answered.status, answered.type, answered.body);
  } catch (error) {
    onFailure(error);
    refuse(503, 'This witness cannot store the checkpoint.', { 'retry-after': '60' });
  }
}

/** The body as text; undefined if it is too long. */
async function read(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
