import type { GatewayTool } from '../../mcp/gateway/index.ts';

type Definition = Record<string, unknown>;

/** Makes control and invisible characters visible, because definitions come from servers. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, (char) => `\\u{${(char.codePointAt(0) as number).toString(16)}}`);

const shown = (value: unknown): string =>
  value === undefined ? '(none)' : visible(typeof value === 'string' ? value : JSON.stringify(value));

/**
 * Renders a tool with its differences from the approved definition or, if it is new, with all the text that a model
 * reads.
 */
export function renderTool({
  name,
  state,
  approved,
  seen,
}: Pick<GatewayTool, 'name' | 'state' | 'approved' | 'seen'>): string {
  const [before, now]: [Definition | undefined, Definition] = [approved?.tool, seen.tool];
  const members = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now)])].filter(
    (member) => member !== 'name' && JSON.stringify(before?.[member]) !== JSON.stringify(now[member]),
  );
  const lines = members.flatMap((member) => [
    `  ${visible(member)}`,
    ...(before ? [`    - ${shown(before[member])}`] : []),
    `    + ${shown(now[member])}`,
  ]);
  return [`${visible(name)} (${state})`, ...lines].join('\n');
}
