import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { CHAT_TYPES, type ChatFormat } from './chat.ts';
import { dispatcherOf } from './dispatcher.ts';

const text = (max: number) => z.string().min(1).max(max);
const plain = (max: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: text(max), emoji: z.literal(false) });

/** The schema of Block Kit with its limits (docs.slack.dev/reference/block-kit). */
const Slack = z.strictObject({
  text: text(4000),
  unfurl_links: z.literal(false),
  blocks: z
    .array(
      z.union([
        z.strictObject({ type: z.literal('header'), text: plain(150) }),
        z.strictObject({ type: z.literal('section'), fields: z.array(plain(2000)).min(1).max(10) }),
        z.strictObject({
          type: z.literal('section'),
          text: z.strictObject({
            type: z.literal('mrkdwn'),
            text: z.string().regex(/^<https?:[^|<>]+\|Open the approval>$/),
          }),
        }),
      ]),
    )
    .min(2)
    .max(50),
});

const TextRun = z.strictObject({
  type: z.literal('TextRun'),
  text: text(2000),
  size: z.literal('Large').optional(),
  weight: z.literal('Bolder').optional(),
});

/** The schema of a message with one Adaptive Card 1.4 (adaptivecards.io/explorer). */
const Teams = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: z.strictObject({
          $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
          type: z.literal('AdaptiveCard'),
          version: z.literal('1.4'),
          body: z.array(z.strictObject({ type: z.literal('RichTextBlock'), inlines: z.array(TextRun).min(1) })).min(2),
          actions: z
            .array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: text(100), url: z.url() }))
            .optional(),
        }),
      }),
    )
    .length(1),
});

/** The schema of Execute Webhook with the limits of embeds (discord.com/developers/docs/resources/message). */
const Discord = z.strictObject({
  allowed_mentions: z.strictObject({ parse: z.array(z.never()).length(0) }),
  embeds: z
    .array(
      z.strictObject({
        title: text(256),
        url: z.url().optional(),
        description: text(4096).optional(),
        color: z.int().min(0).max(0xff_ff_ff),
        timestamp: z.iso.datetime(),
        fields: z
          .array(z.strictObject({ name: text(256), value: text(1024), inline: z.literal(true) }))
          .min(1)
          .max(25),
      }),
    )
    .length(1),
});

const SHAPES = { slack: Slack, teams: Teams, discord: Discord };
/** A text that mentions everybody, contains links and changes the direction of text. */
const NAME = `<!channel> @everyone **b** [x](https://evil.example) \u202e${'n'.repeat(90)}`;
const RESOURCE = `bank:<!here>*${'_'.repeat(200)}`;

let t: TestService;
let owner: TestUser;
let receiver: Server;
let base: string;
const received: { path: string; type: string | undefined; body: string }[] = [];
const hooks = new Map<ChatFormat, Json>();
let approvalIds: string[] = [];

const deliverAll = (): Promise<void> => dispatcherOf(t.legate.platform).runUntilIdle();
const post = async (path: string, body: Json, status = 201): Promise<Json> => {
  const r = await t.call('POST', path, { as: owner, body });
  expect(r.status, r.text).toBe(status);
  return r.body;
};
/** Returns the messages that a webhook received, by the type of their events. */
const messagesOf = async (format: ChatFormat): Promise<Map<string, Json>> => {
  const { id } = hooks.get(format);
  const rows = (await t.call('GET', `/webhooks/${id}/deliveries`, { as: owner })).body as Json[];
  expect(rows.every((row) => row.status === 'delivered')).toBe(true);
  const got = new Map<string, Json>();
  for (const row of rows) {
    const { payload } = (await t.call('GET', `/webhooks/deliveries/${row.id}`, { as: owner })).body;
    const sent = received.filter((r) => r.path === `/${format}` && r.body === payload);
    expect(sent.map((r) => r.type)).toEqual(['application/json']);
    got.set(row.type, JSON.parse(payload));
  }
  return got;
};

