import { approvalLink } from '../../authorization/approvals/index.ts';
import { isoTime } from '../../kernel/clock.ts';
import { visible } from '../../kernel/visible-text.ts';
import type { EventType } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';

/** Chat services whose incoming webhooks expect their own message format (contract 22.10). */
export const CHAT_FORMATS = ['slack', 'teams', 'discord'] as const;
export type ChatFormat = (typeof CHAT_FORMATS)[number];

/** The types of events that are sent to a chat. */
export const CHAT_TYPES = [
  'anomaly.detected',
  'approval.requested',
  'approval.resolved',
  'budget.exceeded',
] as const satisfies readonly EventType[];

export const isChatType = (type: string): boolean => (CHAT_TYPES as readonly string[]).includes(type);

/** Below the limits of all three services, even if each character is escaped. */
const MAX_NAME = 60;
const MAX_VALUE = 300;

/** An event of {@link CHAT_TYPES}, or a test message. */
interface Happening {
  readonly type: string;
  readonly timestamp: number;
  readonly agentName: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Message {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly link?: string;
  readonly at: number;
}

/** Returns the body of a message about an event. What agents and people have written is shown as plain text. */
export function chatBody(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  format: ChatFormat,
  happening: Happening,
): string {
  return JSON.stringify(BODIES[format](messageOf(platform, happening)));
}

function messageOf(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  { type, timestamp, agentName, data }: Happening,
): Message {
  const agent = shown(agentName, MAX_NAME);
  const facts = (labels: Readonly<Record<string, string>>): Message['facts'] =>
    Object.entries(labels)
      .filter(([, field]) => data[field] !== undefined && data[field] !== null)
      .map(([label, field]) => [label, shown(String(data[field]), MAX_VALUE)]);
  const CALL = { Action: 'action', Resource: 'resource', Agent: 'agentId' };
  switch (type) {
    case 'approval.requested':
      return {
        title: `${agent} waits for an approval`,
        facts: facts({ ...CALL, Expires: 'expiresAt' }),
        link: approvalLink(platform, String(data['approvalId'])),
        at: timestamp,
      };
    case 'approval.resolved':
      return {
        title: `A call of ${agent}: ${data['status']}`,
        facts: facts(CALL),
        link: approvalLink(platform, String(data['approvalId'])),
        at: timestamp,
      };
    case 'anomaly.detected':
      return {
        title: `Unusual behaviour of ${agent}`,
        facts: facts({
          Kind: 'kind',
          Severity: 'severity',
          Observed: 'observed',
          Expected: 'expected',
          Agent: 'agentId',
          Anomaly: 'anomalyId',
        }),
        at: timestamp,
      };
    case 'budget.exceeded':
      return {
        title: `${agent} exceeded its budget`,
        facts: facts({ Metric: 'metric', Limit: 'limit', Used: 'used', Window: 'window', Agent: 'agentId' }),
        at: timestamp,
      };
    default:
      return { title: 'Test message of Legate', facts: facts({ Webhook: 'webhookId' }), at: timestamp };
  }
}

function shown(text: string, max: number): string {
  const whole = [...visible(text)];
  return (whole.length > max ? `${whole.slice(0, max - 1).join('')}…` : whole.join('')) || '-';
}

const LINK = 'Open the approval';
const RED = 0xd1_3b_3b;

const BODIES: Readonly<Record<ChatFormat, (message: Message) => unknown>> = {
  // Block Kit. Only `text` and the link are mrkdwn, where &, < and > are special characters.
  slack: ({ title, facts, link }) => ({
    text: title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    unfurl_links: false,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title, emoji: false } },
      {
        type: 'section',
        fields: facts.map(([label, value]) => ({ type: 'plain_text', text: `${label}: ${value}`, emoji: false })),
      },
      ...(link === undefined ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${link}|${LINK}>` } }]),
    ],
  }),
  // An Adaptive Card, the format of Teams Workflows. Text runs, unlike text blocks, are not Markdown.
  teams: ({ title, facts, link }) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: title, size: 'Large', weight: 'Bolder' }] },
            ...facts.map(([label, value]) => ({
              type: 'RichTextBlock',
              inlines: [
                { type: 'TextRun', text: `${label}: `, weight: 'Bolder' },
                { type: 'TextRun', text: value },
              ],
            })),
          ],
          ...(link === undefined ? {} : { actions: [{ type: 'Action.OpenUrl', title: LINK, url: link }] }),
        },
      },
    ],
  }),
  discord: ({ title, facts, link, at }) => ({
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: withoutMarkdown(title),
        ...(link === undefined ? {} : { url: link, description: `[${LINK}](${link})` }),
        color: RED,
        timestamp: isoTime(at),
        fields: facts.map(([name, value]) => ({ name, value: withoutMarkdown(value), inline: true })),
      },
    ],
  }),
};

/** Escapes Markdown, mentions and addresses, which Discord would turn into links. */
const withoutMarkdown = (text: string): string => text.replace(/[\\`*_~|>#\-[\]()<:@]/g, '\\$&');
