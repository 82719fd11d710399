import { TOUR, type TourStep } from './steps.ts';

const PREPARATION = `BASE=\${BASE:-http://localhost:3000}
TOKEN=$(npx legate developer-token)   # valid for one hour; not an administrator's token
api() {
  curl --silent --show-error --header "authorization: Bearer $TOKEN" --header 'content-type: application/json' "$@"
  echo
}
field() { node -p "JSON.parse(process.argv[1]).$1" "$2"; }`;

/**
 * Quotes a text for the shell. Single quotes are closed around variables, which the shell does not expand inside them.
 */
const inQuotes = (text: string): string => `'${text.replace(/\$[A-Z_]+/g, (name) => `'"${name}"'`)}'`;

/** Renders one step as a line of shell. */
export function renderCommand(step: TourStep): string {
  const words = ['api'];
  if (step.method !== 'GET' && !(step.method === 'POST' && step.body)) words.push(`--request ${step.method}`);
  words.push(`"$BASE${step.path}"`);
  if (step.body) words.push(`--data ${inQuotes(JSON.stringify(step.body))}`);
  return (step.as === 'agent' ? 'TOKEN=$AGENT_TOKEN ' : '') + words.join(' ');
}

/** Renders the shell block of the README. Runs in bash and zsh, with curl and Node. */
export function renderTourMarkdown(): string {
  const steps = TOUR.map((step, i) => {
    const head = `# ${i + 1}. ${step.title}\n#    ${step.explanation}`;
    const command = renderCommand(step);
    if (!step.keep) return `${head}\n${command}`;
    const kept = Object.entries(step.keep).map(([name, path]) => `${name}=$(field ${path} "$ANSWER")`);
    return `${head}\nANSWER=$(${command}); echo "$ANSWER"\n${kept.join('\n')}`;
  });
  return `\`\`\`bash\n${PREPARATION}\n\n${steps.join('\n\n')}\n\`\`\`\n`;
}
