import { describe, expect, it } from 'vitest';
import { MemoryStore } from './memory-store.ts';

const WINDOW = 60_000;
const NOW = 1_893_456_612_345;

describe('the store in memory', () => {
  it('keeps keys separate', () => {
    const store = new MemoryStore();
    expect([
      store.take('a', 1, WINDOW, NOW).allowed,
      store.take('b', 1, WINDOW, NOW).allowed,
      store.take('a', 1, WINDOW, NOW).allowed,
    ]).toEqual([true, true, false]);
  });

  it('stays within its limit under a flood of 2 million keys, and resets no key that is exhausted or in use', () => {
    const store = new MemoryStore();
    const usedUp = Array.from({ length: 1000 }, (_, i) => `used-up-${i}`);
    for (const key of usedUp) for (let i = 0; i < 10; i++) store.take(key, 10, WINDOW, NOW);
    for (let i = 0; i < 5; i++) store.take('half', 10, WINDOW, NOW);
    for (let i = 0; i < 100; i++) store.take('many', 100, WINDOW, NOW);
    store.take('active', 10, WINDOW, NOW);
    let most = 0;
    for (let i = 0; i < 2_000_000; i++) {
      store.take(`flood-${i}`, 10, WINDOW, NOW + 1);
      if (i % 250_000 === 0) store.take('active', 10, WINDOW, NOW + 1);
      if (store.size > most) most = store.size;
    }
    expect(most).toBeLessThanOrEqual(65_536);
    for (const key of [...usedUp, 'many'])
      expect(store.take(key, key === 'many' ? 100 : 10, WINDOW, NOW + 2).allowed).toBe(false);
    expect(store.take('half', 10, WINDOW, NOW + 2).remaining).toBe(4);
    expect(store.take('active', 10, WINDOW, NOW + 2).remaining).toBe(0);
  });

  it('expired keys are evicted first', () => {
    const store = new MemoryStore(100);
    for (let i = 0; i < 50; i++) for (let n = 0; n < 2; n++) store.take(`old-${i}`, 2, WINDOW, NOW);
    const later = NOW + WINDOW;
    for (let n = 0; n < 2; n++) store.take('kept', 2, WINDOW, later);
    for (let i = 0; i < 1000; i++) store.take(`flood-${i}`, 2, WINDOW, later);
    expect(store.take('kept', 2, WINDOW, later).allowed).toBe(false);
  });

  it('exhausted keys are kept longer than keys in use', () => {
    const store = new MemoryStore(100);
    const twice = (key: string): void => {
      for (let n = 0; n < 2; n++) store.take(key, 10, WINDOW, NOW);
    };
    for (let i = 0; i < 60; i++) twice(`before-${i}`);
    for (let n = 0; n < 10; n++) store.take('used up', 10, WINDOW, NOW);
    for (let i = 0; i < 1000; i++) twice(`after-${i}`);
    expect(store.take('used up', 10, WINDOW, NOW).allowed).toBe(false);
  });

  it('still counts new keys if more keys are exhausted than fit', () => {
    const store = new MemoryStore(100);
    for (let i = 0; i < 1000; i++)
      for (let n = 0; n < 3; n++) expect(store.take(`key-${i}`, 2, WINDOW, NOW).allowed).toBe(n < 2);
    expect(store.size).toBeLessThanOrEqual(200);
  });
});
