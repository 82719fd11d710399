/** A piece of HTML: text that was written here, with every value in it escaped. Made by {@link html} alone. */
export class Html {
  readonly #text: string;
  private constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
  /** Only for `html` below and for text that is a constant of this program. */
  static trusted(text: string): Html {
    return new Html(text);
  }
}

/** What may stand in a template: text is escaped, HTML stays, lists are joined; nothing comes of undefined, null and false. */
export type Value = string | number | Html | undefined | null | false | readonly Value[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function render(value: Value): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(render).join('');
  return String(value).replace(/[&<>"']/g, (c) => ENTITIES[c] as string);
}

/**
 * HTML whose values are escaped for text and for quoted attributes. An attribute must be quoted in the template; the scheme
 * of an address that comes from outside has to be checked before (`href`, `src`).
 */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  Html.trusted(parts.reduce((out, part, i) => out + render(values[i - 1]) + part));

/** ` name="value"` for each attribute that has a value; true gives the bare name. */
export const attributes = (all: Readonly<Record<string, string | number | boolean | undefined>>): Html[] =>
  Object.entries(all).map(([name, value]) =>
    value === undefined || value === false ? html`` : value === true ? html` ${name}` : html` ${name}="${value}"`,
  );
