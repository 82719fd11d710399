import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, PHONE } from '../support/chromium.ts';
import { pagesService } from '../support/pages-service.ts';

describe.skipIf(chromiumPath === undefined)('identity providers and workloads in the console', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  const password = 'correct horse battery';
  const email = 'admin@example.com';

  beforeAll(async () => void (await service.legate.users.create({ email, password, role: 'admin' })));

  /** Signs in and returns the headers for the API. */
  const signedIn = async () => {
    const response = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    const { token } = (await response.json()) as { token: string };
    return async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(service.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return answer.json();
    };
  };

  it('adds a provider, does not overwrite the change of another administrator, and stops trusting it', async () => {
    const send = await signedIn();
    const { page, context, complaints } = await service.open({ javaScriptEnabled: true, viewport: PHONE });
    await page.goto(`${service.url}/console/people/issuers`);
    await page.fill('#email', email);
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    const dialog = page.getByRole('dialog');
    await page.getByText('No identity provider is set up yet').waitFor();
    await page.getByText(`${service.url}/scim/v2`).waitFor();

    await page.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByLabel('Provider', { exact: true }).selectOption('Okta');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('okta');
    await dialog.getByLabel('Name').fill('company');
    await dialog.getByLabel('Address of the issuer').fill('https://login.company.example?x=1');
    await dialog.getByLabel('Workloads as agents').check();
    await dialog.getByLabel('Client ID').fill('legate');
    await dialog.getByLabel('Domains').fill('company.example, company.test');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByText('must not have a query').waitFor();
    await dialog.getByLabel('Address of the issuer').fill('https://login.company.example');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'company' }).click();
    await page.getByRole('heading', { level: 1, name: 'company' }).waitFor();
    await page.getByText(`${service.url}/auth/oidc/company/callback`).waitFor();
    const [issuer] = await send('GET', '/issuers');
    expect(issuer).toMatchObject({
      preset: 'okta',
      uses: ['signIn', 'workload'],
      domains: ['company.example', 'company.test'],
      clientId: 'legate',
    });

    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Access of applications').check();
    await dialog.getByLabel('Only this provider').check();
    await send('PATCH', `/issuers/${issuer.id}`, { clientId: 'another' });
    // The screen behind the dialog shows the provider.
    await page.locator('dd', { hasText: 'another' }).waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.notice.error').waitFor();
    expect(await send('GET', `/issuers/${issuer.id}`)).toMatchObject({ clientId: 'another', uses: issuer.uses });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.reload();
    await page.getByText('another').waitFor();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('Access of applications').check();
    await dialog.getByLabel('Only this provider').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Only this provider may let applications act for its people').waitFor();
    expect(await send('GET', `/issuers/${issuer.id}`)).toMatchObject({
      clientId: 'another',
      enterprise: { required: true },
    });

    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/console/people/issuers');
    await page.getByText('No identity provider is set up yet').waitFor();
    expect(complaints.filter((text) => !text.includes('412') && !text.includes('400'))).toEqual([]);
    await context.close();
  });

  it('lets an owner trust a workload, shows its problems, and ends the trust', async () => {
    const { users, agents } = service.legate;
    const { id: ownerId } = await users.create({ email: 'owner@example.com', password });
    const send = await signedIn();
    const issuer = 'https://ci.company.example';
    await send('POST', '/issuers', { name: 'ci', issuer, uses: ['workload'] });
    const agent = await agents.create({ ownerId, name: 'deployer', type: 'service' });
    const { page, context, complaints } = await service.open({ javaScriptEnabled: true });
    await page.goto(`${service.url}/console/agents/${agent.id}/workloads`);
    await page.fill('#email', 'owner@example.com');
    await page.fill('#password', password);
    await page.press('#password', 'Enter');
    const dialog = page.getByRole('dialog');
    await page.getByText('No workload may act as this agent').waitFor();
    await page.getByRole('button', { name: 'Trust a workload' }).click();
    await dialog.getByLabel('Address of the issuer').fill(issuer);
    await dialog.getByLabel('Subject').fill('*');
    await dialog.getByLabel('Further claims').fill('environment production');
    await dialog.getByRole('button', { name: 'Trust a workload' }).click();
    await dialog.getByText('Not saved. Please check: Further claims.').waitFor();
    await dialog.getByLabel('Further claims').fill('environment=production\n\nref = refs/heads/main');
    await dialog.getByRole('button', { name: 'Trust a workload' }).click();
    await dialog.locator('.notice.error').waitFor();
    await dialog.getByLabel('Subject').fill('repo:acme/shop:*');
    await dialog.getByRole('button', { name: 'Trust a workload' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('repo:acme/shop:*').waitFor();
    expect(await send('GET', `/agents/${agent.id}/trust`)).toMatchObject([
      { issuer, subject: 'repo:acme/shop:*', claims: { environment: 'production', ref: 'refs/heads/main' } },
    ]);
    await page.getByRole('button', { name: 'End trust' }).click();
    await dialog.getByRole('button', { name: 'End trust' }).click();
    await page.getByText('No workload may act as this agent').waitFor();
    expect(await send('GET', `/agents/${agent.id}/trust`)).toEqual([]);
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    await context.close();
  });
});
