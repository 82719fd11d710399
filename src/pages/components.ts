import { attributes, type Html, html, type Value } from './html.ts';
import type { Texts } from './texts/en.ts';

/** A problem of a form, and the field concerned. */
export interface Problem {
  readonly field?: string;
  readonly message: string;
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'url';
  /** The previous input. Never a password. */
  readonly value?: string | undefined;
  readonly hint?: string;
  readonly autocomplete?: string;
  /** False: the label says that the field is optional. */
  readonly required?: boolean;
  /** `numeric` for codes: the right keyboard on a telephone. */
  readonly inputmode?: 'numeric' | 'text';
  readonly maxlength?: number;
  /** A code: shown in a typeface with distinguishable characters. */
  readonly code?: boolean;
  /** The main field of the page. */
  readonly autofocus?: boolean;
}

/** A text field with its label, hint and its error among `problems`. */
export function field(t: Texts, f: Field, problems: readonly Problem[] = []): Html {
  const wrong = problems.find((problem) => problem.field === f.name)?.message;
  const described = [
    f.hint === undefined ? undefined : `${f.name}-hint`,
    wrong === undefined ? undefined : `${f.name}-error`,
  ]
    .filter((id) => id !== undefined)
    .join(' ');
  const required = f.required ?? true;
  const optional = required ? undefined : html` <span class="quiet">(${t.common.optional})</span>`;
  const hint = f.hint === undefined ? undefined : html`<p class="hint" id="${f.name}-hint">${f.hint}</p>`;
  const error = wrong === undefined ? undefined : html`<p class="wrong" id="${f.name}-error">${wrong}</p>`;
  return html`<div class="field"><label for="${f.name}">${f.label}${optional}</label>
${hint}${error}
<input${attributes({
    id: f.name,
    name: f.name,
    type: f.type ?? 'text',
    value: f.type === 'password' ? undefined : f.value,
    class: f.code ? 'code' : undefined,
    required,
    autocomplete: f.autocomplete,
    inputmode: f.inputmode,
    maxlength: f.maxlength,
    autofocus: f.autofocus && problems.length === 0,
    spellcheck: f.type === 'email' || f.code ? 'false' : undefined,
    autocapitalize: f.type === 'email' || f.code ? 'none' : undefined,
    'aria-invalid': wrong === undefined ? undefined : 'true',
    'aria-describedby': described || undefined,
  })}></div>`;
}

export interface Choice {
  readonly name: string;
  readonly value?: string;
  readonly label: Value;
  readonly hint?: Value;
  readonly checked?: boolean;
  readonly disabled?: boolean;
}

/** A checkbox; sends `name=on` (or its value) if checked. Each needs a unique name: repeated names are refused. */
export const checkbox = (c: Choice): Html => choice('checkbox', c, c.name);

/** A group of radio buttons with a legend. */
export const radios = (legend: Value, name: string, options: readonly Omit<Choice, 'name'>[]): Html =>
  group(
    legend,
    options.map((option, i) => choice('radio', { ...option, name }, `${name}-${i}`)),
  );

/** A group of fields under a legend. */
export const group = (legend: Value, ...content: Value[]): Html =>
  html`<fieldset><legend>${legend}</legend>${content}</fieldset>`;

function choice(type: 'checkbox' | 'radio', c: Choice, id: string): Html {
  const hint = c.hint === undefined ? undefined : `${id}-hint`;
  const { name, value, checked, disabled } = c;
  const input = attributes({ type, id, name, value, checked, disabled, 'aria-describedby': hint });
  return html`<div class="choice"><input${input}><div><label for="${id}">${c.label}</label>${
    hint === undefined ? undefined : html`<p class="hint" id="${hint}">${c.hint}</p>`
  }</div></div>`;
}

export interface Button {
  readonly label: string;
  /** `secondary` and `danger` are outlined, of the same size and weight. */
  readonly kind?: 'primary' | 'secondary' | 'danger';
  readonly name?: string;
  readonly value?: string;
  /**
   * Accessible name if the label alone is ambiguous ("End" -> "End Firefox on Linux"). Begins with the label (WCAG
   * 2.5.3).
   */
  readonly spoken?: string;
}

