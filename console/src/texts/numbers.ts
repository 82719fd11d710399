/** Formats numbers that are part of a sentence, in the language of the sentence. */
const numbersIn = (language: string): ((value: number) => string) => {
  const format = new Intl.NumberFormat(language);
  return (value) => format.format(value);
};

export const enNumber = numbersIn('en');
export const deNumber = numbersIn('de');
