import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { mountRoutes } from '../../src/http/app.ts';
import { describedRoutes, schemasOf } from '../../src/http/openapi.ts';
import { isPaged } from '../../src/http/openapi-answers.ts';
import { Components, type Json } from '../../src/http/openapi-components.ts';
import { modules } from '../../src/modules.ts';
import { Preview } from '../../src/platform/preview-schema.ts';
import { answerOf, kindOf, type Operation, operationsOf } from './client-names.ts';

const HEAD = '// Generated from the declarations of the routes by `npm run docs`.\n';

const described = describedRoutes(mountRoutes(modules, readConfig({}).values));
export const operations = operationsOf(described);

interface Group {
  [name: string]: Operation | Group;
}
const isOperation = (entry: Operation | Group): entry is Operation => Array.isArray((entry as Operation).names);

function tree(): Group {
  const root: Group = {};
  for (const operation of operations)
    for (const name of operation.names) {
      const chain = name.split('.');
      const verb = chain.pop() as string;
      let at = root;
      for (const part of chain) at = (at[part] ??= {}) as Group;
      at[verb] = operation;
    }
  return root;
}

/** Renders src/client/endpoints.ts, the table that drives the client. */
export function renderClientTable(): string {
  const lines = (group: Group, indent: string): string =>
    Object.entries(group)
      .map(([name, entry]) =>
        isOperation(entry)
          ? `${indent}${name}: '${kindOf(entry)} ${entry.path}',\n`
          : `${indent}${name}: {\n${lines(entry, `${indent}  `)}${indent}},\n`,
      )
      .join('');
  return `${HEAD}
export interface EndpointTable {
  readonly [name: string]: string | EndpointTable;
}

/**
 * Every operation of the API by its name in the client. LIST is a GET with pages; the answer of RAW is not read; FORM
 * is a POST of a form. \`~/\` is below \`http.basePath\`, \`^/\` at the root of the domain.
 */
export const ENDPOINTS: EndpointTable = {
${lines(tree(), '  ')}};
`;
}

/** Renders src/client/types.ts: the types of requests and responses, and of the client's functions. */
export function renderClientTypes(): string {
  const components = new Components([[Preview, 'output'], ...described.flatMap(({ route }) => schemasOf(route))]);
  const all = components.all();
  const requested = namesIn(
    all,
    described.flatMap(({ route }) => [route.query, route.body].flatMap((s) => (s ? [components.of(s, 'input')] : []))),
  );
  const types = Object.entries(all).map(([name, schema]) => {
    const open = !requested.has(name);
    const text = typeOf(schema, open, '');
    const doc = docOf(schema['description'], '');
    return text.startsWith('{') && !text.includes('\n} ')
      ? `${doc}export interface ${name} ${text}\n`
      : `${doc}export type ${name} = ${text};\n`;
  });
  const stream = described.find(({ route }) => route.path === '/events/stream');
  const query = stream?.route.query ? typeOf(components.of(stream.route.query, 'input'), false, '') : '{}';
  return `${HEAD}import type { List } from './list.ts';
import type { RequestOptions } from './request-options.ts';

/** A text of which some values are known; newer services may send others. */
type Open<T extends string> = T | (string & {});

${types.join('\n')}
/** Filters of the event stream. */
export interface StreamQuery ${query}

/** The API: resources and their operations. */
export interface Resources ${group(tree(), components, '')}
`;
}

/** Returns the names of components that schemas refer to, at any depth. */
function namesIn(all: Record<string, Json>, schemas: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  const visit = (schema: unknown): void => {
    for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      if (name !== undefined && !names.has(name)) {
        names.add(name);
        visit(all[name]);
      }
  };
  for (const schema of schemas) visit(schema);
  return names;
}

function group(entries: Group, components: Components, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(entries).map(([name, entry]) =>
    isOperation(entry)
      ? functionOf(name, entry, components, inner)
      : `${inner}readonly ${name}: ${group(entry, components, inner)};\n`,
  );
  return `{\n${members.join('')}${indent}}`;
}

/** Renders the signatures of an operation. */
function functionOf(name: string, operation: Operation, components: Components, indent: string): string {
  const { mounted, path } = operation;
  const { route } = mounted;
  const doc = docOf(`${route.summary}. \`${route.method} ${path.replace(/^[~^]/, '')}\``, indent);
  const ids = [...path.matchAll(/\{(\w+)\}/g)].map(([, id]) => `${id}: string`);
  const asQuery = route.method === 'GET' || route.method === 'DELETE';
  const schema = asQuery ? route.query : route.body;
  const json = schema ? components.of(schema, 'input') : undefined;
  const asked = json ? typeOf(json, false, indent, asQuery) : undefined;
  const optional = asQuery ? ((json?.['required'] as unknown[]) ?? []).length === 0 : route.bodyOptional || !schema;
  const given = (type: string | undefined): string =>
    `${asQuery ? 'query' : 'body'}${optional ? '?' : ''}: ${type ?? 'Record<string, never>'}`;
  const call = (parameters: readonly string[], answer: string): string =>
    `${indent}${name}(${[...ids, ...parameters].join(', ')}): ${answer};\n`;
  const options = 'options?: RequestOptions';
  const answer = answerType(operation, components, indent);
  const plain = call([given(asked), options], answer);
  if (name === 'list' && path === '/agents') {
    const summaries = `${asked} & { readonly view: 'summary' }`;
    return (
      `${doc}${call([`query: ${summaries}`, options], 'List<AgentSummary>')}${doc}` +
      `${call([given(asked), options], 'List<Agent>')}`
    );
  }
  if (!route.preview) return doc + plain;
  const previewed = asQuery
    ? [`query: ${asked ? `${asked} & ` : ''}{ readonly preview: true }`, options]
    : [
        given(asked).replace(/^body\?:/, asked ? 'body:' : 'body?:'),
        'options: RequestOptions & { readonly preview: true }',
      ];
  return (
    `${docOf(`${route.summary}: what it would do (contract 17.8).`, indent)}${call(previewed, 'Promise<Preview>')}` +
    `${doc}${plain}`
  );
}

