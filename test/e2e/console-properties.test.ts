import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { covers, coversActions } from '../../console/src/parts/covers.ts';
import { pathsOf } from '../../console/src/parts/paths.ts';
import { filterText, parseFilter, withFilter } from '../../console/src/screens/audit-filter.ts';
import { compareArguments } from '../../console/src/screens/comparison.ts';
import { draftOf, lint, permissionOf } from '../../console/src/screens/permission-draft.ts';
import { RowFilters } from '../../src/activity/audit/index.ts';
import { type Permission, Permissions, patternMatches } from '../../src/authorization/permissions/index.ts';
import { createTestService, type TestService } from '../support/service.ts';

// The texts use the language of the page.
vi.hoisted(() => Object.assign(globalThis, { document: { documentElement: { lang: 'en' } } }));

const RUNS = { numRuns: 500 };
/** Characters with a meaning in the grammar, and others. */
const value = fc.string({
  unit: fc.constantFrom('a', ':', '*', '-', '"', '\\', ' ', '\n', '\u202e', 'é'),
  minLength: 1,
});
const query = fc
  .dictionary(fc.constantFrom(...Object.keys(RowFilters)), fc.array(value, { minLength: 1, maxLength: 3 }))
  .map((one) => ({ ...one }));

describe('the grammar of filters', () => {
  it('parses what it writes, for every filter of the API and any value', () => {
    fc.assert(
      fc.property(query, (given) => {
        expect(parseFilter(filterText(given))).toEqual({ query: given, unknown: [] });
      }),
      RUNS,
    );
  });

  it('interprets each word of any text, as a filter or as unknown', () => {
    const text = fc.array(fc.oneof(value, fc.constantFrom('agent:', '-result:denied', 'since:x', '"')));
    fc.assert(
      fc.property(text, (parts) => {
        const { query: found, unknown } = parseFilter(parts.join(' '));
        expect(parseFilter(filterText(found))).toEqual({ query: found, unknown: [] });
        expect(parseFilter(unknown.join(' ')).query).toEqual({});
      }),
      RUNS,
    );
  });

  it('adds a filter once, in place of its opposite, and changes no other', () => {
    fc.assert(
      fc.property(query, value, fc.boolean(), (given, resource, exclude) => {
        const [name, opposite] = exclude ? ['not.resource', 'resource'] : ['resource', 'not.resource'];
        const once = withFilter(filterText(given), 'resource', resource, exclude);
        expect(withFilter(once, 'resource', resource, exclude)).toBe(once);
        const { query: found, unknown } = parseFilter(once);
        expect(unknown).toEqual([]);
        expect(found[name]).toContain(resource);
        expect(found[opposite] ?? []).not.toContain(resource);
        const { resource: _, 'not.resource': __, ...others } = found;
        const { resource: ___, 'not.resource': ____, ...before } = given as Record<string, string[]>;
        expect(others).toEqual(before);
      }),
      RUNS,
    );
  });
});

const constraints: fc.Arbitrary<NonNullable<Permission['constraints']>> = fc.record(
  {
    maxCallsPerHour: fc.nat({ max: 3 }),
    requireApproval: fc.constant(true),
    ipAllowlist: fc.uniqueArray(fc.constantFrom('10.0.0.0/8', '::1', '192.0.2.7'), { minLength: 1 }),
    allowedArgPatterns: fc.uniqueArray(fc.constantFrom('src/**', '*.md'), { minLength: 1 }),
    timeWindow: fc.record(
      {
        start: fc.constantFrom('00:00', '09:30'),
        end: fc.constantFrom('17:00', '23:59'),
        timeZone: fc.constantFrom('Europe/Berlin', 'UTC'),
        days: fc.uniqueArray(fc.constantFrom('mon', 'tue', 'sat', 'sun'), { minLength: 1 }),
      },
      { requiredKeys: ['start', 'end'] },
    ),
  },
  { requiredKeys: [] },
) as never;
const pattern = fc
  .array(fc.constantFrom('a', 'b', '*'), { minLength: 1, maxLength: 3 })
  .map((segments) => segments.join(':'));
const permission: fc.Arbitrary<Permission> = fc
  .record(
    {
      resource: pattern,
      actions: fc.uniqueArray(fc.constantFrom('read', 'write', '*'), { minLength: 1, maxLength: 2 }),
      constraints: fc.oneof(fc.constant({}), constraints),
    },
    { requiredKeys: ['resource', 'actions'] },
  )
  .map(({ constraints: of, ...rest }) => ({ ...rest, ...(of && Object.keys(of).length > 0 && { constraints: of }) }));

