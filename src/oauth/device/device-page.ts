import { LegateError } from '../../kernel/errors.ts';
import {
  actions,
  button,
  details,
  errorSummary,
  facts,
  field,
  form,
  formatTime,
  html,
  notice,
  type Problem,
  page,
  pathOf,
  seeOther,
  stickyActions,
  textsFor,
} from '../../pages/index.ts';
import { pagePerson } from '../../people/users/index.ts';
import type { Call, Platform } from '../../platform.ts';
import type { Person } from '../authorize/authorize.ts';
import { NEW_AGENT } from '../consent/consent-agent.ts';
import {
  AGENT_FIELD,
  agentChoice,
  clientName,
  clientNotice,
  consentTitle,
  type FormInput,
  scopeChoices,
  scopeField,
} from '../consent/consent-fields.ts';
import { scopeNames } from '../scope.ts';
import { answerDevice, type DeviceRequest, findDeviceRequest, isAgentProblem } from './answer-device.ts';
import { DEVICE_PATH } from './authorize-device.ts';
import { displayUserCode, findOwnAnswer, readUserCode } from './user-code.ts';

type PageCall = Pick<Call<unknown, unknown, unknown>, 'request' | 'url' | 'requireUser'>;
/** Parameter of `verification_uri_complete`, and field of the form. */
const USER_CODE = 'user_code';
const MAX_CODE_CHARS = 100;

/** GET: asks for the code. A code in the address is filled in and still has to be confirmed (RFC 8628, section 5.4). */
export async function devicePage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: PageCall,
): Promise<Response> {
  const { searchParams } = call.url;
  const done = searchParams.get('done');
  const person = await call.requireUser();
  if (done === 'allowed' || done === 'denied') return donePage(platform, call, person, done);
  return codePage(platform, call, person, (searchParams.get(USER_CODE) ?? '').slice(0, MAX_CODE_CHARS));
}

/**
 * POST: shows the request with the code; with `decision`, answers it. The code is sent again with the decision, so that
 * a form sent after its expiry is treated like a wrong code. A form that is sent twice gets the first answer again.
 */
export async function submitDevicePage(
  platform: Platform,
  call: PageCall,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  const t = textsFor(call.request);
  const person = await call.requireUser();
  const typed = (fields[USER_CODE] ?? '').slice(0, MAX_CODE_CHARS);
  const wrongCode = () => codePage(platform, call, person, typed, [{ field: USER_CODE, message: t.device.wrongCode }]);
  const { decision } = fields;
  const done = (answer: 'allowed' | 'denied') => seeOther(`${pathOf(platform, DEVICE_PATH)}?done=${answer}`);
  const answerGone = async (): Promise<Response> => {
    const { database, clock } = platform;
    const first = await findOwnAnswer(platform, database.read, clock.now(), person.principal.userId, typed);
    return first && decision !== undefined ? done(first) : wrongCode();
  };
  const request = await findDeviceRequest(platform, person, typed);
  if (!request) return answerGone();
  if (decision === undefined) return requestPage(platform, call, person, request, typed);
  const input: FormInput = {
    scopes: scopeNames(request.row.scope).filter((scope) => fields[scopeField(scope)] !== undefined),
    agent: fields['agent'] ?? NEW_AGENT,
  };
  const showAgain = (problem: Problem) => requestPage(platform, call, person, request, typed, [problem], input);
  const allow = decision === 'allow';
  if (allow && input.scopes.length === 0)
    return showAgain({
      field: scopeField(scopeNames(request.row.scope)[0] ?? ''),
      message: t.consent.atLeastOne,
    });
  try {
    if (!(await answerDevice(platform, person, request, allow ? input : { ...input, scopes: [] }))) return answerGone();
  } catch (error) {
    if (error instanceof LegateError && error.code === 'OAUTH_ACCESS_DENIED')
      return showAgain({ field: AGENT_FIELD, message: t.consent.managed });
    if (!isAgentProblem(error)) throw error;
    const message = error.code === 'OAUTH_INVALID_REQUEST' ? t.consent.wrongAgent : error.message;
    return showAgain({ field: AGENT_FIELD, message });
  }
  return done(allow ? 'allowed' : 'denied');
}

async function codePage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  { request }: PageCall,
  { principal }: Person,
  typed: string,
  problems: readonly Problem[] = [],
): Promise<Response> {
  const t = textsFor(request);
  return page(platform, request, {
    title: t.device.title,
    person: await pagePerson(platform, principal),
    failed: problems.length > 0,
    status: problems.length > 0 ? 400 : 200,
    body: html`${errorSummary(t, problems)}<p>${typed === '' ? t.device.intro : t.device.compare}</p>${form(
      pathOf(platform, DEVICE_PATH),
      html`${field(
        t,
        {
          name: USER_CODE,
          label: t.device.code,
          hint: t.device.hint,
          value: typed,
          autocomplete: 'off',
          maxlength: 20,
          code: true,
          autofocus: true,
        },
        problems,
      )}${actions(button({ label: t.device.next }))}`,
    )}`,
  });
}

async function requestPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  { request }: PageCall,
  { principal }: Person,
  { row, client, target }: DeviceRequest,
  typed: string,
  problems: readonly Problem[] = [],
  input?: FormInput,
): Promise<Response> {
  const t = textsFor(request);
  const scopes = scopeNames(row.scope);
  const code = displayUserCode(readUserCode(typed) ?? '');
  const problemWithAgent = problems.some((problem) => problem.field === AGENT_FIELD);
  return page(platform, request, {
    title: consentTitle(t, client),
    person: await pagePerson(platform, principal),
    failed: problems.length > 0,
    status: problems.length > 0 ? 400 : 200,
    body: html`${errorSummary(t, problems)}${notice('warning', t.device.warning)}${clientNotice(t, client)}${facts([
      [t.device.code, html`<code>${code}</code>`],
      [t.device.place, row.ip ?? t.device.unknownPlace],
      ...(row.program === null ? [] : [[t.device.program, row.program] as const]),
      [t.device.time, formatTime(request, row.created_at, 'minute')],
      [t.consent.resource, target.server ?? (new URL(target.resource).host || target.resource)],
    ])}${form(
      pathOf(platform, DEVICE_PATH),
      html`<p>${t.consent.wants(clientName(t, client))}</p>${scopeChoices(t, scopes, input?.scopes)}${await agentChoice(
        platform,
        t,
        principal.userId,
        client,
        input?.agent,
        problemWithAgent,
      )}${details(
        t.consent.technical,
        facts([
          [t.consent.scopeNames, html`<code>${scopes.join(' ')}</code>`],
          [t.consent.resourceAddress, html`<code>${target.resource}</code>`],
          [t.consent.clientId, html`<code>${client.id}</code>`],
        ]),
      )}<p class="quiet">${t.consent.endLater}</p>${stickyActions(
        button({ label: t.consent.deny, kind: 'secondary', name: 'decision', value: 'deny' }),
        button({ label: t.consent.allow, kind: 'secondary', name: 'decision', value: 'allow' }),
      )}`,
      { [USER_CODE]: code },
    )}`,
  });
}

async function donePage(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  { request }: PageCall,
  { principal }: Person,
  done: 'allowed' | 'denied',
): Promise<Response> {
  const t = textsFor(request);
  return page(platform, request, {
    title: t.device.title,
    person: await pagePerson(platform, principal),
    body: notice(done === 'allowed' ? 'good' : 'info', t.device[done]),
  });
}