function answerType(operation: Operation, components: Components, indent: string): string {
  const { route } = operation.mounted;
  const answer = answerOf(operation.mounted);
  if (answer === 'raw') return 'Promise<Response>';
  if (answer === undefined) return 'Promise<void>';
  if (isPaged(route) && route.method === 'GET' && answer instanceof z.ZodArray)
    return `List<${typeOf(components.of(answer.element as z.ZodType, 'output'), true, indent)}>`;
  const empty = Object.entries(route.responses).some(([status, a]) => Number(status) < 300 && a === null);
  return `Promise<${typeOf(components.of(answer, 'output'), true, indent)}${empty ? ' | undefined' : ''}>`;
}

const docOf = (text: unknown, indent: string): string =>
  typeof text === 'string' && text !== ''
    ? `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */\n`
    : '';

interface SchemaWords {
  readonly $ref?: string;
  readonly anyOf?: Json[];
  readonly oneOf?: Json[];
  readonly allOf?: Json[];
  readonly type?: string | string[];
}

/** Renders a JSON schema as a type. With `open`, enumerations admit unknown values. */
function typeOf(schema: Json, open: boolean, indent: string, query = false): string {
  const again = (s: unknown): string => typeOf(s as Json, open, indent, query);
  const { $ref, anyOf, oneOf, allOf, type } = schema as SchemaWords;
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '');
  const members = anyOf ?? oneOf;
  if (members) return [...new Set(members.map(again))].join(' | ');
  if (allOf) return allOf.map(again).join(' & ');
  if ('const' in schema) return JSON.stringify(schema['const']);
  const values = schema['enum'] as unknown[] | undefined;
  if (values) {
    const union = values.map((value) => JSON.stringify(value)).join(' | ');
    if (query && values.join() === 'true,false') return 'boolean';
    return open && values.length > 1 && values.every((v) => typeof v === 'string') ? `Open<${union}>` : union;
  }
  if (Array.isArray(type)) return type.map((t) => again({ ...schema, type: t })).join(' | ');
  switch (type) {
    case 'string':
      return query ? 'string | readonly string[] | Date' : 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
    case 'null':
      return type;
    case 'array': {
      const { items, prefixItems } = schema as { items?: Json; prefixItems?: Json[] };
      if (prefixItems) return `readonly [${prefixItems.map(again).join(', ')}]`;
      const item = items ? typeOf(items, open, indent) : 'unknown';
      const list = `readonly ${/[|&]/.test(item) ? `(${item})` : item}[]`;
      return query ? `${item} | ${list}` : list;
    }
    case 'object':
      return objectType(schema, open, indent, query);
    default:
      return 'unknown';
  }
}

function objectType(schema: Json, open: boolean, indent: string, query: boolean): string {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  const required = (schema['required'] ?? []) as string[];
  const rest = schema['additionalProperties'];
  const inner = `${indent}  `;
  if (properties.length === 0) {
    if (rest === false) return 'Record<string, never>';
    return `Record<string, ${typeof rest === 'object' ? typeOf(rest as Json, open, inner) : 'unknown'}>`;
  }
  const members = properties.map(([name, member]) => {
    const key = /^[a-zA-Z_]\w*$/.test(name) ? name : JSON.stringify(name);
    const may = required.includes(name) ? '' : '?';
    const type = queryType(name, typeOf(member, open, inner, query), query) + (may ? ' | undefined' : '');
    return `${docOf(member['description'], inner)}${inner}readonly ${key}${may}: ${type};\n`;
  });
  const more =
    rest === true || (typeof rest === 'object' && rest !== null) ? `${inner}readonly [name: string]: unknown;\n` : '';
  return `{\n${members.join('')}${more}${indent}}`;
}

/** In an address every value is a text, so lists with commas may be arrays, and times dates. */
function queryType(name: string, type: string, query: boolean): string {
  if (!query || type !== 'string | readonly string[] | Date') return type;
  if (/(^|\.)(ids|types)$/.test(name)) return 'string | readonly string[]';
  return /^(since|until|at|expiresBefore|idleSince)$/.test(name) ? 'string | Date' : 'string';
}
