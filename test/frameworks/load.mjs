// The frameworks are resolved from here, where their package.json is.
export { Agent } from '@mastra/core/agent';
export { createTool } from '@mastra/core/tools';
export { generateText, isStepCount, tool } from 'ai';
export { MockLanguageModelV4 } from 'ai/test';
