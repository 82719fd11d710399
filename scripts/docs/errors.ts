import { CommonErrors, type ErrorDeclaration } from '../../src/kernel/errors.ts';
import { REFUSALS } from '../../src/kernel/refusals.ts';
import { modules } from '../../src/modules.ts';

const HEAD = `# Errors

<!-- Generated from the declarations (defineErrors) by \`npm run docs\`. -->

Every error of the JSON API is \`{"error": {"code", "message", "details"?}}\`. The code is stable; the message is for
people and may be more precise than the text below. \`details.issues\` of \`VALIDATION_FAILED\` names each field:
\`[{"path", "message"}]\`. An \`INTERNAL_ERROR\` contains the id under which the log has the cause. A refused decision
is not an error: \`POST /authorize\` answers 200 with \`"allowed": false\`.
`;

/** Renders docs/errors.md: every code, under the first module that declares it. */
export function renderErrors(): string {
  const seen = new Map<string, ErrorDeclaration>();
  const parts = [
    { name: 'Every endpoint', errors: CommonErrors },
    ...modules.map((m) => ({ name: m.name, errors: m.errors ?? {} })),
  ];
  const sections: string[] = [];
  for (const { name, errors } of parts) {
    const rows: string[] = [];
    for (const { code, status, message } of Object.values(errors) as ErrorDeclaration[]) {
      const known = seen.get(code);
      if (known && (known.status !== status || known.message !== message))
        throw new Error(`${code} is declared twice with different texts.`);
      if (known) continue;
      seen.set(code, { code, status, message });
      rows.push(`| \`${code}\` | ${status} | ${message} |`);
    }
    if (rows.length > 0)
      sections.push(`## ${name}\n\n| Code | Status | Message |\n|---|---|---|\n${rows.join('\n')}\n`);
  }
  return `${HEAD}\n${sections.join('\n')}\n${reasons()}`;
}

/** Renders the reasons that operators find in the log and callers do not receive. */
function reasons(): string {
  const rows = Object.entries(REFUSALS).map(([reason, sentence]) => `| \`${reason}\` | ${sentence} |`);
  return `## Reasons in the log

A refused credential, sign-in, grant or client is logged at \`info\` as \`refused\`, with \`requestId\`, \`code\`,
\`status\`, \`reason\` and, at the OAuth endpoints, \`clientId\`. The caller never gets the reason.

| Reason | Cause |
|---|---|
${rows.join('\n')}
`;
}