/** Enough resources and actions to distinguish all patterns of `a`, `b` and `*`. */
const RESOURCES = ['a', 'b', 'z'].flatMap((one) => [
  one,
  ...['a', 'b', 'z'].flatMap((two) => [
    `${one}:${two}`,
    ...['a', 'b', 'z'].flatMap((three) => [`${one}:${two}:${three}`, `${one}:${two}:${three}:z`]),
  ]),
]);
const QUESTIONS = RESOURCES.flatMap((resource) => ['read', 'write', 'other'].map((action) => ({ resource, action })));
const fits = ({ resource, actions }: Permission, ask: (typeof QUESTIONS)[number]): boolean =>
  patternMatches(resource, ask.resource) && (actions.includes('*') || actions.includes(ask.action));

describe('the draft of a permission', () => {
  it('converts back to the same permission, which the service accepts', () => {
    fc.assert(
      fc.property(fc.array(permission), (given) => {
        const again = given.map((one) => permissionOf(draftOf(one)));
        expect(Permissions.parse(again)).toEqual(
          given.map(({ constraints: of, ...one }) => {
            if (!of?.timeWindow?.days) return of ? { ...one, constraints: of } : one;
            const days = ['mon', 'tue', 'sat', 'sun'].filter((day) => of.timeWindow?.days?.includes(day));
            return { ...one, constraints: { ...of, timeWindow: { ...of.timeWindow, days } } };
          }),
        );
      }),
      RUNS,
    );
  });

  it('covers another one exactly if it allows every question that the other allows', () => {
    fc.assert(
      fc.property(permission, permission, (wide, narrow) => {
        const covered = covers(wide.resource, narrow.resource) && coversActions(wide.actions, narrow.actions);
        expect(covered).toBe(QUESTIONS.every((ask) => !fits(narrow, ask) || fits(wide, ask)));
      }),
      RUNS,
    );
  });

  it('is marked as without effect, or as covered, exactly if others allow all of it without conditions', () => {
    const isFree = ({ constraints: of }: Permission): boolean => of === undefined;
    fc.assert(
      fc.property(permission, fc.array(permission, { maxLength: 3 }), fc.boolean(), (one, some, split) => {
        // Several permissions may cover the actions together.
        const parts = split ? one.actions.map((action) => ({ resource: one.resource, actions: [action] })) : [];
        const others = [...parts.slice(some.length % 2), ...some];
        const drafts = [one, ...others].map(draftOf);
        const found = lint(drafts[0] as (typeof drafts)[number], drafts);
        const allowedAnyway = QUESTIONS.filter((ask) => fits(one, ask)).every((ask) =>
          others.some((other) => isFree(other) && covers(other.resource, one.resource) && fits(other, ask)),
        );
        expect(found.includes('voided')).toBe(!isFree(one) && allowedAnyway);
        if (isFree(one)) expect(found.includes('duplicate')).toBe(allowedAnyway);
        expect(found.includes('everything')).toBe(isFree(one) && QUESTIONS.every((ask) => fits(one, ask)));
        expect(found.includes('capZero')).toBe(one.constraints?.maxCallsPerHour === 0);
      }),
      RUNS,
    );
  });

  it('has marks that agree with real decisions', async () => {
    const t: TestService = await createTestService();
    const user = await t.user();
    const agent = await t.agent(user, { permissions: [] });
    const allows = async (permissions: readonly Permission[], ask: (typeof QUESTIONS)[number]): Promise<boolean> => {
      const body = { agentId: agent.id, ...ask, permissions, dryRun: true };
      const answer = await t.call('POST', '/authorize', { as: user, body });
      expect(answer.status, answer.text).toBe(200);
      return answer.body.allowed;
    };
    await fc.assert(
      fc.asyncProperty(
        permission,
        fc.array(permission, { maxLength: 3 }),
        fc.constantFrom(...QUESTIONS),
        async (one, others, ask) => {
          const drafts = [one, ...others].map(draftOf);
          const found = lint(drafts[0] as (typeof drafts)[number], drafts);
          if (found.includes('voided') && fits(one, ask)) expect(await allows([one, ...others], ask)).toBe(true);
          if (found.includes('everything')) expect(await allows([one], ask)).toBe(true);
          if (found.includes('capZero')) expect(await allows([one], ask)).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('the comparison of arguments', () => {
  it('has a different path for each value', () => {
    const name = fc.string({ unit: fc.constantFrom('a', '.', '[', '0', ']', '"'), maxLength: 3 });
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.constant(1),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(name, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (given) => {
        const paths = pathsOf(given).map(({ path }) => path);
        expect(new Set(paths).size).toBe(paths.length);
      }),
      { numRuns: 2000 },
    );
  });

  it('classifies every value of a call, and calls a value known only if an earlier call had it', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(json, fc.array(json, { maxLength: 4 }), (call, earlier) => {
        const compared = compareArguments(call, earlier);
        for (const { path, value: text } of pathsOf(call)) {
          const before = earlier.filter((one) => pathsOf(one).some((p) => p.path === path && p.value === text)).length;
          const said = compared.get(path);
          if (said?.kind === 'same') expect(before).toBeGreaterThan(0);
          else expect([said === undefined, before]).toEqual([false, 0]);
        }
      }),
      RUNS,
    );
  });
});
