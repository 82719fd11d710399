import { z } from 'zod';
import { asUser } from '../../access/principal.ts';
import type { Scope } from '../../access/scopes.ts';
import { DAY_MS, isoTime } from '../../kernel/clock.ts';
import { CommonErrors, type Issue, LegateError } from '../../kernel/errors.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { parseWith, text } from '../../kernel/json.ts';
import { messageOf, type Problem, pathOf, seeOther, type Texts, textsFor } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { ApiTokenErrors, CreateApiToken, createApiToken, revokeApiToken } from '../api-tokens/index.ts';
import { SessionErrors, withRecentProof } from '../sessions/index.ts';
import { confirmTotp } from '../sign-in/second-factor/index.ts';
import { UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, PATHS, personCalling } from './form.ts';
import { missingProofOf } from './missing-proof.ts';
import { LIFETIMES, newTokenPage, PAGE_SCOPES, scopeField, type TokenInput, tokensPage } from './tokens-page.ts';

const Ticked = text(10).optional();

/** A checkbox for each scope. Deliberately loose: the page shows the problems. */
export const TokenForm = z
  .strictObject({
    name: text(1000, 0),
    access: z.enum(['chosen', 'all']),
    lifetime: z.enum(LIFETIMES).default('30'),
    /** A code of the second factor, if it was not used recently. */
    code: text(100, 0).optional(),
    ...(Object.fromEntries(PAGE_SCOPES.map((scope) => [scopeField(scope), Ticked])) as Record<
      `scope:${Scope}`,
      typeof Ticked
    >),
  })
  .meta({ id: 'TokenForm' });
type TokenForm = z.output<typeof TokenForm>;

export const RevokeTokenForm = z
  .strictObject({ id: idOf('apiToken', z.string().max(100)) })
  .meta({ id: 'RevokeTokenForm' });

/** POST: creates a token and shows it. */
export const tokenForm = (platform: Platform, call: AnyCall & { readonly body: TokenForm }): Promise<Response> => {
  const t = textsFor(call.request);
  const input = inputOf(call.body);
  const { name, access, scopes } = input;
  const contradiction =
    access === 'chosen' && scopes.length === 0
      ? t.tokens.needsScope
      : access === 'all' && scopes.length > 0
        ? t.tokens.allOrSome
        : undefined;
  if (contradiction !== undefined)
    return tokensPage(platform, call, { input, problems: [{ field: 'access-0', message: contradiction }] });
  return answerForm(
    platform,
    call,
    async () => {
      const wanted = parseWith(CreateApiToken, {
        name: name.trim(),
        ...(access === 'chosen' ? { scopes } : {}),
        expiresAt: expiryOf(platform, input),
      });
      const code = call.body.code?.replace(/\s/g, '') ?? '';
      if (code !== '') await confirmTotp(platform, { code, trustDevice: false }, personCalling(call));
      const caller = { reauthorize: withRecentProof(platform, call), actor: call.actor };
      const { token } = await createApiToken(platform, caller, asUser(call.principal), wanted);
      return newTokenPage(platform, call, wanted.name, token);
    },
    (error) => tokensPage(platform, call, { input, problems: problemsOf(t, error), error }),
  );
};

const inputOf = (body: TokenForm): TokenInput => ({
  name: body.name,
  access: body.access,
  lifetime: body.lifetime,
  scopes: PAGE_SCOPES.filter((scope) => body[scopeField(scope)] !== undefined),
});

const expiryOf = ({ clock }: Pick<Platform, 'clock'>, { lifetime }: TokenInput): string | null =>
  lifetime === 'never' ? null : isoTime(clock.now() + Number(lifetime) * DAY_MS);

function problemsOf(t: Texts, error: LegateError): Problem[] {
  if (error.code === UserErrors.INVALID_CODE.code) return [{ field: 'code', message: messageOf(t, error) }];
  if (error.code === SessionErrors.REAUTHENTICATION_REQUIRED.code)
    return missingProofOf(error) === 'code'
      ? [{ field: 'code', message: messageOf(t, error) }]
      : [{ message: t.tokens.signInFirst }];
  const issues = (error.details?.['issues'] ?? []) as Issue[];
  if (error.code === CommonErrors.VALIDATION_FAILED.code && issues.some(({ path }) => path === 'name'))
    return [{ field: 'name', message: t.fields.required }];
  return [{ message: messageOf(t, error) }];
}

/** POST: revokes a token. One that does not exist is not an error. */
export async function revokeTokenForm(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: AnyCall & { readonly body: z.output<typeof RevokeTokenForm> },
): Promise<Response> {
  try {
    await revokeApiToken(platform, call, call.body.id);
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== ApiTokenErrors.API_TOKEN_NOT_FOUND.code) throw error;
  }
  return seeOther(`${pathOf(platform, PATHS.tokens)}?done=revoked`);
}
