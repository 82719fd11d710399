import { LegateError } from '../../kernel/errors.ts';
import { actions, buttonLink, type Html, html, pathOf, type Site, type Texts } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { SessionErrors } from '../sessions/index.ts';
import { PATHS } from './form.ts';

/** The proof that a change still needs: a code of the app, a sign-in with a passkey, or any new sign-in. */
export type MissingProof = 'code' | 'passkey' | 'sign-in' | undefined;

/** Returns the proof that an error asks for, and throws any error that does not ask for proof. */
export function missingProofOf(error: unknown): Exclude<MissingProof, undefined> {
  if (!(error instanceof LegateError) || error.code !== SessionErrors.REAUTHENTICATION_REQUIRED.code) throw error;
  const path = error.details?.['path'];
  return path === '/totp/verify' ? 'code' : path === '/sign-in' ? 'sign-in' : 'passkey';
}

/** @param reauthorize checks the proof, for example the function of `withRecentProof` */
export async function findMissingProof(
  { database }: Pick<Platform, 'database'>,
  reauthorize: (db: Db) => Promise<unknown>,
): Promise<MissingProof> {
  try {
    await reauthorize(database.read);
    return undefined;
  } catch (error) {
    return missingProofOf(error);
  }
}

/** Redirects to the sign-in, which returns to the page. */
export const signInAgain = (site: Site, t: Texts, page: string, text: string): Html => {
  const again = `${pathOf(site, PATHS.signIn)}?returnTo=${encodeURIComponent(page)}`;
  return html`<p>${text}</p>${actions(buttonLink(t.passkeys.signInAgain, again, 'primary'))}`;
};
