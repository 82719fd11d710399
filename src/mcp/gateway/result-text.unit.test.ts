import { expect, it } from 'vitest';
import { answerText, resultText } from './result-text.ts';

it.each([1, 'a "quoted" id'])('an answer has the same text whether or not its result was serialised before', (id) => {
  const result = { content: [{ type: 'text', text: 'grüße' }], structuredContent: { n: 1 } };
  const answer = { jsonrpc: '2.0', id, result };
  const before = answerText(answer);
  expect(resultText(result)).toBe(JSON.stringify(result));
  expect(answerText(answer)).toBe(before);
  expect(before).toBe(JSON.stringify(answer));
  expect(answerText({ jsonrpc: '2.0', id, error: { code: 1, message: 'x' } })).toContain('"error":');
});
