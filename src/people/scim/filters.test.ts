import { beforeAll, describe, expect, it } from 'vitest';
import { scimClient } from '../../../test/support/scim.ts';
import type { Json, TestService } from '../../../test/support/service.ts';

const { service, created, listed, mark, scim, tenantToken } = scimClient();
let t: TestService;
beforeAll(() => {
  t = service();
});

const idsOf = async (filter: string, kind: string, as?: string): Promise<string[]> => {
  const r = as === undefined ? await listed(filter, kind) : await listed(filter, kind, as);
  if (!r.Resources) throw new Error(`${filter}: ${JSON.stringify(r)}`);
  return r.Resources.map(({ id }: Json) => id).sort();
};

/** Expects filters, each together with `word`, to find the named resources. */
async function expectFound(
  kind: string,
  word: string,
  of: Readonly<Record<string, Json>>,
  cases: readonly (readonly [filter: string, ...names: string[]])[],
): Promise<void> {
  for (const [filter, ...names] of cases) {
    const ids = names.map((name) => of[name]?.id).sort();
    expect([filter, await idsOf(`${word} and (${filter})`, kind)]).toEqual([filter, ids]);
  }
}

async function refused(kind: string, filters: readonly string[]): Promise<void> {
  for (const filter of filters) {
    const r = await scim('GET', `/${kind}?${new URLSearchParams({ filter })}`);
    expect([filter, r.status, r.body.scimType]).toEqual([filter, 400, 'invalidFilter']);
  }
}

const group = async (body: Json, as?: string): Promise<Json> =>
  (await scim('POST', '/Groups', body, {}, ...(as === undefined ? [] : [as]))).body;

