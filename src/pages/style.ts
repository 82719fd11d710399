import { createHash } from 'node:crypto';
import { fontFaces } from './fonts.ts';
import { pathOf, type Site } from './site.ts';

/**
 * The style sheet of all pages. Text has a contrast of at least 4.5:1 in both colour schemes; targets are 44 px high.
 */
const STYLE = `:root{color-scheme:light dark;--ground:#f7f6f3;--card:#fff;--text:#1a1c21;--quiet:#565a64;--line:#dedbd3;
  --edge:#7e818a;--accent:#7a2a68;--on-accent:#fff;--danger:#a8201a;--on-danger:#fff;--soft:#efede8;
  --soft-danger:#fbe9e7;--soft-good:#e7f3eb;--good:#1f6b42;--soft-warn:#fbf0d9;--warn:#7a4e00}
@media(prefers-color-scheme:dark){:root{--ground:#121317;--card:#191b20;--text:#ecedef;--quiet:#a9aeb8;--line:#30343d;
  --edge:#7b818d;--accent:#e2a5d4;--on-accent:#3b0a31;--danger:#f4a59e;--on-danger:#3b1714;--soft:#22252c;
  --soft-danger:#3b1714;--soft-good:#12301f;--good:#8cd3a8;--soft-warn:#352706;--warn:#f0c36a}}
*,*::before,*::after{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;padding:2rem 1rem;
  background:var(--ground);color:var(--text);font:1rem/1.5 Plex,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
  font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
header,main,footer{width:100%;max-width:27rem}
form+p,form+p.quiet{margin-top:1rem}
@media(min-width:36rem){.wide .actions{grid-template-columns:repeat(auto-fit,minmax(9rem,16rem))}}
.wide header,.wide main,.wide footer{max-width:44rem}
.wide .field{max-width:27rem}
.banner{width:100%;max-width:44rem;margin:-1rem 0 1rem;padding:.5rem .75rem;border:1px solid var(--warn);
  border-radius:.25rem;background:var(--soft-warn);color:var(--warn);font-size:.875rem}
header{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.25rem 1rem;
  padding:0 .25rem .75rem}
.brand{display:inline-flex;align-items:center;gap:.5rem;min-height:2.75rem;font:600 1.125rem/1.5 Source,Georgia,serif;
  color:inherit;text-decoration:none}
.brand:hover{text-decoration:underline}
.mark{flex:none;color:var(--accent)}
.cut{stroke:var(--on-accent)}
.person{display:flex;flex-wrap:wrap;align-items:center;gap:0 .75rem;font-size:.875rem;color:var(--quiet)}
.plain{min-height:2.75rem;padding:0 .25rem;border:0;background:none;color:var(--accent);font-size:.875rem;
  font-weight:600}
nav.pages{width:100%;max-width:44rem;padding:0 .25rem .75rem}
nav.pages ul{list-style:none;display:flex;flex-wrap:wrap;gap:0 1rem;margin:0;padding:0;font-size:.9375rem}
nav.pages a{display:flex;align-items:center;min-height:2.75rem;border-bottom:2px solid transparent;color:inherit;
  text-decoration:none}
nav.pages a:hover{text-decoration:underline}
nav.pages [aria-current]{border-color:var(--accent);font-weight:600}
.or{display:flex;align-items:center;gap:.75rem;margin:1.25rem 0;color:var(--quiet);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.or+.actions{margin-top:0}
[data-passkey]:not([hidden])+.or{display:none}
[data-passkey]:not([hidden])+.or+.actions{margin-top:.75rem}
.actions>*{padding-inline:.5rem}
.ways{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1rem;margin-top:1.25rem}
.ways p{margin:0}
.tile{display:block;color:inherit;text-decoration:none}
.tile strong{display:block;color:var(--accent);text-decoration:underline}
.tile span{display:block;margin-top:.125rem;color:var(--quiet);font-size:.875rem}
main{background:var(--card);border:1px solid var(--line);border-radius:.375rem;padding:1.5rem}
footer{padding:1rem .25rem 0;font-size:.875rem;color:var(--quiet)}
footer ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:0;padding:0}
footer li>*{display:inline-block;padding:.3rem 0}
h1{font:600 1.5rem/1.35 Source,Georgia,serif;margin:0 0 1rem}
h2{font-size:1.125rem;line-height:1.35;margin:1.5rem 0 .5rem}
p{margin:.75rem 0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:.25rem}
.hint,.quiet{color:var(--quiet);font-size:.875rem;margin:.125rem 0 .375rem}
.field{margin:1rem 0}
.field>label,legend{display:block;font-weight:600;padding:0}
fieldset{border:0;margin:1rem 0;padding:0;min-width:0}
input:not([type=checkbox]):not([type=radio]),select{display:block;width:100%;margin-top:.25rem;min-height:2.75rem;
  padding:.5rem .75rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--edge);
  border-radius:.375rem}
input.code{font-family:Mono,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.15em}
[aria-invalid=true]{border:2px solid var(--danger)!important}
.wrong{color:var(--danger);font-weight:600;font-size:.875rem;margin:.125rem 0 .375rem}
.choice{display:flex;gap:.75rem;align-items:flex-start;padding:.625rem 0}
.choice input{flex:none;width:1.5rem;height:1.5rem;margin:0;accent-color:var(--accent)}
.choice .hint{margin:0}
.actions{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;margin-top:1.5rem}
button,.button{display:flex;align-items:center;justify-content:center;min-height:2.75rem;padding:.5rem 1rem;
  font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;border:1px solid var(--accent);
  border-radius:.375rem;background:var(--accent);color:var(--on-accent)}
.secondary{background:var(--card);color:var(--accent);border-color:var(--edge)}
.danger{background:var(--card);color:var(--danger);border-color:var(--danger)}
button:hover,.button:hover{text-decoration:underline}
[hidden]{display:none!important}
.notice,.summary{border-left:.25rem solid var(--accent);background:var(--soft);padding:.75rem 1rem;margin:0 0 1rem;
  border-radius:.25rem}
.notice>*:first-child,.summary>*:first-child{margin-top:0}
.notice>*:last-child,.summary>*:last-child{margin-bottom:0}
.notice.good{border-color:var(--good);background:var(--soft-good)}
.notice.warning{border-color:var(--warn);background:var(--soft-warn)}
.summary,.notice.error{border-color:var(--danger);background:var(--soft-danger)}
.summary h2{margin:0 0 .25rem;font-size:1rem}
.summary ul{margin:0;padding-left:1.25rem}
.summary a{color:inherit}
.cards{list-style:none;margin:0;padding:0}
.card{border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:0 0 .75rem}
.card h2,.card h3{margin:0 0 .25rem;font-size:1rem}
.card p{margin:.125rem 0}
.card form{margin-top:.75rem}
.card .actions{margin-top:.75rem}
.cards .actions{display:flex;flex-wrap:wrap}
.card button,.card>.button{min-height:2.5rem}
.card>.button{width:fit-content;margin-top:.75rem}
.cards>.card{margin:0;padding:1rem 0;border-width:1px 0 0;border-radius:0}
.cards>:last-child{padding-bottom:0}
.cards+*{margin-top:1.5rem}
.badge{display:inline-block;font-size:.8125rem;font-weight:600;padding:0 .5rem;border-radius:1rem;
  background:var(--soft-good);color:var(--good)}
.badge.warning{background:var(--soft-warn);color:var(--warn)}
details{border-top:1px solid var(--line);margin:.5rem 0 0}
details+details{margin:0}
.actions+details{margin-top:1.5rem}
.qr+details{margin-top:1rem}
.qr{display:block;width:100%;max-width:15rem;height:auto;margin:0 auto;border:1px solid var(--line);border-radius:.5rem}
.key{display:block;padding:.5rem .75rem;background:var(--soft);border-radius:.375rem;font-size:1rem;
  letter-spacing:.05em;user-select:all}
.steps{margin:0;padding:0;list-style:none;counter-reset:step}
.steps>li{counter-increment:step;margin:1.5rem 0 0}
.steps>li:first-child{margin-top:0}
.steps>li>h2{margin:0 0 .75rem}
.steps>li>h2::before{content:counter(step) ". "}
.codes{list-style:none;display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.25rem 1rem;
  margin:1rem 0;padding:1rem;background:var(--soft);border-radius:.5rem;text-align:center}
summary{padding:.625rem 0;font-weight:600;cursor:pointer}
body:has(.sticky)>*{max-width:34rem}
@media(min-width:36rem){.columns dl{display:grid;grid-template-rows:auto auto;grid-auto-flow:column;
  grid-auto-columns:1fr;gap:0 1rem}.columns dd{margin:0}}
.sticky{grid-template-columns:1fr 1fr;margin:1rem 0 0;padding:.75rem 0;background:var(--card);
  border-top:1px solid var(--line)}
@media(min-height:34rem){.sticky{position:sticky;bottom:0}:root:has(.sticky){scroll-padding-bottom:6rem}}
dl{margin:.75rem 0}
dt{color:var(--quiet);font-size:.875rem}
dd{margin:0 0 .5rem}
code,.mono{font-family:Mono,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9375em}
.exact{white-space:pre-wrap}
hr{border:0;border-top:1px solid var(--line);margin:1.5rem 0}
@media(min-width:40rem) and (min-height:44rem){body:not(.wide){padding-top:6vh}}
@media(min-width:36rem){.wide .card:has(>form,>.button){display:grid;grid-template-columns:1fr auto;column-gap:1rem}
  .wide .card>*{grid-column:1}.wide .card>form,.wide .card>.button{grid-column:2;grid-row:1/span 6;align-self:center;
  margin:0}.wide .card .actions{margin:0}}
@media(max-width:24rem){body{padding:1rem .5rem}.banner{margin-top:0}main{padding:1rem}}
@media print{body{display:block;background:none}main{border:0}button,footer,nav{display:none}}`;

interface Sheet {
  readonly text: string;
  /** Source expression for `style-src` (CSP Level 3, section 2.3.1). */
  readonly source: string;
}

const sheets = new Map<string, Sheet>();

/** Returns the style sheet of the pages of a service, whose fonts are below its path. */
export function styleOf(site: Site): Sheet {
  const key = pathOf(site, '/');
  const known = sheets.get(key);
  if (known) return known;
  const text = `${fontFaces(site)}${STYLE}`;
  const made = { text, source: `'sha256-${createHash('sha256').update(text).digest('base64')}'` };
  sheets.set(key, made);
  return made;
}
