import { z } from 'zod';
import { Preview } from '../platform/preview-schema.ts';
import type { Route } from '../platform/route.ts';
import type { Platform } from '../platform.ts';

type Answer = Route<Platform>['responses'][number];

/** Descriptions of answers with these schemas, if their names do not say enough. */
const BY_NAME: Readonly<Record<string, string>> = {
  AgentKeys: 'the public keys of the agent',
  AgentWithToken: 'the agent, with its token, which is shown once',
  ApiTokenWithSecret: 'the API token, with its secret, which is shown once',
  AuthorizeDecision: 'the decision, which is recorded',
  ClientRegistration: 'the registration of the client',
  CodeSent: 'a code was sent, if the address belongs to an account',
  Done: 'carried out',
  Erasure: 'what was erased',
  Introspection: 'what is known of the token; `active` is false if it is not valid',
  NewInvite: 'the invitation, with its link',
  PasskeyRegistrationOptions: 'the options for adding a passkey',
  PasskeySignInOptions: 'the options for signing in with a passkey',
  RecoveredWebhook: 'how many messages are delivered again',
  Replay: 'the recorded decisions that differ under the draft',
  Revocation: 'the token is no longer valid, or never was',
  RevokedSessions: 'how many sessions were ended',
  SignedIn: 'signed in: the session, with its token, and its user',
  TotpEnabling: 'the secret of the second factor and its backup codes, which are shown once',
  TwoFactorRequired: 'the second factor is required',
  WebhookWithSecret: 'the webhook, with its secret, which is shown once',
};

const WITHOUT_CONTENT: Readonly<Record<string, string>> = {
  202: 'Accepted, without content.',
  303: 'For a browser: a redirect to the next page.',
  304: 'Not changed since the version in If-None-Match.',
};

/** Descriptions of answers, by the first words of the operation's summary. The first match is used. */
const BY_SUMMARY: readonly (readonly [RegExp, string])[] = [
  [/^(?:Get|Find|Export|Receive) an? /, 'The '],
  [/^(?:Get|List|Find|Export|Receive|Check that) /, ''],
  [/^Prove that /, 'A proof that '],
  [/^Count /, 'Counts of '],
  [/^Sum /, 'Sums of '],
  [/^Explain /, 'An explanation of '],
  [/^Describe /, 'A description of '],
  [/^Stream /, 'A stream of '],
];

/** Describes an answer without an error, based on the declaration of its route. */
export function textOfAnswer(route: Route<Platform>, status: string, answer: Answer, isPage: boolean): string {
  if (answer === null) return WITHOUT_CONTENT[status] ?? 'Carried out, without content.';
  if (route.method === 'GET') return ofSummary(route.summary, isPage);
  const schema = answer instanceof z.ZodType ? answer : answer?.json;
  if (!schema) return ofSummary(route.summary, false);
  const all = parts(schema);
  const texts = all.filter((each) => each !== Preview).map((each) => ofSchema(each, route.method, status));
  return sentence(
    [...(texts.length > 0 ? [texts.join('; or ')] : []), ...(all.includes(Preview) ? [PREVIEWED] : [])].join('; '),
  );
}

function ofSummary(summary: string, isPage: boolean): string {
  const [pattern, replacement] = BY_SUMMARY.find(([start]) => start.test(summary)) ?? [/^/, ''];
  const what = summary.replace(pattern, replacement);
  return sentence(isPage && !/^(the|what|who) /i.test(what) ? `a page of ${what}` : what);
}

const PREVIEWED = 'with `preview=true`, what the request would do';
const parts = (schema: z.ZodType): z.ZodType[] =>
  schema instanceof z.ZodUnion ? (schema.options as z.ZodType[]).flatMap(parts) : [schema];

function ofSchema(schema: z.ZodType, method: Route<Platform>['method'], status: string): string {
  const { id, description } = schema.meta() ?? {};
  if (id === undefined) return description?.replace(/\.$/, '') ?? 'the result';
  const known = BY_NAME[id];
  if (known !== undefined) return known;
  if (status === '201') return `the new ${words(id)}`;
  return `the ${words(id)}${method === 'PATCH' || method === 'PUT' ? ', as it is now' : ''}`;
}

const ACRONYMS: Readonly<Record<string, string>> = { Api: 'API', Mcp: 'MCP', Scim: 'SCIM', Authzen: 'AuthZEN' };

/** `McpServer` -> `MCP server`. */
const words = (id: string): string =>
  id
    .replace('AuthZen', 'Authzen')
    .split(/(?=[A-Z])/)
    .map((word) => ACRONYMS[word] ?? word.toLowerCase())
    .join(' ');

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/\.?$/, '.');