describe('filters of lists', () => {
  it('[RFC 7644 3.4.2.2] every returned attribute of a user can be compared, except meta.version', async () => {
    const word = mark('filtered');
    const one = await created({ userName: `${word}-1@example.com` });
    t.clock.advance(1000);
    // Without an address.
    const two = await created({ userName: `${word}-2` });
    const staff = await group({ displayName: `${word} Staff`, members: [{ value: one.id }, { value: two.id }] });
    const board = await group({ displayName: `${word} Board`, members: [{ value: one.id }] });
    const { created: at, location, version } = one.meta;
    const later = two.meta.created;
    const urn = 'urn:ietf:params:scim:schemas:core:2.0:User';
    await expectFound('Users', `userName sw "${word}"`, { one, two }, [
      ['emails.primary eq true', 'one'],
      ['emails.primary ne true'],
      ['emails[primary eq true]', 'one'],
      ['emails[primary eq false]'],
      ['emails[primary eq true and type eq "home"]'],
      [`${urn}:EMAILS[Primary eq True and Type eq "WORK"]`, 'one'],
      ['emails.type ne "work"'],
      ['emails.type ne "home"', 'one'],
      ['emails eq null', 'two'],
      ['emails ne null', 'one'],
      [`emails co "${word}"`, 'one'],
      ['not (emails.type eq "work")', 'two'],
      [`groups.value eq "${staff.id}"`, 'one', 'two'],
      [`groups eq "${board.id}"`, 'one'],
      [`groups.value ne "${staff.id}"`, 'one'],
      [`groups.display co "BOARD"`, 'one'],
      [`groups.display sw "${word}"`, 'one', 'two'],
      ['groups.type eq "direct"', 'one', 'two'],
      ['groups.type eq "indirect"'],
      [`groups[value eq "${staff.id}" and display co "Board"]`],
      [`groups[value eq "${board.id}" and display co "Board"]`, 'one'],
      [`not (groups[value eq "${board.id}"])`, 'two'],
      ['groups eq null'],
      ['meta.resourceType eq "User"', 'one', 'two'],
      ['meta.resourceType eq "user"'],
      ['meta.resourceType co "ser"', 'one', 'two'],
      ['meta[resourceType ne "User"]'],
      [`meta.created eq "${at}"`, 'one'],
      [`meta.created ne "${at}"`, 'two'],
      [`meta.lastModified eq "${later.replace('Z', '+00:00')}"`, 'two'],
      [`META.LOCATION eq "${location}"`, 'one'],
      [`meta.location co "${two.id}"`, 'two'],
      [`meta.location sw "${t.legate.baseUrl}/scim/v2/Users/"`, 'one', 'two'],
      [`schemas eq "${urn}"`, 'one', 'two'],
      [`schemas co "Group"`],
    ]);
    await refused('Users', [
      `meta.version eq "${version.replaceAll('"', '\\"')}"`,
      `meta.created sw "2"`,
      'meta.created eq "yesterday"',
      'meta.created eq 5',
      'emails.primary eq "true"',
      'emails.primary co "t"',
      'emails.noSuch eq "x"',
      'emails.value.x eq "x"',
      'emails[emails.value eq "x"]',
      'emails[emails[value eq "x"]]',
      'emails[type eq "work"].noSuch eq "x"',
      'emails[type eq "work"].value',
      'emails[type eq "work"]. value eq "x"',
      'userName .value eq "x"',
      '.value eq "x"',
      'emailsx eq "x"',
      'userName.value eq "x"',
      'userName[value eq "x"]',
      'members.value eq "x"',
      'name eq "x"',
      'constructor eq "x"',
    ]);
  });

  it('[RFC 7644 3.4.2.2] every returned attribute of a group can be compared, except meta.version', async () => {
    const word = mark('Team');
    const [ada, bob] = [await created({ displayName: 'Ada L' }), await created()];
    const both = await group({ displayName: `${word} both`, members: [{ value: ada.id }, { value: bob.id }] });
    const single = await group({ displayName: `${word} single`, members: [{ value: ada.id }] });
    const empty = await group({ displayName: `${word} empty` });
    await expectFound('Groups', `displayName sw "${word}"`, { both, single, empty }, [
      [`members.value eq "${ada.id}"`, 'both', 'single'],
      [`members eq "${bob.id}"`, 'both'],
      // One of the members is another one.
      [`members.value ne "${ada.id}"`, 'both'],
      [`not (members.value eq "${ada.id}")`, 'empty'],
      [`members.value co "${bob.id.slice(5)}"`, 'both'],
      [`members.value sw "${bob.id.slice(0, -1)}"`, 'both'],
      ['members.value sw "usr_"', 'both', 'single'],
      [`members.value eq "${ada.id.toUpperCase()}"`],
      ['members.display eq "ada l"', 'both', 'single'],
      ['members.display co "L"', 'both', 'single'],
      ['members.display ne "Ada L"', 'both'],
      ['members.display eq null', 'empty'],
      ['members eq null', 'empty'],
      ['members ne null', 'both', 'single'],
      ['members.type eq "User"', 'both', 'single'],
      ['members.type ne "User"'],
      [`members[value eq "${bob.id}" and display sw "Ada"]`],
      [`members[value eq "${ada.id}" and display sw "Ada"]`, 'both', 'single'],
      [`members[display eq null]`, 'both'],
      ['meta.resourceType eq "Group"', 'both', 'single', 'empty'],
      [`meta.location eq "${single.meta.location}"`, 'single'],
      [`meta.lastModified ne "${both.meta.lastModified}"`],
      ['schemas eq "urn:ietf:params:scim:schemas:core:2.0:Group"', 'both', 'single', 'empty'],
    ]);
    await refused('Groups', ['meta.version eq "x"', 'members.foo eq "x"', 'members.value eq 5', 'emails eq "x"']);
  });

  it('[RFC 7643 2.2] case is ignored in all letters of userName, emails and names of groups', async () => {
    const word = mark('Ünal');
    const one = await created({ userName: `${word}@Bücher.example` });
    const two = await created({ userName: `${word}-two`, emails: [{ value: `Ö${word}@example.com` }] });
    const taken = await scim('POST', '/Users', { userName: `${word.toLowerCase()}@bücher.example` });
    expect([taken.status, taken.body.scimType]).toEqual([409, 'uniqueness']);
    const members = [{ value: one.id }];
    const team = await group({ displayName: `${word} Größe`, members });
    const same = await scim('POST', '/Groups', { displayName: `${word.toUpperCase()} GRÖßE` });
    expect([same.status, same.body.scimType]).toEqual([409, 'uniqueness']);
    for (const spelling of [word, word.toLowerCase(), word.toUpperCase()])
      await expectFound('Users', `userName sw "${spelling}"`, { one, two }, [
        [`userName eq "${spelling}@bÜcher.example"`, 'one'],
        [`userName eq "${spelling}@xn--bcher-kva.example"`, 'one'],
        [`userName ne "${spelling}@bÜcher.example"`, 'two'],
        [`not (userName eq "${spelling}@bücher.EXAMPLE")`, 'two'],
        [`userName co "${spelling.slice(0, 3)}"`, 'one', 'two'],
        [`userName co "@BÜCH"`, 'one'],
        [`userName co "@büch"`, 'one'],
        [`userName sw "${spelling}@B"`, 'one'],
        ['userName sw "nal"'],
        [`emails.value eq "ö${spelling}@example.com"`, 'two'],
        [`emails eq "Ö${spelling}@EXAMPLE.com"`, 'two'],
        [`emails.value ne "ö${spelling}@example.com"`, 'one'],
        [`emails[value sw "ö${spelling}"]`, 'two'],
        [`emails.value co "${spelling}"`, 'one', 'two'],
        [`groups.display eq "${spelling} gröSSe"`],
        [`groups.display eq "${spelling} GRÖßE"`, 'one'],
        [`groups.display co "GRÖ"`, 'one'],
        [`groups.display sw "${spelling}"`, 'one'],
      ]);
    for (const spelling of [word, word.toLowerCase(), word.toUpperCase()])
      await expectFound('Groups', `displayName co "${spelling}"`, { team }, [
        [`displayName eq "${spelling} GRÖßE"`, 'team'],
        [`displayName ne "${spelling} grÖße"`],
        [`displayName sw "${spelling} grÖ"`, 'team'],
        [`displayName co " GRÖ"`, 'team'],
        [`displayName co "  GRÖ"`],
      ]);
  });

  it('co and sw also find a text as it was written, where its key differs', async () => {
    const word = mark('puny');
    const one = await created({ userName: `${word}@xn--bcher-kva.example` });
    // Full-width letters.
    const two = await created({ userName: `ｗｉｄｅ${word}` });
    const greek = await group({ displayName: `${word} ΟΔΟΣ ΑΘΗΝΑΣ` });
    await expectFound('Users', `userName co "${word}"`, { one, two }, [
      [`userName sw "${word}@XN--B"`, 'one'],
      ['userName co "@xn--bcher"', 'one'],
      ['userName co "BÜCHER"', 'one'],
      ['userName sw "ｗｉｄｅ"', 'two'],
      ['userName sw "WIDE"', 'two'],
    ]);
    await expectFound('Groups', `displayName sw "${word}"`, { greek }, [
      ['displayName co "ΟΔΟΣ"', 'greek'],
      ['displayName co "οδος αθη"', 'greek'],
    ]);
  });

  it('filters find nothing by groups and members outside the tenant of a token', async () => {
    const { as } = await tenantToken();
    const [stays, moves] = [await created({}, as), await created({ displayName: 'Hidden name' }, as)];
    const members = [{ value: stays.id }, { value: moves.id }];
    const team = await group({ displayName: mark('Team'), members }, as);
    // A group of the whole service, which the token does not see.
    const outer = await group({ displayName: mark('Outer'), members: [{ value: stays.id }] });
    expect(await idsOf('members.display eq "Hidden name"', 'Groups', as)).toEqual([team.id]);
    expect(await idsOf(`groups.value eq "${team.id}"`, 'Users', as)).toEqual([stays.id, moves.id].sort());
    const tenantId = await t.tenant();
    await t.call('PATCH', `/users/${moves.id}`, { as: await t.admin(), body: { tenantId } });
    for (const filter of ['members.display eq "Hidden name"', `members.value eq "${moves.id}"`])
      expect([filter, await idsOf(filter, 'Groups', as)]).toEqual([filter, []]);
    expect(await idsOf(`groups.value eq "${team.id}"`, 'Users', as)).toEqual([stays.id]);
    expect(await idsOf(`groups.value eq "${outer.id}"`, 'Users', as)).toEqual([]);
    expect(await idsOf(`groups.value eq "${outer.id}"`, 'Users')).toEqual([stays.id]);
  });

  it('SQL in values of members and groups is text', async () => {
    for (const text of [`' or '1'='1`, `'); drop table users; --`, '%', '__'])
      for (const [kind, paths] of [
        ['Users', ['groups.value', 'groups.display', 'meta.location', 'meta.resourceType']],
        ['Groups', ['members.value', 'members.display', 'members.type']],
      ] as const)
        for (const path of paths)
          for (const op of ['eq', 'co', 'sw'])
            expect([path, op, text, await idsOf(`${path} ${op} "${text}"`, kind)]).toEqual([path, op, text, []]);
  });
});
