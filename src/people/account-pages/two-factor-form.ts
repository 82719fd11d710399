import { z } from 'zod';
import type { LegateError } from '../../kernel/errors.ts';
import { languageOf, pathOf, type Site, seeOther } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import {
  confirmTotp,
  disableTotp,
  enableTotp,
  findPendingUri,
  renewBackupCodes,
  SecondFactorErrors,
} from '../sign-in/second-factor/index.ts';
import { endTrust, sessionIdOf, UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, PATHS, personCalling } from './form.ts';
import { backupCodesPage, hereWith, setUpPage, twoFactorPage } from './two-factor-page.ts';

/** `action` is the step of the page. Deliberately loose: the page shows what is missing. */
export const TwoFactorForm = z
  .strictObject({
    action: z.enum(['begin', 'confirm', 'backup-codes', 'off']),
    password: z.string().max(16_384).optional(),
    code: z.string().max(100).optional(),
    /** The secret that the page shows while it is set up. */
    secret: z.string().max(100).optional(),
  })
  .meta({ id: 'TwoFactorForm' });
type TwoFactorForm = z.output<typeof TwoFactorForm>;

/** `id` is the device that loses its trust; without it, all devices do. */
export const EndTrustForm = z.strictObject({ id: z.string().max(100).optional() }).meta({ id: 'EndTrustForm' });

const { TOTP_ALREADY_ENABLED, TOTP_NOT_SET_UP } = SecondFactorErrors;

/** POST: the steps of the page. */
export const twoFactorForm = (
  platform: Platform,
  call: AnyCall & { readonly body: TwoFactorForm },
): Promise<Response> => {
  const { action, secret } = call.body;
  sessionIdOf(call.principal);
  return answerForm(
    platform,
    call,
    () => act(platform, call),
    async (error) => {
      // The page was open while the second factor was switched on or off elsewhere.
      if (isError(error, TOTP_ALREADY_ENABLED) || isError(error, TOTP_NOT_SET_UP)) return toStart(platform, call);
      const uri =
        action === 'confirm' ? await findPendingUri(platform, personCalling(call).principal.userId, secret) : undefined;
      return uri === undefined ? twoFactorPage(platform, call, error) : setUpPage(platform, call, uri, error);
    },
  );
};

const isError = (error: LegateError, { code }: { readonly code: string }): boolean => error.code === code;
const toStart = (site: Site, call: AnyCall): Response => seeOther(hereWith(site, call));

async function act(platform: Platform, call: AnyCall & { readonly body: TwoFactorForm }): Promise<Response> {
  const person = personCalling(call);
  const { action, password } = call.body;
  const language = languageOf(call.request);
  const code = call.body.code?.replace(/\s/g, '') ?? '';
  if (action === 'begin') return setUpPage(platform, call, (await enableTotp(platform, person, password)).totpURI);
  if (code === '') throw UserErrors.INVALID_CODE({ reason: 'second-factor-code-missing' });
  if (action === 'off') {
    await disableTotp(platform, person, { password, code }, language);
    return seeOther(`${pathOf(platform, PATHS.twoFactor)}?done=off`);
  }
  if (action === 'backup-codes')
    return backupCodesPage(platform, call, await renewBackupCodes(platform, person, code, language), 'newCodes');
  const { backupCodes } = await confirmTotp(platform, { code, trustDevice: false }, person, { withBackupCodes: true });
  return backupCodes === undefined ? toStart(platform, call) : backupCodesPage(platform, call, backupCodes, 'nowOn');
}

/** POST: ends the trust in one device or in all. */
export async function endTrustForm(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: AnyCall & { readonly body: z.output<typeof EndTrustForm> },
): Promise<Response> {
  sessionIdOf(call.principal);
  await endTrust(platform, personCalling(call), call.body.id);
  return seeOther(`${pathOf(platform, PATHS.twoFactor)}?done=${call.body.id === undefined ? 'all-trust' : 'trust'}`);
}
