// node scripts/common-passwords.mjs <list>: writes src/people/passwords/common/list.ts.
//
// <list> is a text file of passwords, one a line, most common first. The one in use is the list `passwords` of
// @zxcvbn-ts/language-common 3.0.4 (MIT), which comes from zxcvbn.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const COUNT = 10_000;
const MIN_CHARS = 8;
const target = join(import.meta.dirname, '../src/people/passwords/common/list.ts');

const source = process.argv[2];
if (source === undefined) throw new Error('usage: node scripts/common-passwords.mjs <list>');
const known = new Set();
for (const line of readFileSync(source, 'utf8').split('\n')) {
  const password = line.trim().normalize('NFKC').toLowerCase();
  // Shorter passwords are refused for their length.
  if ([...password].length >= MIN_CHARS && known.size < COUNT) known.add(password);
}
if (known.size < COUNT)
  throw new Error(`${source} has only ${known.size} passwords of ${MIN_CHARS} characters or more`);

const packed = brotliCompressSync([...known].sort().join('\n'), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 20 },
}).toString('base64');
const head = readFileSync(target, 'utf8').split('export const')[0];
writeFileSync(target, `${head}export const PACKED =\n  '${packed}';\n`);
