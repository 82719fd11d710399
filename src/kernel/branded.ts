declare const brand: unique symbol;

/** A value of type T that only the function which makes it can name: another string of the same shape does not type-check. */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name };
