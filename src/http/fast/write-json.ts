import type { ServerResponse } from 'node:http';
import { JSON_HEADERS } from '../render-error.ts';

const HEADERS = [...Object.entries(JSON_HEADERS).flat(), 'content-length'];

/** JSON, with head and body in one write: the length is stated, so there are no chunks, and the socket is given one piece, not two. */
export function writeJson(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, [...HEADERS, String(Buffer.byteLength(text))]);
  res.socket?.cork();
  res.write(text);
  res.socket?.uncork();
  res.end();
}
