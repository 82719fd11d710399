// Stands in for the program of the Claude Agent SDK, whose protocol of JSON lines it uses. Asks the hooks about each
// call of a tool of the application, makes the calls that they allow, and ends with what the model would be shown.
import { createInterface } from 'node:readline';

const calls = JSON.parse(process.env['CALLS']);
const waiting = new Map();
let hook;

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const ask = (request) =>
  new Promise((resolve) => {
    const request_id = `request-${waiting.size}`;
    waiting.set(request_id, resolve);
    send({ type: 'control_request', request_id, request });
  });
const mcp = (method, params) => {
  const message = { jsonrpc: '2.0', id: waiting.size, method, params };
  return ask({ subtype: 'mcp_message', server_name: 'notes', message });
};

async function answer() {
  const clientInfo = { name: 'claude', version: '1' };
  await mcp('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  const shown = [];
  for (const { id, name, input } of calls) {
    const call = { tool_name: `mcp__notes__${name}`, tool_input: input, tool_use_id: id };
    const about = { hook_event_name: 'PreToolUse', session_id: 's', transcript_path: '', cwd: '/', ...call };
    const decided = await ask({ subtype: 'hook_callback', callback_id: hook, input: about, tool_use_id: id });
    const { permissionDecision, permissionDecisionReason } = decided.hookSpecificOutput;
    if (permissionDecision !== 'allow') shown.push(permissionDecisionReason);
    else {
      const { mcp_response } = await mcp('tools/call', { name, arguments: input });
      shown.push(mcp_response.result.content[0].text);
    }
  }
  send({ type: 'result', subtype: 'success', is_error: false, result: JSON.stringify(shown), session_id: 's' });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, request_id, request, response } = JSON.parse(line);
  if (type === 'control_response') waiting.get(response.request_id)?.(response.response);
  if (type === 'user') void answer();
  if (type !== 'control_request') return;
  if (request.subtype === 'initialize') [hook] = request.hooks.PreToolUse[0].hookCallbackIds;
  send({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } });
});
