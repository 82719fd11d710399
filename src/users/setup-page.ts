import { createHash } from 'node:crypto';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}label{display:block;margin:1rem 0 .25rem;font-weight:600}
input{width:100%;box-sizing:border-box;font:inherit;padding:.5rem;border:1px solid #767676;border-radius:4px}
button{margin-top:1.5rem;font:inherit;font-weight:600;padding:.6rem 1.2rem;border:0;border-radius:4px;background:#0b57d0;color:#fff}
:focus-visible{outline:3px solid #0b57d0;outline-offset:2px}
.hint{color:#555;font-size:.9rem;margin:.25rem 0 0}.error{border-left:4px solid #b3261e;padding:.5rem .75rem;background:#fdecea}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}.hint{color:#aaa}input{background:#222;color:inherit}.error{background:#3b1512}}`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // The address holds the token of the link.
  'referrer-policy': 'no-referrer',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
};

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => ENTITIES[c] as string);

function page(status: number, title: string, content: string, headers: Record<string, string> = {}): Response {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>
${content}
</main></body></html>`;
  return new Response(html, { status, headers: { ...HEADERS, ...headers } });
}

const alert = (message: string): string => `<p class="error" role="alert">${escapeHtml(message)}</p>`;

/** The form, with what was wrong with the last try. Works without JavaScript; the token in it is what proves the sender. */
export function setupFormPage(token: string, problem?: { status: number; message: string; email: string }): Response {
  return page(
    problem?.status ?? 200,
    'Set up the first administrator',
    `${problem ? alert(problem.message) : ''}<form method="post">
<input type="hidden" name="token" value="${escapeHtml(token)}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" required autocomplete="username" value="${escapeHtml(problem?.email ?? '')}">
<label for="password">Password</label>
<input id="password" name="password" type="password" required minlength="8" autocomplete="new-password" aria-describedby="hint">
<p class="hint" id="hint">At least 8 characters; 15 or more are recommended.</p>
<button type="submit">Create administrator</button>
</form>`,
  );
}

export const setupRefusedPage = (status: number, message: string): Response => page(status, 'Set-up', alert(message));

export const setupDonePage = (email: string, headers: Record<string, string>): Response =>
  page(200, 'You are signed in', `<p>The administrator <strong>${escapeHtml(email)}</strong> was created. This link cannot be used again.</p>`, headers);
