declare const brand: unique symbol;

/**
 * A nominal type: a T that only the function which casts to it can create. Another value of the same shape does not
 * type-check.
 */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name };

declare const derived: unique symbol;

/**
 * What stands for a secret where the secret itself must not be: its hash of one kind, or its ciphertext. Neither the
 * secret nor a hash of another kind type-checks in its place.
 */
export type Derived<Name extends string> = string & { readonly [derived]: Name };

/** A text that is not derived from a secret: a {@link Derived} in its place does not type-check. */
export type PlainText = string & { readonly [derived]?: never };
