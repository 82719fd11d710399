import { describe, expect, it } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';

async function waiting(args: Record<string, unknown> = { to: '<b>acme</b>', amount: 10, list: [1, { a: 2 }] }) {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, {
    permissions: [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }],
  });
  const ask = { action: 'pay', resource: 'bank:transfer', arguments: args };
  const { approvalId } = (await t.authorize(agent, ask)).body;
  return { t, owner, agent, ask, path: `/account/approvals/${approvalId}` };
}
const open = (t: TestService, path: string, as: TestUser, language = 'en') =>
  t.call('GET', path, { as, headers: { accept: 'text/html', 'accept-language': language } });
const decide = (
  t: TestService,
  path: string,
  as: { token: string } | undefined,
  decision: string,
  { headers = {}, note }: { headers?: Record<string, string>; note?: string } = {},
) =>
  t.call('POST', path, {
    ...(as ? { as } : {}),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    raw: new URLSearchParams({ decision, ...(note === undefined ? {} : { note }) }).toString(),
  });

describe('/account/approvals/:id', () => {
  it('shows the call with all its arguments, in both languages and without scripts', async () => {
    const { t, owner, agent, path } = await waiting();
    const english = await open(t, path, owner);
    expect(english.status).toBe(200);
    for (const text of [
      agent.id,
      'bank:transfer',
      'pay',
      '&lt;b&gt;acme&lt;/b&gt;',
      '10',
      '&quot;a&quot;: 2',
      'Approve',
    ])
      expect(english.text).toContain(text);
    expect(english.text).not.toContain('<script');
    expect(english.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await open(t, path, owner, 'de')).text).toContain('Freigeben');
  });

  it('shows each argument exactly: its type, line breaks, and characters that are invisible', async () => {
    const { t, owner, path } = await waiting({
      command: 'list\ndelete  all',
      amount: '10',
      'to\u202e': 'a\u202egpj.exe\u200b',
      tagged: ['x\u{e0041}'],
    });
    const { text } = await open(t, path, owner);
    for (const shown of ['list\\ndelete  all', '10', 'a\\u202egpj.exe\\u200b'])
      expect(text).toContain(`<code class="exact">&quot;${shown}&quot;</code>`);
    expect(text).toContain('x\\udb40\\udc41');
    expect(text).toContain('toU+202E');
    expect(text).toMatch(/\.exact\{white-space:pre-wrap/);
    expect(text).not.toMatch(/[\u202e\u200b\u{e0041}]/u);
  });

  it('shows the codes of invisible and reordering characters in action and resource', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const constraints = { requireApproval: true };
    const agent = await t.agent(owner, { permissions: [{ resource: '*', actions: ['*'], constraints }] });
    const ask = { action: 'read\u200b', resource: 'files:\u202egpj.terces:all\u3164' };
    const { approvalId } = (await t.authorize(agent, ask)).body;
    const { text } = await open(t, `/account/approvals/${approvalId}`, owner);
    for (const shown of ['readU+200B', 'files:U+202Egpj.terces:allU+3164']) expect(text).toContain(`<dd>${shown}</dd>`);
    expect(text).not.toMatch(/[\u200b\u202e\u3164]/);
  });

  it('approves: the identical call may be made once, and the page shows the outcome', async () => {
    const { t, owner, agent, ask, path } = await waiting();
    const done = await decide(t, path, owner, 'approve');
    expect([done.status, done.headers.get('location')]).toEqual([303, path]);
    expect((await open(t, path, owner)).text).toContain('This call is approved');
    expect((await t.authorize(agent, ask)).body.allowed).toBe(true);
    expect((await open(t, path, owner)).text).toContain('the agent has made it');
    const late = await decide(t, path, owner, 'deny');
    expect([late.status, late.text.includes('already decided')]).toEqual([409, true]);
  });

  it('takes a reason, which the page and the agent show; an empty one is none', async () => {
    const { t, owner, agent, path } = await waiting();
    const page = (await open(t, path, owner)).text;
    expect(page).toMatch(/<label for="note">Reason <span class="quiet">\(optional\)/);
    expect(page).toContain('maxlength="1000"');
    // Enter in the field decides nothing.
    expect(page.match(/<button[^>]*>/g)?.find((button) => !button.includes('plain'))).toContain('disabled');
    expect((await decide(t, path, owner, 'deny', { note: 'x'.repeat(1001) })).status).toBe(400);
    expect((await decide(t, path, owner, 'deny', { note: ' Ask <b>Sam</b> first. ' })).status).toBe(303);
    expect((await open(t, path, owner)).text).toContain('<dd>Ask &lt;b&gt;Sam&lt;/b&gt; first.</dd>');
    const id = path.split('/').at(-1);
    const approval = (await t.call('GET', `/approvals/${id}`, { as: agent })).body;
    expect(approval).toMatchObject({ status: 'denied', note: 'Ask <b>Sam</b> first.' });

    const second = await waiting();
    expect((await decide(second.t, second.path, second.owner, 'approve', { note: '  ' })).status).toBe(303);
    const unexplained = await second.t.call('GET', second.path.replace('/account', ''), { as: second.owner });
    expect(unexplained.body).toMatchObject({ status: 'approved', note: null });
  });

  it('denies, for admins too; 404 for others, 403 for agents and other sites, 400 for unknown decisions', async () => {
    const { t, owner, agent, ask, path } = await waiting();
    expect((await open(t, path, await t.user())).status).toBe(404);
    expect((await decide(t, path, await t.user(), 'approve')).status).toBe(404);
    expect((await decide(t, path, agent, 'approve')).status).toBe(403);
    expect((await decide(t, path, owner, 'approve', { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await decide(t, path, owner, 'whatever')).status).toBe(400);
    expect((await decide(t, path, { token: 'lgs_x' }, 'approve')).status).toBe(401);
    expect((await decide(t, path, await t.admin(), 'deny')).status).toBe(303);
    expect((await open(t, path, owner)).text).toContain('This call was denied');
    expect((await t.authorize(agent, ask)).body.allowed).toBe(false);
  });

  it('names the owner, and afterwards who decided and why; the button to deny comes first', async () => {
    const { t, owner, path } = await waiting();
    const admin = await t.admin();
    const nameOf = async (user: TestUser): Promise<string> =>
      (await t.call('GET', '/auth/session', { as: user })).body.user.name;
    const before = await open(t, path, admin);
    expect(before.text).toContain(`<dt>Owner</dt><dd>${await nameOf(owner)}</dd>`);
    expect([...before.text.matchAll(/value="(approve|deny)"/g)].map(([, value]) => value)).toEqual(['deny', 'approve']);
    const body = { note: 'Not <this> month\u202e' };
    await t.call('POST', `${path.replace('/account', '')}/deny`, { as: admin, body });
    const { text } = await open(t, path, owner);
    expect(text).toContain(`<dt>Decided by</dt><dd>${await nameOf(admin)}</dd>`);
    expect(text).toContain('<dt>Reason</dt><dd>Not &lt;this&gt; monthU+202E</dd>');
  });

  it('redirects a browser that is not signed in to the sign-in page and back', async () => {
    const { t, path } = await waiting();
    const posted = await decide(t, path, undefined, 'approve');
    expect([posted.status, posted.headers.get('location')]).toEqual([303, expect.stringContaining('/account/sign-in')]);
    const r = await t.call('GET', path, { headers: { accept: 'text/html' } });
    expect([r.status, r.headers.get('location')]).toEqual([
      303,
      expect.stringContaining(`returnTo=${encodeURIComponent(path)}`),
    ]);
  });
});
