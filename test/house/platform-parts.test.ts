import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSurplus } from './platform-parts.ts';

const src = resolve(import.meta.dirname, '../../src');
/** The most parts that a parameter names; a function that needs more takes the whole platform. */
const MOST = 6;
/** These create the platform, or pass it to all modules. */
const WIRING = ['platform.ts', 'service.ts', 'api.ts', 'upkeep.ts', 'module-states.ts'];

const filesOf = (...texts: string[]): Map<string, string> =>
  new Map(texts.map((text, index) => [`${'abc'[index]}.ts`, text]));

describe('the parts of the platform that a function takes', () => {
  it('are those that it and the functions that it calls need', () => {
    const files = (readdirSync(src, { recursive: true }) as string[]).filter(
      (file) => file.endsWith('.ts') && !/\.(test|cases)\.ts$/.test(file) && !WIRING.includes(file),
    );
    expect(files.length).toBeGreaterThan(300);
    const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
    expect(findSurplus(texts, MOST)).toEqual([]);
  });

  it.each([
    ['a whole platform for one part', 'function f(platform: Platform) { platform.clock.now(); }', 'needs only clock'],
    ['a pattern', 'const f = ({ clock, log }: Platform) => log.info(clock)', 'needs only clock, log'],
    ['a destructured platform', 'const f = (p: Platform) => { const { log } = p; }', 'needs only log'],
    ['a part without a use', "const f = (p: Pick<Platform, 'clock' | 'log'>) => p.log;", 'does not need clock'],
    ['a part in no pattern', "const f = ({ log }: Pick<Platform, 'clock' | 'log'>) => log;", 'does not need clock'],
    ['a use in a function inside', 'const f = (p: Platform) => () => () => p.log;', 'needs only log'],
    ['another variable of the name', 'const f = (p: Platform) => [(p) => p.clock, p.log];', 'needs only log'],
    [
      'a class',
      'class A { readonly #p: Platform; constructor(q: X) { this.#p = q; } log() { this.#p.log(); } }',
      'needs only log',
    ],
  ])('are refused: %s', (_, text, problem) => {
    expect(findSurplus(filesOf(text), MOST)).toEqual([`a.ts:1 ${problem}`]);
  });

  it('are followed through functions, constructors, imports and re-exporting files', () => {
    const a = "import { g as h } from './b.ts';\nexport function f(platform: Platform) { h(1, platform); }";
    const b = "export { g } from './c.ts';";
    const c =
      "export function g(n: number, { ledger }: Pick<Platform, 'ledger'>) {}\n" +
      "class A { readonly #p: Pick<Platform, 'log'>; constructor(p: Platform) { this.#p = p; this.#p.log; } }\n" +
      'const create = (p: Platform) => new A(p);';
    expect(findSurplus(filesOf(a, b, c), MOST)).toEqual([
      'a.ts:2 needs only ledger',
      'c.ts:2 needs only log',
      'c.ts:3 needs only log',
    ]);
  });

  it('are the parts that functions which call each other need together', () => {
    const text = 'const f = (p: Platform) => g(p.log, p);\nconst g = (x: X, p: Platform) => x || f(p) || p.clock;';
    expect(findSurplus(filesOf(text), MOST)).toEqual(['a.ts:1 needs only clock, log', 'a.ts:2 needs only clock, log']);
  });

  it.each([
    ['more parts than are named', 'const f = ({ a, b, c, d, e, f, g }: Platform) => a;'],
    ['functions of an object, which are given the whole', 'const f = (p: Platform, m: Module) => m.start(p);'],
    ['a platform that is copied', 'const f = (p: Platform, ledger: L) => run({ ...p, ledger });'],
    ['a named set of parts', "type Keys = Pick<Platform, 'a' | 'b'>;\nconst f = (p: Keys) => p.a;"],
  ])('are permitted: %s', (_, text) => {
    expect(findSurplus(filesOf(text), MOST)).toEqual([]);
  });
});
