import { defineScript } from '../../pages/index.ts';

/**
 * Runs the ceremony of the element with `data-passkey` and shows the element, which is hidden without scripts because
 * WebAuthn needs one. Binary members are sent as base64url, converted by hand for browsers without
 * parseRequestOptionsFromJSON.
 */
export const PASSKEY_SCRIPT = defineScript(`(() => {
const box = document.querySelector('[data-passkey]');
if (!box) return;
const data = box.dataset;
if (!window.PublicKeyCredential) {
  const unsupported = document.querySelector('[data-passkey-unsupported]');
  if (unsupported) unsupported.hidden = false;
  return;
}
const button = box.querySelector('button');
const failure = box.querySelector('[role=alert]');
const messages = JSON.parse(data.messages);
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
const send = async (path, body) => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(), { name: (answer.error || {}).code });
  return answer;
};
const known = (list) => list.map((item) => ({ ...item, id: bytes(item.id) }));
const add = async () => {
  const options = await send(data.options, {});
  const { id, response, type, authenticatorAttachment } = await navigator.credentials.create({ publicKey: {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: known(options.excludeCredentials),
  } });
  const name = document.getElementById('name').value.trim();
  return { id, rawId: id, type, authenticatorAttachment, name: name || undefined, response: {
    clientDataJSON: text(response.clientDataJSON),
    attestationObject: text(response.attestationObject),
    transports: response.getTransports ? response.getTransports() : [],
  } };
};
const signIn = async () => {
  const options = await send(data.options, {});
  const { id, response, type, authenticatorAttachment } = await navigator.credentials.get({ publicKey: {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: known(options.allowCredentials),
  } });
  const remember = document.getElementById('rememberMe');
  return { id, rawId: id, type, authenticatorAttachment, rememberMe: !remember || remember.checked, response: {
    clientDataJSON: text(response.clientDataJSON),
    authenticatorData: text(response.authenticatorData),
    signature: text(response.signature),
    userHandle: response.userHandle ? text(response.userHandle) : undefined,
  } };
};
const run = async () => {
  button.disabled = true;
  failure.hidden = true;
  try {
    await send(data.verify, await (data.passkey === 'add' ? add() : signIn()));
    location.assign(data.next);
  } catch (error) {
    failure.textContent = messages[error.name] || messages.failed;
    failure.hidden = false;
    button.disabled = false;
    button.focus();
  }
};
button.addEventListener('click', run);
const name = document.getElementById('name');
if (data.passkey === 'add' && name) name.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !button.disabled) void run();
});
box.hidden = false;
})();`);
