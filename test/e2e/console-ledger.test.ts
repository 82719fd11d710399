import { describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('the sealed ledger in the console', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });

  it('shows the effects of an erasure, erases a decision and then the person, and marks erased data', async () => {
    const { users, agents, audit } = service.legate;
    const password = 'correct horse battery';
    await users.create({ email: 'admin@example.com', password, role: 'admin' });
    const { id } = await users.create({ email: 'person@example.com', password, name: 'Ada' });
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const agent = await agents.create({ ownerId: id, name: 'reader', type: 'service', permissions });
    const headers = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ action: 'read', resource: 'db:x', arguments: { street: 'Rue des Lilas' } });
    for (let i = 0; i < 2; i++) await fetch(`${service.url}/authorize`, { method: 'POST', headers, body });
    const [first] = (await audit.query({ order: 'asc' })).entries;

    const { page, context, complaints } = await service.open({
      javaScriptEnabled: true,
      viewport: { width: 1440, height: 900 },
    });
    await page.goto(`${service.url}/console/audit/${first?.id}`);
    await page.fill('#email', 'admin@example.com');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    const dialog = page.getByRole('dialog');
    await page.getByText('Rue des Lilas').first().waitFor();
    await page.getByRole('button', { name: 'Erase', exact: true }).click();
    await dialog.getByText('of 1 decision will be erased').waitFor();
    await dialog.getByLabel('Reason (optional').fill('asked for it');
    await dialog.getByRole('button', { name: 'Erase', exact: true }).click();
    await page.getByText('of this decision were erased').waitFor();
    expect(await page.getByText('Rue des Lilas').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Erase', exact: true }).count()).toBe(0);
    expect(await page.locator('tbody').getByText('Erased').count()).toBe(1);

    await page.goto(`${service.url}/console/people/users/${id}`);
    await page.getByRole('button', { name: 'Erase person' }).click();
    await dialog.getByText('of 1 decision will be erased').waitFor();
    await dialog.getByText('reader').waitFor();
    await dialog.getByRole('button', { name: 'Erase person' }).click();
    await page.waitForURL('**/console/people/users');
    await expect(users.get(id)).rejects.toThrow();
    expect((await audit.query({})).entries.map(({ erased, parameters }) => [erased, parameters])).toEqual([
      [true, {}],
      [true, {}],
    ]);
    await page.goto(`${service.url}/console/audit`);
    await page.getByText('of 2 decisions on this page were erased').waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('verifies the proof of a decision in the page, and shows when it is invalid', async () => {
    const { users, agents, authorize, ledger } = service.legate;
    const password = 'correct horse battery';
    await users.create({ email: 'auditor@example.com', password, role: 'auditor' });
    const owner = await users.create({ email: 'owner@example.com', password });
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const agent = await agents.create({ ownerId: owner.id, name: 'reader', type: 'service', permissions });
    const { auditId } = await authorize({ agentId: agent.id, action: 'read', resource: 'db:x' });
    const [key] = (await ledger.keys()).keys;
    const { page, context, complaints } = await service.open({
      javaScriptEnabled: true,
      viewport: { width: 1280, height: 900 },
    });
    await page.goto(`${service.url}/console/audit/${auditId}`);
    await page.fill('#email', 'auditor@example.com');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    await page.getByRole('link', { name: 'Proof' }).click();
    await page.waitForURL(`**/console/audit/${auditId}/proof`);
    await page.getByText('the sealed ledger contains this decision unchanged').waitFor();
    expect(await page.getByText('Holds', { exact: true }).count()).toBe(4);
    await page.getByText(key as string, { exact: true }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the proof' }).click();
    expect((await download).suggestedFilename()).toBe(`${auditId}.tlog-proof`);

    const isProof = ({ pathname }: URL): boolean => pathname === `/audit/${auditId}/proof`;
    // Each lie of a server is shown at the claim that it contradicts.
    const other = await authorize({ agentId: agent.id, action: 'read', resource: 'db:other' });
    for (const [name, change, claim] of [
      ['entry', () => ledger.proof(other.auditId as string), 'about this decision'],
      ['leaf', async (text: string) => text.replace(/^extra .*$/m, await forged(text)), 'is row'],
      ['size', async (text: string) => text.replace(/^(localhost.*\n)(\d+)$/m, '$19$2'), 'The tree is signed'],
    ] as const) {
      await page.route(isProof, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, body: await change(await answer.text()) });
      });
      await page.goto(`${service.url}/console/audit/${auditId}/proof`);
      await page.getByText('The proof does not hold').waitFor();
      const refuted = page.getByRole('listitem').filter({ hasText: 'Does not hold' });
      expect([name, (await refuted.allTextContents()).some((text) => text.includes(claim))]).toEqual([name, true]);
      await page.unroute(isProof);
    }

    await page.goto(`${service.url}/console/system`);
    await page.getByRole('heading', { name: 'Sealed ledger' }).waitFor();
    await page.getByText(/rows of the ledger are sealed/).waitFor();
    await page.goto(`${service.url}/console/audit`);
    await page.getByText(/rows of the ledger are sealed/).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});

/** Returns the line of a proof that contains the entry, with another resource. */
async function forged(text: string): Promise<string> {
  const [, extra = ''] = /^extra (.*)$/m.exec(text) ?? [];
  const { leaf, ...others } = JSON.parse(Buffer.from(extra, 'base64').toString());
  const lie = JSON.stringify({ leaf: leaf.replace('db:x', 'db:y'), ...others });
  return `extra ${Buffer.from(lie).toString('base64')}`;
}