beforeAll(async () => {
  receiver = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ path: req.url ?? '', type: req.headers['content-type'], body });
      res.writeHead(200).end('ok');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  t = await createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } });
  owner = await t.user();
  for (const format of ['slack', 'teams', 'discord'] as const)
    hooks.set(format, await post('/webhooks', { url: `${base}/${format}`, format }));

  const permissions = [{ resource: 'bank:*', actions: ['pay'], constraints: { requireApproval: true } }];
  const agent = await t.agent(owner, { name: NAME, permissions });
  const ask = async (): Promise<string> =>
    (await t.authorize(agent, { action: 'pay', resource: RESOURCE })).body.approvalId;
  const denied = await ask();
  await post(`/approvals/${denied}/deny`, {}, 200);
  approvalIds = [denied];
  await post('/budgets', {
    agentId: agent.id,
    metric: 'cost',
    currency: 'USD',
    limit: 1,
    window: 'hour',
    onExceed: 'deny',
  });
  await post('/costs', { agentId: agent.id, amount: 2, currency: 'USD' });
  await Promise.all(Array.from({ length: 20 }, () => t.authorize(agent, { action: 'read', resource: 'no' })));
  await t.call('GET', `/anomalies?agentId=${agent.id}`, { as: owner });
  await deliverAll();
});
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});

describe.each(['slack', 'teams', 'discord'] as const)('format: %s', (format) => {
  it('sends only anomalies, approvals and budgets, in the format of the chat service', async () => {
    const messages = await messagesOf(format);
    expect([...messages.keys()].sort()).toEqual([...CHAT_TYPES].sort());
    for (const [type, message] of messages)
      expect(SHAPES[format].safeParse(message).error?.issues, type).toBeUndefined();
  });

  it('links to the page of the approval; text of agents cannot mention, link or hide', async () => {
    const messages = await messagesOf(format);
    const link = `${t.legate.platform.baseUrl}/account/approvals/${approvalIds[0]}`;
    for (const type of ['approval.requested', 'approval.resolved']) {
      const message = JSON.stringify(messages.get(type));
      expect(message).toContain(link);
      expect(message).toContain('pay');
      expect(message).not.toContain('\u202e');
      expect(message).toContain('U+202E');
    }
    expect(JSON.stringify(messages.get('approval.resolved'))).toContain('denied');
    const budget = messages.get('budget.exceeded');
    const anomaly = JSON.stringify(messages.get('anomaly.detected'));
    expect(anomaly.replaceAll('\\', '')).toContain('denial_burst');
    if (format === 'slack') {
      expect(budget.text).toMatch(/^&lt;!channel&gt; @everyone .*… exceeded its budget$/);
      expect(budget.blocks[1].fields.map((f: Json) => f.text).slice(0, 3)).toEqual([
        'Metric: cost',
        'Limit: 1',
        'Used: 2',
      ]);
    } else if (format === 'discord') {
      expect(budget.embeds[0].title).toMatch(
        /^\\<!channel\\> \\@everyone \\\*\\\*b\\\*\\\* \\\[x\\\]\\\(https\\:\/\/evil/,
      );
    } else {
      const blocks = budget.attachments[0].content.body as Json[];
      expect(blocks.flatMap((b) => b.inlines).every((run: Json) => run.type === 'TextRun')).toBe(true);
    }
  });

  it('POST /webhooks/:id/test sends a message of the same form', async () => {
    const { id } = hooks.get(format);
    const delivery = await post(`/webhooks/${id}/test`, {}, 200);
    expect(delivery).toMatchObject({ type: 'webhook.test', status: 'delivered' });
    const { payload } = (await t.call('GET', `/webhooks/deliveries/${delivery.id}`, { as: owner })).body;
    expect(SHAPES[format].safeParse(JSON.parse(payload)).error?.issues).toBeUndefined();
    expect(payload.replaceAll('\\', '')).toContain(id);
  });
});

it('is shown, cannot be changed, and refuses unknown values, and event types without a message', async () => {
  const slack = hooks.get('slack');
  expect(slack.format).toBe('slack');
  const url = `${base}/other`;
  expect((await post('/webhooks', { url })).format).toBeNull();
  expect((await post('/webhooks', { url, format: 'irc' }, 400)).error.details.issues[0].path).toBe('format');
  const refused = await post('/webhooks', { url, format: 'teams', types: ['budget.exceeded', 'audit'] }, 422);
  expect(refused.error).toMatchObject({ code: 'WEBHOOK_TYPES_UNSUPPORTED', details: { types: ['audit'] } });
  const patch = (body: Json) => t.call('PATCH', `/webhooks/${slack.id}`, { as: owner, body });
  expect((await patch({ types: ['agent.created'] })).body.error.code).toBe('WEBHOOK_TYPES_UNSUPPORTED');
  expect((await patch({ format: 'teams' })).status).toBe(400);
  const narrowed = await patch({ types: ['anomaly.detected'] });
  expect([narrowed.status, narrowed.body.types]).toEqual([200, ['anomaly.detected']]);
  const stranger = await t.user();
  expect((await t.call('GET', `/webhooks/${slack.id}`, { as: stranger })).status).toBe(404);
});
