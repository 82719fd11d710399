import { useMutation } from '@tanstack/react-query';
import type { WebhookDelivery } from 'legate/client';
import { useState } from 'react';
import { serverNow } from '../api.ts';
import { checkMessage, type Message } from '../parts/check-message.ts';
import { Field } from '../parts/hooks.tsx';
import { ErrorNotice } from '../parts/screen.tsx';
import { CopyButton } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const SNIPPET = `import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the bytes as they arrived, before anything parses them.
export function verify(headers, body, secret) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(id + '.' + timestamp + '.' + body).digest();
  return headers['webhook-signature'].split(' ').some((part) => {
    const given = Buffer.from(part.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}`;

const FIELDS = ['id', 'timestamp', 'signature', 'secret'] as const;

/** Finds out in the browser why a receiver refuses a message. The input is neither sent nor stored. */
export function WebhookCheck({ delivery }: { delivery: WebhookDelivery & { readonly payload: unknown } }) {
  const payload = JSON.stringify(delivery.payload);
  const [message, setMessage] = useState<Message>({
    id: delivery.eventId,
    timestamp: '',
    signature: '',
    secret: '',
    body: payload,
  });
  const check = useMutation({
    mutationFn: () => checkMessage(message, { id: delivery.eventId, payload }, serverNow()),
    gcTime: 0,
  });
  return (
    <>
      <details>
        <summary>{t.verifySnippet}</summary>
        <p>
          <CopyButton text={SNIPPET} label={t.copyId(t.verifySnippet)} />
        </p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable with the keyboard. */}
        <pre tabIndex={0}>{SNIPPET}</pre>
      </details>
      <details>
        <summary>{t.checkMessage}</summary>
        <form
          className="form"
          onSubmit={(e) => {
            e.preventDefault();
            check.mutate();
          }}
        >
          <p className="hint">{t.checkHint}</p>
          <div className="grid2">
            {FIELDS.map((name) => (
              <Field key={name} label={t.checkFields[name]}>
                {(id) => (
                  <input
                    id={id}
                    className="mono"
                    autoComplete="off"
                    required
                    value={message[name]}
                    onChange={(e) => setMessage({ ...message, [name]: e.target.value })}
                  />
                )}
              </Field>
            ))}
          </div>
          <Field label={t.checkFields.body}>
            {(id) => (
              <textarea
                id={id}
                value={message.body}
                onChange={(e) => setMessage({ ...message, body: e.target.value })}
              />
            )}
          </Field>
          {check.error && <ErrorNotice error={check.error} />}
          {check.data && (
            <p className={check.data === 'holds' ? 'notice good' : 'notice warning'} role="status">
              {t.checkFindings[check.data]}
            </p>
          )}
          <div className="actions">
            <button type="submit" className="button primary">
              {t.check}
            </button>
          </div>
        </form>
      </details>
    </>
  );
}
