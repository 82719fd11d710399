import { expect, it } from 'vitest';
import { renderSnippets } from './snippets.ts';

const notes = { name: 'notes', url: 'http://localhost:3000/gateway/notes/mcp' };
const issues = { name: 'issues', url: 'https://auth.example.com/gateway/issues/mcp' };

/** Returns the lines below a heading, without their indentation. */
const below = (text: string, heading: string): string[] => {
  const [, rest = ''] = text.split(`${heading}:\n`);
  const [lines = ''] = rest.split('\n\n');
  return lines.split('\n').map((line) => line.replace(/^ {2}/, ''));
};

it('each client gets the name and the address of each server in its own format', () => {
  const text = renderSnippets([notes, issues]);
  const command = (start: string, between = ' ') => [
    `${start} notes${between}${notes.url}`,
    `${start} issues${between}${issues.url}`,
  ];
  expect(below(text, 'Claude Code')).toEqual(command('claude mcp add --transport http'));
  expect(below(text, 'Codex')).toEqual(command('codex mcp add', ' --url '));
  expect(below(text, 'Gemini CLI')).toEqual(command('gemini mcp add --transport http'));
  expect(
    below(text, 'VS Code').map((line) => JSON.parse(/^code --add-mcp '([^']*)'$/.exec(line)?.[1] as string)),
  ).toEqual([
    { ...notes, type: 'http' },
    { ...issues, type: 'http' },
  ]);

  const [cursor, ...noMore] = below(text, 'Cursor, in ~/.cursor/mcp.json');
  expect(noMore).toEqual([]);
  expect(JSON.parse(cursor as string)).toEqual({
    mcpServers: { notes: { url: notes.url }, issues: { url: issues.url } },
  });
  const [desktop] = below(text, 'Claude Desktop, in claude_desktop_config.json');
  expect(JSON.parse(desktop as string)).toEqual({
    mcpServers: {
      notes: { command: 'npx', args: ['-y', 'mcp-remote', notes.url] },
      issues: { command: 'npx', args: ['-y', 'mcp-remote', issues.url] },
    },
  });
  expect(below(text, 'Any other client of servers over stdio')).toEqual([`npx -y mcp-remote ${notes.url}`]);
});
