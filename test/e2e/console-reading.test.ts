import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { chromiumPath } from '../support/chromium.ts';
import { settled, WIDE } from '../support/console-scene.ts';
import { pagesService } from '../support/pages-service.ts';
import { untilPasses } from '../support/until.ts';

const LAPTOP = { width: 1024, height: 768 } as const;
const DOCUMENT = 'https://app.example/client.json';

describe.skipIf(chromiumPath === undefined)('what the console says about decisions, signals and costs', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let token = '';
  let owner = '';
  let agent = { id: '', token: '' };
  let reader = { id: '', token: '' };
  let delegation = '';

  // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
  const send = async (path: string, body: object, as = token): Promise<any> => {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    expect(response.status, `${path} ${JSON.stringify(answer)}`).toBeLessThan(300);
    return answer;
  };

  beforeAll(async () => {
    const account = { email: 'admin@example.com', password: 'correct horse battery' };
    const { users } = service.legate;
    await users.create({ ...account, name: 'Ada Admin', role: 'admin' });
    ({ id: owner } = await users.create({ ...account, email: 'o@example.com', name: 'Olaf Owner', role: 'user' }));
    ({ token } = await send('/sign-in', account));
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    agent = await send('/agents', { ownerId: owner, name: 'counter', type: 'service', permissions });
    reader = await send('/agents', { ownerId: owner, name: 'reader', type: 'service' });
    ({ id: delegation } = await send('/delegations', { fromAgent: agent.id, toAgent: reader.id, permissions }));
  });

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const { page, context } = await service.open({ javaScriptEnabled: true, viewport: WIDE, ...options });
    await context.addCookies([{ name: 'legate_session', value: token, domain: 'localhost', path: '/' }]);
    await page.goto(`${service.url}/console${path}`);
    await settled(page);
    return page;
  }
  const anomaly = async (kind: string, observed: number | string, expected: number | string): Promise<string> => {
    const id = newId('anomaly', Date.now());
    const found = { kind, severity: 'low', observed: JSON.stringify(observed), expected: JSON.stringify(expected) };
    await service.legate.platform.database.write
      .insertInto('anomalies')
      .values({ id, agent_id: agent.id, user_id: owner, ...found, evidence: '[]', detected_at: Date.now() } as never)
      .execute();
    return id;
  };

  it('shows the number from which a burst is reported, and does not call it usual', async () => {
    const burst = await anomaly('denial_burst', 20, 15);
    await anomaly('rate_spike', 60, 2.5);
    const page = await open('/signals/anomalies');
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.filter({ hasText: 'Many refusals' }).innerText()).toContain('20; reported at 15');
    expect(await rows.filter({ hasText: 'Unusually many calls' }).innerText()).toContain('60; usually 2.5');
    await page.goto(`${service.url}/console/signals/anomalies/${burst}`);
    await settled(page);
    expect(await page.locator('dl.facts').innerText()).toMatch(/Reported at\s+15/);
  });

  it('names the state of the agents that it lists, and copies the request of that list', async () => {
    const page = await open('/agents?status=revoked&expires=soon');
    expect(await page.getByLabel('State').inputValue()).toBe('active');
    await page.evaluate(() => {
      navigator.clipboard.writeText = async (text) => void Object.assign(window, { copied: text });
    });
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await expect
      .poll(() => page.evaluate(() => (window as { copied?: string }).copied))
      .toMatch(/status=active&expiresBefore=20/);
    await page.getByLabel('State').selectOption('revoked');
    await expect.poll(() => page.url()).toBe(`${service.url}/console/agents?status=revoked`);
    expect(await page.getByLabel('Expire within 7 days').isChecked()).toBe(false);
  });

  it('says what is wrong with a time in the address', async () => {
    const page = await open('/audit?since=yesterday');
    await page.getByText('yesterday to').waitFor();
    await page
      .getByText(/since: /)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Whole range' }).click();
    await expect.poll(() => page.url()).toBe(`${service.url}/console/audit`);
  });

  it('names the zone of the hours of an anomaly', async () => {
    const hour = await anomaly('unusual_hour', '03:00', '09:00, 11:00');
    const page = await open('/signals/anomalies', { timezoneId: 'Asia/Tokyo' });
    const row = page.locator('tbody tr').filter({ hasText: 'Unusual hour' });
    await expect.poll(() => row.innerText()).toContain('03:00 UTC; usually 09:00, 11:00 UTC');
    await page.goto(`${service.url}/console/signals/anomalies/${hour}`);
    await settled(page);
    expect(await page.locator('dl.facts').innerText()).toMatch(/Usual\s+09:00, 11:00 UTC/);
  });

  it('shows costs by the day of UTC, west of it too, and each number with its unit', async () => {
    await send('/costs', { agentId: agent.id, amount: 1.5, currency: 'EUR', tokens: 2000 });
    await send('/budgets', { agentId: agent.id, metric: 'cost', currency: 'EUR', limit: 100, window: 'month' });
    const page = await open('/signals/costs', { timezoneId: 'Pacific/Honolulu', locale: 'en-US' });
    const today = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format();
    expect(await page.locator('figure .axis').innerText()).toMatch(new RegExp(`Highest: 1.5\\s+${today}`));
    await page.locator('figure + details summary').click();
    expect(await page.locator('figure + details tbody td').first().innerText()).toBe(today);
    await expect.poll(() => page.getByText(/^About [\d.]+ EUR by the end of the period$/).count()).toBe(1);
    await page.getByRole('heading', { name: 'Costs by agent, all time' }).waitFor();
  });

  it('names the budget that refused a call', async () => {
    await send('/budgets', { agentId: agent.id, metric: 'tokens', limit: 1000, window: 'day', onExceed: 'deny' });
    await send('/costs', { agentId: agent.id, amount: 0, currency: 'EUR', tokens: 2000 });
    let auditId = '';
    await untilPasses(async () => {
      const answer = await send('/authorize', { action: 'read', resource: 'db:orders' }, agent.token);
      ({ auditId } = answer);
      expect(answer.reason).toBe('BUDGET_EXCEEDED');
    });
    const page = await open(`/audit/${auditId}`);
    await expect.poll(() => page.locator('.notice').innerText()).toMatch(/Refused by the limit\s+1,000 tokens per day/);
  });

  it('names who asked, the owner and the delegations of a decision, with links', async () => {
    const { auditId } = await send('/authorize', { agentId: reader.id, action: 'read', resource: 'db:orders' });
    const page = await open(`/audit/${auditId}`);
    const path = page.locator('ol.path');
    await expect.poll(() => path.innerText()).toContain('Asked by: User Ada Admin');
    expect(await path.getByRole('link', { name: 'Olaf Owner' }).getAttribute('href')).toBe(
      `/console/people/users/${owner}`,
    );
    await path.getByRole('link', { name: 'counter → reader' }).click();
    await page.getByRole('heading', { name: 'What counter passes to reader' }).waitFor();
    expect(page.url()).toContain(delegation);
  });

  it('does not say that there are no decisions yet if there are none in the period', async () => {
    const page = await open('');
    await page.route('**/dashboard/stats*', async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, topAgentsByCallCount: [] } });
    });
    await page.getByRole('combobox', { name: 'Period' }).selectOption('7d');
    await page.getByText('No decisions in this period.').waitFor();
    // The page asks again, perhaps while the service stops.
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('calls a reason by the same words in the table and among the most frequent values', async () => {
    await send('/authorize', { action: 'write', resource: 'db:orders' }, agent.token);
    const page = await open('/audit');
    await page.getByRole('button', { name: 'Only No permission' }).click();
    expect(new URL(page.url()).searchParams.get('q')).toContain('reason:NO_PERMISSION');
  });

  it('links the client of a grant only if it is registered', async () => {
    const now = Date.now();
    const grant = { user_id: owner, agent_id: agent.id, kind: 'authorization_code', scope: 'mcp:read' };
    const times = { created_at: now, last_used_at: now, expires_at: now + 1e9 };
    const id = newId('grant', now);
    await service.legate.platform.database.write
      .insertInto('oauth_grants')
      .values({ id, client_id: DOCUMENT, resource: service.url, ...grant, ...times } as never)
      .execute();
    const page = await open(`/connections/grants/${id}`);
    const facts = page.locator('dl.facts');
    expect(await facts.innerText()).toContain(DOCUMENT);
    expect(await facts.getByRole('link').allInnerTexts()).toEqual(['counter']);
  });

  it('shows how a client came to be known and when it was last used', async () => {
    const client = await send('/oauth/clients', { client_name: 'Desk', redirect_uris: ['http://127.0.0.1:8123/cb'] });
    const page = await open(`/connections/clients/${client.client_id}`);
    expect(await page.locator('dl.facts').innerText()).toMatch(/Registered by\s+an administrator/);
    expect(await page.locator('dl.facts').innerText()).toContain('Last use');
  });

  it('names what changed, also if it is not an agent', async () => {
    await send('/oauth/clients', { client_name: 'Planner', redirect_uris: ['http://127.0.0.1:8123/cb'] });
    await send('/tenants', { name: 'North' });
    await send('/invites', { email: 'new@example.com' });
    const page = await open('/changes');
    const line = (type: string) => page.locator('li > p').filter({ hasText: type }).first();
    await expect.poll(() => line('client.created').innerText()).toContain('Planner');
    expect(await line('tenant.created').innerText()).toContain('North');
    expect(await line('invite.created').innerText()).toContain('new@example.com');
  });

  it('filters changes by type, actor, subject and time, from the field and from a change', async () => {
    const { id: tenant } = await send('/tenants', { name: 'South' });
    const page = await open('/changes?q=type%3Atenant.created');
    const types = page.locator('li > p > code');
    await expect.poll(async () => new Set(await types.allInnerTexts())).toEqual(new Set(['tenant.created']));
    const south = page.locator('li').filter({ hasText: 'South' });
    await south.locator('summary').click();
    await south.getByRole('button', { name: 'Only South' }).click();
    await expect.poll(() => page.getByLabel('Filter').inputValue()).toBe(`type:tenant.created subject:${tenant}`);
    await expect.poll(() => types.count()).toBe(1);
    await page.getByLabel('Filter').fill(`actor:${owner} colour:red -type:agent.created`);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Nothing matches. Remove a filter to see more.').waitFor();
    expect(await page.locator('.notice').innerText()).toContain('colour:red -type:agent.created');
    await page.getByLabel('Filter').fill(`since:2020-01-01 until:2020-01-02`);
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('since:2020-01-01 until:2020-01-02');
    await page.getByText('Nothing matches. Remove a filter to see more.').waitFor();
  });

  it('breaks no number in a table, and shows all columns of the agents on a laptop', async () => {
    for (let n = 0; n < 12; n++) await send('/authorize', { action: 'write', resource: 'db:orders' }, agent.token);
    const page = await open('/agents', { viewport: LAPTOP, locale: 'de' });
    await page.getByRole('columnheader', { name: 'Läuft ab' }).waitFor();
    const row = page.locator('tbody tr').filter({ hasText: 'counter' });
    await expect.poll(() => row.locator('.trend').innerText()).toMatch(/^\d\d$/);
    expect((await row.locator('.trend').boundingBox())?.height).toBeLessThan(25);
    const { shown, whole } = await page
      .locator('.scroll')
      .first()
      .evaluate((box) => ({ shown: box.clientWidth, whole: box.scrollWidth }));
    expect(whole).toBe(shown);
  });

  it('puts the texts of a row on one line', async () => {
    const page = await open('/agents');
    const row = page.locator('tbody tr').filter({ hasText: 'counter' });
    const baselines = await row.locator('td > div').evaluateAll((cells) =>
      cells
        .filter((cell) => cell.textContent)
        .map((cell) => {
          // An empty box without height stands on the baseline of the last text of the cell.
          const mark = document.createElement('span');
          mark.style.display = 'inline-block';
          (cell.querySelector('.trend') ?? cell).append(mark);
          return Math.round(mark.getBoundingClientRect().bottom);
        }),
    );
    expect(new Set(baselines).size, String(baselines)).toBe(1);
  });
});
