import { createHash } from 'node:crypto';
import { type Html, Html as Markup } from './html.ts';

/** A script of this program, and its source expression for `script-src` (CSP Level 3, section 2.3.1). */
export interface PageScript {
  readonly element: Html;
  readonly source: string;
}

/** Defines a script from a constant of this program. */
export function defineScript(text: string): PageScript {
  if (/<\/script|<!--/i.test(text)) throw new Error('The script would end its element.');
  return {
    element: Markup.trusted(`<script>${text}</script>`),
    source: `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  };
}
