/** `legate/agents`: decides each call of a tool in an agent framework, right before it runs. */
export * from './agents-sdk/index.ts';
