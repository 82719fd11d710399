declare const brand: unique symbol;

/**
 * A nominal type: a T that only the function which casts to it can create. Another value of the same shape does not
 * type-check.
 */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name };
