/** HTML from a template of this program whose values are escaped. Only {@link html} creates it. */
export class Html {
  readonly #text: string;
  private constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
  /** Only for `html` below and for constants of this program. */
  static trusted(text: string): Html {
    return new Html(text);
  }
}

/** Values of a template: text is escaped, HTML is inserted, lists are joined; undefined, null and false are omitted. */
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
 * Escapes all values for text and for quoted attributes. Attributes must be quoted in the template, and the scheme of
 * an external address (`href`, `src`) must be checked before.
 */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  Html.trusted(parts.reduce((out, part, i) => out + render(values[i - 1]) + part));

/** Returns ` name="value"` for each attribute with a value; true is a boolean attribute. */
export const attributes = (all: Readonly<Record<string, string | number | boolean | undefined>>): Html[] =>
  Object.entries(all).map(([name, value]) =>
    value === undefined || value === false ? html`` : value === true ? html` ${name}` : html` ${name}="${value}"`,
  );
