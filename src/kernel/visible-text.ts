/** Returns the text with the code of each character that is invisible, starts a line or changes the order of others. */
export const visible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`,
  );
