import { describe, expect, it } from 'vitest';
import { ModuleStates } from './module-states.ts';
import { defineState, type Platform } from './platform.ts';

const platformOf = (states: () => ModuleStates): Platform =>
  ({ stateOf: (state) => states().of(state) }) as Partial<Platform> as Platform;

describe('the states of modules', () => {
  it('are created once per service, with the platform of the service', () => {
    const platforms: Platform[] = [];
    const counter = defineState((platform) => {
      platforms.push(platform);
      return { count: 0 };
    });
    const services = [1, 2].map(() => {
      const states: ModuleStates = new ModuleStates([{ states: [counter] }], () => platform);
      const platform = platformOf(() => states);
      return { states, platform };
    });
    for (const { states } of services) states.create();
    const [one, other] = services as [(typeof services)[0], (typeof services)[0]];
    one.platform.stateOf(counter).count++;
    expect(one.platform.stateOf(counter)).toEqual({ count: 1 });
    expect(other.platform.stateOf(counter)).toEqual({ count: 0 });
    expect(platforms).toEqual([one.platform, other.platform]);
  });

  it('can use each other while they are created, in any order', () => {
    const first = defineState((platform) => [...platform.stateOf(second), 'first']);
    const second = defineState(() => ['second']);
    const states: ModuleStates = new ModuleStates([{ states: [first] }, {}, { states: [second] }], () =>
      platformOf(() => states),
    );
    states.create();
    expect(states.of(first)).toEqual(['second', 'first']);
  });

  it('must be declared by a module', () => {
    const states: ModuleStates = new ModuleStates([{}], () => platformOf(() => states));
    expect(() => states.of(defineState(() => ({})))).toThrow('no module of modules.ts declares');
  });
});
