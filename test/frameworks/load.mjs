// The frameworks are resolved from here, where their package.json is.
export { generateText, isStepCount, tool } from 'ai';
export { MockLanguageModelV4 } from 'ai/test';
