import { CommonErrors } from '../../kernel/errors.ts';
import type { Call } from '../../platform.ts';
import { BodyTooLarge } from '../guard/guard.ts';
import { UnreadableBody } from '../guard/json-rpc.ts';

/** Returns the bytes of a body. Throws {@link UnreadableBody} and {@link BodyTooLarge}. */
export function bytesOf(
  request: Pick<Call<unknown, unknown, unknown>, 'header' | 'bytes'>,
  maxBytes: number,
): Uint8Array | Promise<Uint8Array> {
  if (request.header('content-encoding') !== null) throw new UnreadableBody('encoded');
  const fail = (error: unknown): never => {
    throw (error as { code?: unknown }).code === CommonErrors.PAYLOAD_TOO_LARGE.code ? new BodyTooLarge() : error;
  };
  try {
    const bytes = request.bytes(maxBytes);
    return bytes instanceof Promise ? bytes.catch(fail) : bytes;
  } catch (error) {
    return fail(error);
  }
}