export function button({ kind = 'primary', name, value, spoken, label }: Button): Html {
  const style = kind === 'primary' ? undefined : kind;
  return html`<button${attributes({
    type: 'submit',
    class: style,
    name,
    value,
    'aria-label': spoken,
  })}>${label}</button>`;
}

/** A link that looks like a button. `href` is a path of this service or a checked address. */
export const buttonLink = (label: string, href: string, kind: 'primary' | 'secondary' = 'secondary'): Html =>
  html`<a${attributes({ class: kind === 'primary' ? 'button' : 'button secondary', href })}>${label}</a>`;

/** Separator between two alternatives. */
export const or = (t: Texts): Html => html`<p class="or"><span>${t.common.or}</span></p>`;

/** Buttons side by side with equal width; stacked on a narrow screen. The first one is first in tab order. */
export const actions = (...buttons: Html[]): Html => html`<div class="actions">${buttons}</div>`;

/** The same, sticky at the bottom of a high enough window: for decisions on a long page. */
export const stickyActions = (...buttons: Html[]): Html => html`<div class="actions sticky">${buttons}</div>`;

/** A label that marks the text before it. */
export const badge = (kind: 'good' | 'warning', text: string): Html =>
  html`<span${attributes({ class: kind === 'good' ? 'badge' : `badge ${kind}` })}>${text}</span>`;

/**
 * A form that posts to `action`: a path of this service or the address of the page itself (`call.url`), query
 * included. The server, not the browser, reports problems, in the language of the page. `action` is always present:
 * without it the form would keep the fragment of a link in the error summary and carry it over every redirect.
 */
export const form = (
  action: string | URL,
  content: Value,
  hidden: Readonly<Record<string, string | undefined>> = {},
): Html => {
  const path = typeof action === 'string' ? action : action.pathname + action.search;
  const inputs = Object.entries(hidden).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`<form${attributes({ method: 'post', action: path, novalidate: true })}>${inputs}${content}</form>`;
};

/**
 * The problems at the top of the page, focused when the page opens; each links to its field. Empty without problems.
 */
export const errorSummary = (t: Texts, problems: readonly Problem[]): Html =>
  problems.length === 0
    ? html``
    : html`<div class="summary" role="alert" aria-labelledby="problems" tabindex="-1" autofocus>
<h2 id="problems">${t.common.problem}</h2><ul>${problems.map(
        ({ field: at, message }) =>
          html`<li>${at === undefined ? message : html`<a href="#${at}">${message}</a>`}</li>`,
      )}</ul></div>`;

/** A highlighted paragraph. Screen readers announce `good` and `error`. */
export function notice(kind: 'info' | 'good' | 'warning' | 'error', content: Value): Html {
  const role = kind === 'good' ? 'status' : kind === 'error' ? 'alert' : undefined;
  const style = kind === 'info' ? 'notice' : `notice ${kind}`;
  return html`<div${attributes({ class: style, role })}><p>${content}</p></div>`;
}

/** An item of a list: a heading, lines about it, and its actions. */
export const card = (c: { title: Value; badge?: Value; lines: readonly Value[]; actions?: Html }): Html =>
  html`<h2>${c.title}${
    c.badge ? html` <span class="badge">${c.badge}</span>` : undefined
  }</h2>${c.lines.map((line) => html`<p class="quiet">${line}</p>`)}${c.actions}`;

/** A list of items, each usually a {@link card}. */
export const list = (items: readonly Html[]): Html =>
  html`<ul class="cards">${items.map((item) => html`<li class="card">${item}</li>`)}</ul>`;

/** Content that is shown on request. Works without scripts. */
export const details = (summary: Value, content: Value, open = false): Html =>
  html`<details${attributes({ open })}><summary>${summary}</summary>${content}</details>`;

/** An item of a list that links to a page: its name and purpose. */
export const tile = (title: string, purpose: string, href: string): Html =>
  html`<a class="tile" href="${href}"><strong>${title}</strong><span>${purpose}</span></a>`;

/** Pairs of names and values. */
export const facts = (pairs: readonly (readonly [name: Value, value: Value])[]): Html =>
  html`<dl>${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
