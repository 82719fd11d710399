/** Whose password is being chosen, and when. */
export interface PasswordContext {
  action: 'sign-up' | 'set-up' | 'create' | 'change' | 'reset';
  /** null for an account that is being made. */
  userId: string | null;
  email: string | null;
}

/**
 * The embedder's own rule for new passwords (specification 5.9). A text refuses the password and is shown to the person, `false`
 * refuses it without a reason. So does whatever is thrown: an error of ours (such as PASSWORD_BREACHED, thrown by
 * `legate.breach.enforce`) is answered as it is, of any other only the log learns more.
 */
export type ValidatePassword = (
  password: string,
  context: PasswordContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: a rule that only throws returns nothing.
) => PasswordVerdict | Promise<PasswordVerdict | void> | void;
export type PasswordVerdict = boolean | string | null | undefined;
