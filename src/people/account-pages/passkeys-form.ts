import { z } from 'zod';
import { idOf } from '../../kernel/id-schema.ts';
import { asId } from '../../kernel/ids.ts';
import { languageOf, pathOf, seeOther } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { removePasskey, withSession } from '../sign-in/passkeys/index.ts';
import { confirmTotp } from '../sign-in/second-factor/index.ts';
import { UserErrors } from '../users/index.ts';
import { type AnyCall, answerForm, PATHS, personCalling } from './form.ts';
import { passkeysPage } from './passkeys-page.ts';

/** `remove` needs the id of a passkey, `confirm` a code. Deliberately loose: the page shows what is missing. */
export const PasskeysForm = z
  .strictObject({
    action: z.enum(['remove', 'confirm']),
    id: idOf('passkey', z.string().max(100)).default(asId('passkey', '')),
    code: z.string().max(100).default(''),
  })
  .meta({ id: 'PasskeysForm' });
type PasskeysForm = z.output<typeof PasskeysForm>;

/** POST: removes a passkey, or proves with a code that the user is still there. */
export const passkeysForm = (
  platform: Platform,
  call: AnyCall & { readonly body: PasskeysForm },
): Promise<Response> => {
  const person = withSession(platform, call);
  const here = pathOf(platform, PATHS.passkeys);
  return answerForm(
    platform,
    call,
    async () => {
      if (call.body.action === 'remove') {
        await removePasskey(platform, person, call.body.id, languageOf(call.request));
        return seeOther(`${here}?done=removed`);
      }
      const code = call.body.code.replace(/\s/g, '');
      if (code === '') throw UserErrors.INVALID_CODE({ reason: 'second-factor-code-missing' });
      await confirmTotp(platform, { code, trustDevice: false }, personCalling(call));
      return seeOther(here);
    },
    (error) => passkeysPage(platform, call, error),
  );
};
