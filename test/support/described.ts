import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { MountedRoute } from '../../src/http/app.ts';
import { describeApi } from '../../src/http/openapi.ts';
import type { Platform } from '../../src/platform.ts';

// biome-ignore lint/suspicious/noExplicitAny: the fields of an OpenAPI document are examined.
type Document = any;

interface Description {
  readonly document: Document;
  readonly validator: Ajv2020;
  readonly compiled: Map<string, ValidateFunction>;
}

/** Times are ISO 8601 in UTC with milliseconds (contract 2). Other formats are not checked. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const descriptions = new Map<string, Description>();
const byMounts = new WeakMap<readonly MountedRoute[], Description>();

/** Returns the description of every mounted route, with pages and aliases. Cached for each set of mounts. */
function descriptionOf(mounted: readonly MountedRoute[], platform: Platform): Description {
  const known = byMounts.get(mounted);
  if (known) return known;
  const key = mounted.map(({ path }) => path).join();
  let found = descriptions.get(key);
  if (!found) {
    const document = describeApi(mounted, platform);
    // Most schemas are used a few times in a run: to inline and optimise their code takes longer than it saves.
    const validator = new Ajv2020({ strict: false, logger: false, inlineRefs: false, code: { optimize: false } });
    validator.addFormat('date-time', TIME);
    validator.addSchema(document, 'api');
    found = { document, validator, compiled: new Map() };
    descriptions.set(key, found);
  }
  byMounts.set(mounted, found);
  return found;
}

const namesOf = (headers: object = {}): string[] => Object.keys(headers).map((name) => name.toLowerCase());
const bareType = (headers: Headers): string => (headers.get('content-type') ?? '').split(';')[0] as string;
const pointer = (parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replace(/~/g, '~0').replace(/\//g, '~1'))}`).join('');

/** Returns how a request and its answer deviate from the API description. */
export function notDescribed(
  platform: Platform,
  mounted: readonly MountedRoute[],
  at: MountedRoute | undefined,
  request: Request,
  response: Response,
  text: string,
): string[] {
  if (!at || request.method === 'HEAD' || response.status === 304) return [];
  const { document, validator, compiled } = descriptionOf(mounted, platform);
  const path = at.path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}');
  const method = at.route.method.toLowerCase();
  const { requestBody, responses } = document.paths[path][method];
  const problems: string[] = [];
  const sent = bareType(request.headers).toLowerCase();
  const taken = Object.keys(requestBody?.content ?? {});
  if (response.status < 300 && requestBody?.required && !taken.includes(sent))
    problems.push(`the description does not have ${sent} for its request body`);
  const plain =
    !request.headers.has('content-encoding') &&
    !/;\s*charset=(?!"?utf-8)/i.test(request.headers.get('content-type') ?? '');
  if (response.status === 415 && plain && taken.includes(sent))
    problems.push(`the description has ${sent} for the request body, which is refused`);
  // Redirects of pages to the sign-in page instead of 401 are not in the description.
  if (response.status === 303 && at.route.page) return problems;
  const { status } = response;
  const described = responses[status];
  if (!described) return [...problems, 'the description does not have this status'];
  const type = bareType(response.headers);
  if (text === '') return described.content ? [...problems, 'has no body, and the description has one'] : problems;
  if (!described.content?.[type]) return [...problems, `the description does not have ${type} for this status`];
  if (!/[/+]json$/.test(type)) return problems;
  const ref = `api#${pointer(['paths', path, method, 'responses', String(status), 'content', type, 'schema'])}`;
  for (const name of ['www-authenticate', 'retry-after'])
    if (status >= 400 && status < 500 && response.headers.has(name) && !namesOf(described.headers).includes(name))
      problems.push(`the description does not have the header ${name} for this status`);
  let validate = compiled.get(ref);
  if (!validate) {
    validate = validator.compile({ $ref: ref });
    compiled.set(ref, validate);
  }
  if (!validate(JSON.parse(text)))
    problems.push(`does not fit the description: ${validator.errorsText(validate.errors)}`);
  return problems;
}
