/** Returns the text with the code of each character that is invisible, starts a line or changes the order of others. */
export const visible = (text: string): string =>
  text.replace(
    // Variation selectors are part of many emoji.
    /(?![\uFE0E\uFE0F])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) => `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`,
  );

/**
 * Returns a value as indented JSON for reading. Characters that are invisible or change the order of others are
 * escaped, so that what a person sees is what the value contains.
 */
export const visibleJson = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').replace(
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) =>
      [...Array(character.length).keys()]
        .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
        .join(''),
  );
