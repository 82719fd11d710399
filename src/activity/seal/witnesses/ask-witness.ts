import { type GuardedFetch, GuardedFetchError } from '../../../operations/outbound/index.ts';
import { openCheckpoint, Refuted, type TrustedKey, Undecidable } from '../../../verify/index.ts';
import { MissingTile } from '../tree.ts';

const TIMEOUT_MS = 4000;
const MAX_BYTES = 16_384;
const TOO_OLD =
  'Retention has deleted all rows of the last checkpoint that it cosigned, so no proof leads from there to this one. ' +
  'Its operator has to let it begin again.';

export interface Asked {
  readonly name: string;
  readonly key: TrustedKey;
  readonly address: string;
}

export interface Signed {
  readonly size: number;
  readonly note: string;
  /** The keys that have signed the note. */
  readonly keys: readonly TrustedKey[];
  /** Returns the consistency proof from the first `from` rows, hashes in base64. Throws {@link MissingTile}. */
  proveFrom(from: number): Promise<readonly string[]>;
}

/** The answer of a witness: its cosignature lines, the larger size of a tree that it has cosigned, or the problem. */
export type Cosigned = { readonly lines: string } | { readonly knows: number } | { readonly failure: string };

/**
 * Asks a witness to cosign a checkpoint (C2SP tlog-witness), and checks the cosignature. `known` is the size of the
 * checkpoint that it cosigned last; if it answers with a different, smaller size, it is asked again.
 */
export async function askWitness(
  fetch: GuardedFetch,
  { name, key, address }: Asked,
  signed: Signed,
  known: number,
): Promise<Cosigned> {
  const post = async (from: number) => {
    const proof = await signed.proveFrom(from);
    return fetch(`${address.replace(/\/$/, '')}/add-checkpoint`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain; charset=utf-8', 'user-agent': 'Legate-Ledger/1' },
      body: `old ${from}\n${proof.map((hash) => `${hash}\n`).join('')}\n${signed.note}`,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
  };
  try {
    let response = await post(Math.min(known, signed.size));
    let size = sizeSaid(response);
    if (size !== undefined && size <= signed.size) {
      response = await post(size);
      size = sizeSaid(response);
    }
    if (size !== undefined)
      return size > signed.size ? { knows: size } : { failure: 'It answers with a different size each time.' };
    const text = Buffer.from(response.body).toString('utf8');
    if (response.status !== 200) return { failure: refusalOf(response.status, text) };
    return { lines: cosignatureOf(text, name, key, signed) };
  } catch (error) {
    if (error instanceof GuardedFetchError) return { failure: `It cannot be reached: ${error.problem}.` };
    if (error instanceof Refuted || error instanceof Undecidable) return { failure: error.message };
    if (error instanceof MissingTile) return { failure: TOO_OLD };
    throw error;
  }
}

/** The size in an answer 409 with the media type for it. */
function sizeSaid({ status, headers, body }: Awaited<ReturnType<GuardedFetch>>): number | undefined {
  if (status !== 409 || headers.get('content-type') !== 'text/x.tlog.size') return undefined;
  const [, digits] = /^(0|[1-9]\d{0,15})\n$/.exec(Buffer.from(body).toString('latin1')) ?? [];
  return digits === undefined || !Number.isSafeInteger(Number(digits)) ? undefined : Number(digits);
}

/** Returns the lines of the witness's own key after verifying them. Throws Refuted or Undecidable. */
function cosignatureOf(text: string, name: string, key: TrustedKey, { note, keys }: Signed): string {
  const own = text.split('\n').filter((line) => {
    const [dash, signer, encoded = ''] = line.split(' ');
    return dash === '—' && signer === key.name && Buffer.from(encoded, 'base64').toString('hex', 0, 4) === key.id;
  });
  const [line] = own;
  if (line === undefined || own.length > 1) throw new Undecidable('Its answer has no signature of its key.');
  openCheckpoint(`${note}${line}\n`, {
    logs: keys,
    witnesses: new Map([[name, key]]),
    addresses: new Map(),
    isQuorum: (cosigned) => cosigned.has(name),
  });
  return `${line}\n`;
}

/** An answer's status and the beginning of its text, in one line of printable characters. */
const refusalOf = (status: number, text: string): string =>
  `It answered ${status}: ${text
    .slice(0, 200)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()}`;
