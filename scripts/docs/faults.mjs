/** Returns docs/faults.md for the result of a run. */
export function renderFaults(result, date, cores) {
  const { violations, faults, scenarios, requests, failed, decisions, rows, longestSilenceMs, seed, minutes } = result;
  const { longestFailoverMs } = result;
  const table = (head, counts) =>
    [
      `| ${head} | Times |`,
      '|---|---|',
      ...Object.entries(counts)
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([name, count]) => `| ${name} | ${count} |`),
    ].join('\n');
  const number = (n) => n.toLocaleString('en-US');
  return `# Faults

<!-- Written by \`npm run test:faults\`. -->

\`npm run test:faults\` runs three instances on one PostgreSQL with a synchronous standby and one Redis. Clients send
decisions, revocations, permission edits, delegations, approvals, sign-ins and token requests to instances at random,
while faults happen at random: at any time at most one of an instance and one of the shared services. Afterwards a
checker (\`test/faults/check-history.ts\`) compares every request and answer with the ledger:

- no request that begins after the answer to a revocation is allowed;
- what was granted holds until its end begins;
- every answered decision is in the ledger exactly once, as answered, in the order of the answers;
- the sequence has no gap, and time never goes back along it;
- caps are exact, and what is valid once is used once at most;
- a failure is 503 or no answer.

\`-- --minutes 60\` sets the duration, \`-- --seed <number>\` repeats the random numbers of a run. \`npm test\`
includes a run of 2 minutes in which each fault happens at least once.

## The last run

${date.toISOString().slice(0, 10)}, ${minutes} minutes, seed ${seed}, ${cores} cores: **${number(
    violations.length,
  )} violations**.

| Figure | Value |
|---|---|
| Requests | ${number(requests)} |
| of these without an answer or with 503 | ${number(failed)} |
| Answered decisions | ${number(decisions)} |
| Rows of the ledger | ${number(rows)} |
| Longest time without an answered decision on any instance | ${(longestSilenceMs / 1000).toFixed(1)} s |${
    typeof longestFailoverMs !== 'number'
      ? ''
      : '\n| Longest time from the promotion of the standby to a decision | ' +
        `${(longestFailoverMs / 1000).toFixed(1)} s |`
  }

${table('Fault', faults)}

${table('Scenario of the clients', scenarios)}
`;
}
