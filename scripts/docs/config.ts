import { z } from 'zod';
import { configSection } from '../../src/config.ts';
import { type FlatOption, flatten } from '../../src/kernel/config.ts';

const HEAD = `# Configuration

<!-- Generated from src/config.ts by \`npm run docs\`. -->

Each option can be set by its environment name, by its key in \`legate.config.json\` (nested: \`{"http": {"port":
8080}}\`), or in code (\`createLegate({ http: { port: 8080 } })\`). Code takes precedence over the environment, the
environment over the file, the file over the default. An unknown name or an invalid value is an error at start that
names what to change. \`legate config\` prints the values in effect. The command line reads \`legate.config.json\` in
its working directory; an embedded service reads no file, and takes the content of one as \`file\`. \`LEGATE_TOKEN\`
and \`LEGATE_URL\` are names for clients: the service ignores them.

Lists are separated by commas in the environment and are arrays elsewhere. An option marked *secret* is masked wherever
it is printed, and can also be read from a file: \`<NAME>_FILE=/run/secrets/...\`. Setting both is an error.
`;

/** Describes the allowed values in words. */
function valueText({ option }: FlatOption): string {
  const schema = z.toJSONSchema(option.schema, { io: 'input', unrepresentable: 'any' }) as {
    type?: string;
    enum?: string[];
    minimum?: number;
    maximum?: number;
  };
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.type === 'array') return 'list';
  if (schema.type !== 'integer') return schema.type ?? 'string';
  const max = schema.maximum === undefined || schema.maximum >= Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  return max === undefined ? `integer >= ${schema.minimum ?? 0}` : `integer ${schema.minimum ?? 0}..${max}`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<');

/** Renders docs/config.md: every option, grouped by section. */
export function renderConfig(): string {
  const groups = new Map<string, FlatOption[]>();
  for (const flat of flatten(configSection)) {
    const group = flat.path.length > 1 ? (flat.path[0] as string) : 'general';
    groups.set(group, [...(groups.get(group) ?? []), flat]);
  }
  const sections = [...groups].map(([group, options]) => {
    const rows = options.map(
      (flat) =>
        `| \`${flat.path.join('.')}\` | \`${flat.env}\` | ${cell(valueText(flat))} | ` +
        `${cell(flat.option.fallbackText)} | ` +
        `${cell(flat.option.description)}${flat.option.secret ? ' *Secret.*' : ''} |`,
    );
    return (
      `## ${group}\n\n| Option | Environment | Value | Default | Meaning |\n|---|---|---|---|---|\n` +
      `${rows.join('\n')}\n`
    );
  });
  return `${HEAD}\n${sections.join('\n')}`;
}
