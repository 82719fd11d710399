/**
 * Guards the tools of an agent framework (contract 18), published as `legate/agents`.
 *
 * Each call of a tool is one recorded decision on `app:<app>:<tool>`, action `execute`, with the parsed input as
 * arguments, right before the tool runs. A denial is a value for the model. If Legate cannot be reached, the call is
 * denied. After a denial nothing runs. No framework is imported: the functions match the shapes that the frameworks
 * publish.
 */
export { type GuardedLegate, type GuardOptions, guardFor, type ToolGuard } from './guard.ts';
export type {
  AiToolApproval,
  ClaudeHooks,
  LangchainMiddleware,
  MastraHooks,
  OpenaiGuardrail,
} from './shapes.ts';
export type { Denial } from './tools.ts';
