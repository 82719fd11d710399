/** Whose password is being chosen, and when. */
export interface PasswordContext {
  action: 'sign-up' | 'set-up' | 'create' | 'change' | 'reset';
  /** null for an account that is being created. */
  userId: string | null;
  email: string | null;
}

/**
 * The embedding application's rule for new passwords (specification, section 5.9). A text refuses the password and is
 * shown to the user; `false` refuses it without a reason. A thrown {@link LegateError}, such as PASSWORD_BREACHED of
 * `legate.breach.enforce`, is the answer; any other error refuses the password and is only logged.
 */
export type ValidatePassword = (
  password: string,
  context: PasswordContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: a rule that only throws returns nothing.
) => PasswordVerdict | Promise<PasswordVerdict | void> | void;
export type PasswordVerdict = boolean | string | null | undefined;
