/** One request of the tour. `$NAME` in a path or body stands for a value that an earlier answer gave. */
export interface TourStep {
  readonly title: string;
  /** What the answer shows. */
  readonly explanation: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Whose token is sent: the person's, or that of the agent that the tour makes. */
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
    explanation: 'The token proves a person. Agents belong to one.',
    method: 'GET',
    path: '/auth/session',
    as: 'person',
    keep: { OWNER: 'user.id' },
    expect: { status: 200, contains: ['"user":'] },
  },
  {
    title: 'Make an agent that may read from one MCP server, twice an hour',
    explanation: 'The answer has the agent token, which is shown only this once.',
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
    explanation: 'Allowed. The decision was recorded durably before it was answered: auditId names the entry.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues, arguments: { repository: 'octocat/hello-world' } },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":true', '"auditId":"aud_'] },
  },
  {
    title: 'May I write there? And why not?',
    explanation:
      'A refusal is an answer too: status 200, with a reason. The trace says what was looked at and what did not fit.',
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
    explanation: 'Allowed: the second of two calls in this clock hour. The refusal before took nothing.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":true'] },
  },
  {
    title: 'Read a third time',
    explanation: 'Too much: the cap holds, and the answer says when it starts anew.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 200, contains: ['"allowed":false', '"reason":"RATE_LIMITED"', '"retryAfter":'] },
  },
  {
    title: 'Read it all in the audit log',
    explanation: 'Four questions, four entries, newest first.',
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
    explanation: 'Every entry that you may see, as CSV; json and ndjson are there too.',
    method: 'GET',
    path: '/audit/export?format=csv',
    as: 'person',
    expect: { status: 200, contains: ['id,timestamp,agentId,', ',rate_limited,RATE_LIMITED,'] },
  },
  {
    title: 'Revoke the agent',
    explanation: 'For good, and from the very next decision on.',
    method: 'DELETE',
    path: '/agents/$AGENT',
    as: 'person',
    expect: { status: 204, contains: [] },
  },
  {
    title: 'Ask once more',
    explanation: 'The token of a revoked agent is no credential any more.',
    method: 'POST',
    path: '/authorize',
    body: { action: 'read', resource: issues },
    as: 'agent',
    expect: { status: 401, contains: ['"code":"UNAUTHORIZED"'] },
  },
];
