/** Formats numbers that are part of a sentence, in the language of the sentence. */
const numbersIn = (language: string): ((value: number) => string) => {
  const format = new Intl.NumberFormat(language);
  return (value) => format.format(value);
};

export const enNumber = numbersIn('en');
export const deNumber = numbersIn('de');

/** A span in its two largest units. */
export function timeLeft(seconds: number, inDays: (days: number) => string): string {
  const [days, hours, minutes] = [86_400, 3600, 60].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  const two = (n: number): string => String(n).padStart(2, '0');
  if (days > 0) return `${inDays(days)} ${hours % 24} h`;
  return hours > 0 ? `${hours} h ${two(minutes % 60)} min` : `${minutes} min ${two(seconds % 60)} s`;
}
