/** One request of the tour. `$NAME` in a path or body stands for a value from an earlier answer. */
export interface TourStep {
  readonly title: string;
  /** Explains the answer. */
  readonly explanation: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The token that the step sends: the person's, or that of the agent created by the tour. */
  readonly as: 'person' | 'agent';
  /** Values to keep: name -> path in the JSON of the answer. */
  readonly keep?: Readonly<Record<string, string>>;
  readonly expect: { readonly status: number; readonly contains: readonly string[] };
}

const issues = 'mcp:github:list_issues';

/** The tour: the README's shell block, `legate tour` and a test are made from this one list. */
export const TOUR: readonly TourStep[] = [
  {
    title: 'Who am I?',
    explanation: 'The token identifies a person. Every agent belongs to a person.',
    method: 'GET',
    path: '/auth/session',
    as: 'person',
    keep: { OWNER: 'user.id' },
    expect: { status: 200, contains: ['"user":'] },
  },
  {
    title: 'Create an agent that may read from one MCP server, twice an hour',
    explanation: 'The answer contains the agent token, which is shown only once.',
    method: 'POST',
    path: '/agents',
    body: {
      ownerId: '$OWNER',
      name: 'reader',
      type: 'autonomous',
      permissions: [{ resource: 'mcp:github:*', actions: ['read'], constraints: { maxCallsPerHour: 2 } }],
    },
    as: 'person',
    keep: { AGENT: 'id', AGENT_TOKEN: 'token' },
    expect: { status: 201, contains: ['"id":"agt_', '"token":"lgt_', '"status":"active"'] },
  },
  {
    title: 'The agent asks: may I read issues?',
    explanation: 'Allowed. The decision was recorded durably before this answer; auditId is the id of its entry.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues, arguments: { repository: 'octocat/hello-world' } },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":true', '"auditId":"aud_'] },
  },
  {
    title: 'May I write there? And why not?',
    explanation: 'A refusal is a 200 with a reason. The trace lists each permission and why it did not match.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'write', resource: 'mcp:github:create_issue', explain: true },
    as: 'agent',
    expect: {
      status: 200,
      contains: ['"allowed":false', '"reason":"NO_PERMISSION"', '"outcome":"action-not-matched"'],
    },
  },
  {
    title: 'Read a second time',
    explanation: 'Allowed: the second of two calls in this clock hour. The refused call did not count.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":true'] },
  },
  {
    title: 'Read a third time',
    explanation: 'Refused: the cap is used up. The answer says when the next hour starts.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":false', '"reason":"RATE_LIMITED"', '"retryAfter":'] },
  },
  {
    title: 'Read all decisions in the audit log',
    explanation: 'Four decisions, four entries, newest first.',
    method: 'GET',
    path: '/audit?agentId=$AGENT',
    as: 'person',
    expect: {
      status: 200,
      contains: [
        '"result":"rate_limited"',
        '"result":"denied"',
        '"result":"allowed"',
        '"repository":"octocat/hello-world"',
      ],
    },
  },
  {
    title: 'Export it',
    explanation: 'Every entry that you may see, as CSV. json and ndjson work too.',
    method: 'GET',
    path: '/audit/export?format=csv',
    as: 'person',
    expect: { status: 200, contains: ['id,timestamp,agentId,', ',rate_limited,RATE_LIMITED,'] },
  },
  {
    title: 'Revoke the agent',
    explanation: 'Permanent, and effective from the next decision.',
    method: 'DELETE',
    path: '/agents/$AGENT',
    as: 'person',
    expect: { status: 204, contains: [] },
  },
  {
    title: 'Ask again',
    explanation: 'The token of a revoked agent no longer works: 401.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 401, contains: ['"code":"UNAUTHORIZED"'] },
  },
];
